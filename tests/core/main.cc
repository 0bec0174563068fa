/* The core's test program.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE adann_core
#ifdef BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>
#else
#include <boost/test/included/unit_test.hpp>
#endif
