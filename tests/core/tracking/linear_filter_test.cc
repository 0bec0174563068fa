/* Signals in planes. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/linear_filter.h"

#include <boost/test/unit_test.hpp>

#include <numeric>
#include <vector>

using namespace gr::adann::core;

BOOST_AUTO_TEST_SUITE(signals_in_planes)

BOOST_AUTO_TEST_CASE(interleaved_samples_are_what_was_assigned)
{
    constexpr std::size_t n = 33, first = 5;
    for (const std::size_t floats : { 1, 2 }) {
        std::vector<float> samples(floats * n), found(floats * (n - first));
        std::iota(samples.begin(), samples.end(), 1.0f);
        planes signal(n, floats == 2);
        signal.assign(samples.data(), n);
        (signal + first).interleave(n - first, found.data());
        BOOST_TEST(
            found == std::vector<float>(samples.begin() + floats * first, samples.end()),
            boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_SUITE_END()
