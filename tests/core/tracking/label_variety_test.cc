/* Whether labels determine a channel. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/label_variety.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

namespace {

// Of a shaped constellation of eight levels: exp(-shape·level²).
std::vector<float> probabilities_of(std::size_t classes, double shape)
{
    std::vector<float> all(classes);
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) {
        const double level =
            2 * static_cast<double>(k) - static_cast<double>(classes) + 1;
        sum += all[k] = static_cast<float>(std::exp(-shape * level * level));
    }
    for (auto& each : all)
        each = static_cast<float>(each / sum);
    return all;
}

std::vector<std::uint8_t>
drawn(const std::vector<float>& probabilities, std::size_t n, unsigned seed)
{
    std::mt19937 random(seed);
    std::discrete_distribution<int> label(probabilities.begin(), probabilities.end());
    std::vector<std::uint8_t> labels(n);
    for (auto& each : labels)
        each = static_cast<std::uint8_t>(label(random));
    return labels;
}

} // namespace

BOOST_AUTO_TEST_SUITE(label_varieties)

// The number of pairs scatters by less than a tenth of its mean: half of it is five deviations off.
BOOST_DATA_TEST_CASE(random_labels_have_enough,
                     data::make({ 4u, 8u, 16u, 64u }) * data::make({ 0.0, 0.04 }) *
                         data::make({ 64u, 128u }),
                     classes,
                     shape,
                     symbols)
{
    const auto probabilities = probabilities_of(classes, classes > 8 ? 0 : shape);
    const label_variety variety(probabilities, symbols);
    BOOST_TEST(variety.symbols() == symbols);
    for (unsigned seed = 0; seed < 200; ++seed)
        BOOST_TEST(variety.is_enough(drawn(probabilities, symbols, seed).data()));
}

BOOST_AUTO_TEST_CASE(an_idle_word_and_a_few_points_do_not)
{
    const label_variety variety(probabilities_of(16, 0), 64);
    const auto word = drawn(probabilities_of(16, 0), 16, 1);
    std::vector<std::uint8_t> idle(64), four(64);
    for (std::size_t k = 0; k < 64; ++k)
        idle[k] = word[k % 16];
    std::mt19937 random(2);
    for (auto& each : four)
        each = static_cast<std::uint8_t>(5 * (random() & 3));
    BOOST_TEST(!variety.is_enough(idle.data()));
    BOOST_TEST(!variety.is_enough(four.data()));
    const label_variety of_two(probabilities_of(2, 0), 64);
    BOOST_TEST(!of_two.is_enough(std::vector<std::uint8_t>(64, 1).data()));
}

BOOST_AUTO_TEST_SUITE_END()
