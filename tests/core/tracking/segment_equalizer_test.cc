/* The equalizer of television's segments, on channels that are known.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/segment_equalizer.h"

#include "adaptation/allocations.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace gr::adann::core;

namespace {

constexpr std::size_t segments = 400; // one field, and some of the next

segment_kind kind_of(std::size_t segment)
{
    if (segment % 313)
        return segment_kind::data;
    return segment / 313 % 2 ? segment_kind::field2 : segment_kind::field1;
}

std::vector<float> random_levels()
{
    std::mt19937 random(3);
    std::vector<float> levels(segments * atsc::segment);
    for (float& level : levels)
        level = 2 * static_cast<float>(random() % 8) - 7;
    for (std::size_t k = 0; k < segments; ++k) {
        const auto sync = field_sync_levels(kind_of(k));
        const std::size_t known =
            kind_of(k) == segment_kind::data ? atsc::segment_sync : atsc::field_sync;
        std::copy_n(sync.begin(), known, &levels[k * atsc::segment]);
    }
    return levels;
}

// Half of each symbol comes four symbols later.
std::vector<float> received(const std::vector<float>& levels)
{
    std::vector<float> samples(levels.size());
    for (std::size_t i = 0; i < levels.size(); ++i)
        samples[i] = 0.1f * (levels[i] + (i < 4 ? 0 : 0.5f * levels[i - 4]));
    return samples;
}

} // namespace

BOOST_AUTO_TEST_SUITE(segment_equalizers)

// The channel's inverse is 10 Σ (-0.5)^k at samples 4 k earlier: 0.5^17 of it is out of reach.
BOOST_AUTO_TEST_CASE(the_taps_become_the_channels_inverse_and_the_levels_come_back)
{
    const auto levels = random_levels(), samples = received(levels);
    segment_equalizer equalizer(64, 8);
    std::vector<float> found(atsc::segment);
    double error = 0;
    std::size_t count = 0;
    for (std::size_t k = 0; k < segments; ++k)
        if (equalizer.take(
                &samples[k * atsc::segment], kind_of(k), k != 0, found.data()) &&
            k > 200) {
            for (std::size_t i = 0; i < atsc::segment; ++i) {
                const float off = found[i] - levels[(k - 1) * atsc::segment + i];
                error += off * off;
            }
            count += atsc::segment;
        }
    BOOST_TEST(count ==
               (segments - 201 - 1) * atsc::segment); // but the field's first one
    BOOST_TEST(std::sqrt(error / count) < 0.1);
    const auto taps = equalizer.taps();
    BOOST_TEST(taps.size() == 64 + 1 + 8);
    for (std::size_t k = 0; k < 8; ++k)
        BOOST_TEST(std::abs(taps[64 - 4 * k] - 10 * std::pow(-0.5f, k)) < 0.2f);
    BOOST_TEST(equalizer.status().fields == 2);
    BOOST_TEST(equalizer.status().resets == 0);
    BOOST_TEST(equalizer.status().known_errors == 0);
}

BOOST_AUTO_TEST_CASE(nothing_is_allocated_and_nothing_waits)
{
    const auto samples = received(random_levels());
    segment_equalizer equalizer(64, 32);
    std::vector<float> found(atsc::segment);
    const auto counted = counted_in([&] {
        for (std::size_t k = 0; k < segments; ++k)
            equalizer.take(&samples[k * atsc::segment], kind_of(k), k != 0, found.data());
    });
    BOOST_TEST(counted.allocations == 0);
    BOOST_TEST(counted.waits == 0);
}

BOOST_AUTO_TEST_CASE(a_sequence_of_length_n_has_one_more_of_one_level_and_no_correlation)
{
    const auto sync = field_sync_levels(segment_kind::field1);
    const auto other = field_sync_levels(segment_kind::field2);
    for (const auto& [first, n] : { std::pair{ 4, 511 }, { 515, 63 } })
        for (int shift = 0; shift < n; ++shift) {
            float sum = 0;
            for (int i = 0; i < n; ++i)
                sum += sync[first + i] * sync[first + (i + shift) % n] / 25;
            BOOST_TEST(sum == (shift ? -1 : n));
        }
    for (std::size_t i = 0; i < sync.size(); ++i)
        BOOST_TEST(other[i] == (i >= 578 && i < 641 ? -sync[i] : sync[i]));
}

BOOST_AUTO_TEST_CASE(a_reach_that_is_out_of_range_is_refused)
{
    BOOST_CHECK_THROW(segment_equalizer(7, 32), std::invalid_argument);
    BOOST_CHECK_THROW(segment_equalizer(64, 129), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
