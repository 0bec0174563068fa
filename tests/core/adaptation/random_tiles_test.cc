/* What is periodic cannot hide from the guard. SPDX-License-Identifier:
 * GPL-3.0-or-later */
#include "core/adaptation/random_tiles.h"

#include "core/adaptation/guard.h"
#include "receivers.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <numeric>

using namespace gr::adann::core;

namespace {

constexpr std::size_t tile = simd::tile, every = random_tiles::every;

// How many of the symbols first … first + n - 1 lie in the first `width` of a period.
std::size_t
faults(std::size_t first, std::size_t n, std::size_t period, std::size_t width)
{
    const auto before = [=](std::size_t i) {
        return i / period * width + std::min(i % period, width);
    };
    return before(first + n) - before(first);
}

} // namespace

BOOST_AUTO_TEST_SUITE(random_looking)

BOOST_AUTO_TEST_CASE(of_each_512_symbols_one_tile_is_seen_however_they_come)
{
    for (const std::size_t batch : { 16, 100, 128, 512, 600, 8192 }) {
        random_tiles whole(3), cut(3);
        constexpr std::size_t symbols = 100 * every;
        std::vector<std::uint8_t> seen(symbols), found(symbols);
        whole.pass(symbols, [&](std::size_t first, std::size_t n) {
            BOOST_REQUIRE(n == tile);
            std::fill_n(seen.begin() + first, n, 1);
        });
        for (std::size_t i = 0; i < symbols; i += batch)
            cut.pass(std::min(batch, symbols - i), [&](std::size_t first, std::size_t n) {
                BOOST_REQUIRE(first + n <= batch);
                std::fill_n(found.begin() + i + first, n, 1);
            });
        BOOST_TEST((found == seen), "batch " << batch);
        for (std::size_t i = 0; i < symbols; i += every)
            BOOST_REQUIRE(std::accumulate(&seen[i], &seen[i] + every, 0u) == tile);
    }
}

BOOST_AUTO_TEST_CASE(faults_of_every_period_are_seen_as_often_as_they_are)
{
    // Beyond six standard deviations of the draw is one of 4901 periods with a
    // probability of 1e-5.
    constexpr std::size_t looks = 4096;
    std::vector<std::size_t> tiles;
    random_tiles(7).pass(looks * every,
                         [&](std::size_t first, std::size_t) { tiles.push_back(first); });
    for (std::size_t period = 100; period <= 5000; ++period) {
        const std::size_t width = 12 + period / 20;
        const std::size_t phase = period * 0.6; // beyond the first tile of 512
        double difference = 0, variance = 0;
        for (std::size_t i = 0; i < looks; ++i) {
            double sum = 0, squares = 0;
            for (std::size_t first = i * every; first < (i + 1) * every; first += tile) {
                const double n = faults(first + phase, tile, period, width);
                sum += n / 4;
                squares += n * n / 4;
            }
            difference += faults(tiles[i] + phase, tile, period, width) - sum;
            variance += squares - sum * sum;
        }
        BOOST_REQUIRE_MESSAGE(std::abs(difference) <= 6 * std::sqrt(variance) + 1e-6,
                              "period " << period << ": " << difference
                                        << " of deviation " << std::sqrt(variance));
    }
}

// A receiver that is sure of all but zeros, where it has two choices.
BOOST_FIXTURE_TEST_CASE(the_estimate_is_not_trusted_whatever_the_period_of_the_loss,
                        noisy_signal)
{
    struct loss {
        std::size_t symbols, at, period, batch;
    };
    const model receiver = make_receiver(4000);
    for (const auto& [symbols, at, period, size] :
         std::vector<loss>{ { 60, 20, 512, 512 },
                            { 60, 300, 512, 512 },
                            { 60, 300, 512, 128 },
                            { 60, 300, 512, 16 },
                            { 300, 700, 2048, 512 },
                            { 40, 150, 256, 512 },
                            { 60, 300, 500, 512 },
                            { 600, 3000, 4096, 4096 } }) {
        std::vector<float> damaged = samples;
        for (std::size_t first = at; first < 200 * batch; first += period)
            std::fill_n(&damaged[4 * first + 20],
                        4 * std::min(symbols, 200 * batch - first),
                        0.0f);
        guard watching(receiver, true, 5);
        for (std::size_t i = 0; i + size <= 200 * batch; i += size)
            watching.judge({ &damaged[4 * i], 4, 44, size }, receiver.net);
        const auto& seen = watching.estimate();
        BOOST_TEST_CONTEXT(symbols << " lost at " << at << " of " << period << ", batch "
                                   << size)
        {
            BOOST_TEST((seen.distrusted() != distrust::none));
            // The draw's deviation for whole tiles and a memory of 16 looks of 4
            // periods is 1/2 of the rate at most; zeros have two likely labels.
            const double expected = 0.5 * symbols / period;
            BOOST_TEST(seen.symbol_error_rate() > expected / 3);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
