/* The core's test program.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE adann_core
#include <boost/test/unit_test.hpp>
