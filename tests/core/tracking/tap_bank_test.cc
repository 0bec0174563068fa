/* How often taps are learnt, by how much the link moves.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/files/archive.h"
#include "core/tracking/tap_bank.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <random>

using namespace gr::adann::core;

namespace {

constexpr std::size_t taps = 9, block = 64, sps = 4, n = block * sps, most_apart = 16;

// White samples sent through an echo: what is wanted of x is z, x(i) = z(i) + echo z(i - 2).
struct moving_link {
    std::mt19937 random{ 3 };
    std::normal_distribution<float> normal;
    tap_bank bank{ taps, 5, false, block, { 128, 512, 2048, 8192, 65536 }, most_apart };
    normal_equations sums{ taps, false };
    planes x{ n + 64, false }, wanted{ n, false };
    float noise = 0.1f;

    // Learns the next block that is wanted, and returns the symbols up to its end.
    std::size_t go_on(float echo, const normal_equations::noise* own = nullptr)
    {
        std::vector<float> sent(n + taps + 2);
        for (auto& each : sent)
            each = normal(random);
        for (std::size_t i = 0; i < n + taps - 1; ++i)
            x.re[i] = sent[i + 2] + echo * sent[i] + noise * normal(random);
        for (std::size_t i = 0; i < n; ++i)
            wanted.re[i] = sent[i + 2 + taps / 2];
        sums.set(x, wanted, n);
        if (own)
            sums.add_noise_target(*own,
                                  std::sqrt(2.0f)); // of samples with as much signal
        const std::size_t apart = bank.apart();
        bank.learn(sums, apart);
        return apart * block;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(paces_of_tap_banks)

BOOST_AUTO_TEST_CASE(a_link_that_stays_is_looked_at_seldom_and_one_that_jumps_at_once)
{
    moving_link it;
    std::size_t looks = 0;
    for (std::size_t symbols = 0; symbols<65536; looks += symbols> 32768)
        symbols += it.go_on(0.2f);
    // At a sixteenth of 512 blocks, and at more behind what by chance is a surprise.
    BOOST_TEST(looks < 512u / 3);
    const float still = it.bank.residual();
    BOOST_TEST(still < 0.03f); // 0.01 of noise, and of the echo 0.2^8 beyond the taps

    it.go_on(-0.3f); // leaves (0.5)² of power 1
    BOOST_TEST(it.bank.apart() == 1u);
    for (std::size_t symbols = 0; symbols < 2048;)
        symbols += it.go_on(-0.3f);
    BOOST_TEST(it.bank.residual() < 2 * still);
}

BOOST_AUTO_TEST_CASE(noise_after_none_is_a_surprise_once)
{
    moving_link it;
    it.noise = 0;
    for (std::size_t symbols = 0; symbols < 16384;)
        symbols += it.go_on(0);
    BOOST_TEST(it.bank.residual() < 1e-6f);
    it.noise = 0.1f;
    std::size_t looks = 0; // at some of 1024 blocks: a few are surprises by chance
    for (std::size_t symbols = 0; symbols < 65536; ++looks)
        symbols += it.go_on(0.2f);
    BOOST_TEST(looks < 768u);
    it.go_on(-0.3f);
    BOOST_TEST(it.bank.apart() == 1u);
}

BOOST_AUTO_TEST_CASE(taps_beyond_the_floats_are_in_no_checkpoint)
{
    moving_link it;
    it.go_on(0.2f);
    aligned_floats huge(it.sums.vector_floats());
    // What they leave is a float, the square of its slope is none.
    std::fill_n(huge.begin(), taps, 1e17f);
    it.bank.start_from(it.sums, huge.data());
    it.go_on(0.2f);
    tensor_file file;
    archive saving = archive::saving(file, "state");
    saving("bank", it.bank);
    archive restoring = archive::restoring(file, "state");
    BOOST_CHECK_NO_THROW(restoring("bank", it.bank));
    for (std::size_t symbols = 0; symbols < 2048;)
        symbols += it.go_on(0.2f);
    BOOST_TEST(it.bank.residual() < 0.1f);
}

// A pulse of 30 dB over the noise, and its end in the next block, 10 dB over it. The third block has taps as before them:
// it had not when each block counted for their choice as much as any other.
BOOST_AUTO_TEST_CASE(a_pulse_of_interference_changes_the_taps_by_little)
{
    moving_link it;
    for (std::size_t symbols = 0; symbols < 32768;)
        symbols += it.go_on(0.2f);
    const float still = it.bank.residual();
    float after = 0;
    constexpr int pulses = 32;
    for (int pulse = 0; pulse < pulses; ++pulse) {
        for (const float noise : { 3.0f, 0.3f, 0.1f }) {
            it.noise = noise;
            it.go_on(0.2f);
        }
        after += it.bank.latest_residual() / pulses;
        for (std::size_t symbols = 0; symbols < 1024;)
            symbols += it.go_on(0.2f);
    }
    BOOST_TEST(after < 2 * still);
}

// A word of one sample, 64 blocks long: all taps of the same sum pass it. After it the taps are those from before it.
BOOST_AUTO_TEST_CASE(what_determines_no_taps_changes_none)
{
    for (const bool determined : { false, true }) {
        moving_link it;
        for (std::size_t symbols = 0; symbols < 16384;)
            symbols += it.go_on(0.2f);
        const float still = it.bank.residual();
        for (int k = 0; k < 64; ++k) {
            for (std::size_t i = 0; i < n + taps - 1; ++i)
                it.x.re[i] = 1.2f + it.noise * it.normal(it.random);
            std::fill_n(it.wanted.re.begin(), n, 1.0f);
            it.sums.set(it.x, it.wanted, n);
            it.bank.learn(it.sums, 1, nullptr, determined);
        }
        it.go_on(0.2f);
        const float after = it.bank.latest_residual();
        BOOST_TEST((after < 1.5f * still) == !determined, after << " for " << still);
    }
}

// Taps that learn from noise are wrong by it. By chance alone a mean of blocks is three standard
// deviations off in one of some 700 looks, and stays so for some looks.
BOOST_AUTO_TEST_CASE(taps_that_gain_nothing_are_not_in_use)
{
    moving_link it;
    it.noise =
        1; // the least squares towards what is wanted would shrink: it wants this noise, too
    const auto white = it.sums.noise_of({ 1 }); // of variance 1
    std::size_t used = 0;
    for (int look = 0; look < 1024; ++look) {
        it.go_on(0, &white);
        used += it.bank.memory() > 0;
    }
    BOOST_TEST(used < 1024 / 20);
    // An echo that surely gains is followed at once.
    for (int look = 0; look < 64; ++look)
        it.go_on(0.6f, &white);
    BOOST_TEST(it.bank.memory() > 0u);
}

BOOST_AUTO_TEST_CASE(a_link_that_moves_is_looked_at_as_often_as_its_memory_asks)
{
    moving_link it;
    double symbols = 0;
    std::size_t blocks = 0;
    const auto follow = [&](double turns) {
        const double until = symbols + 32768;
        for (blocks = 0; symbols < until; ++blocks) {
            const auto echo =
                static_cast<float>(0.3 * std::sin(2 * M_PI * turns * symbols));
            symbols += static_cast<double>(it.go_on(echo));
        }
        return blocks;
    };
    const std::size_t all = 32768 / block;
    BOOST_TEST(follow(0) < all / 2);
    BOOST_TEST(follow(1e-4) > all * 3 / 4);
}

BOOST_AUTO_TEST_SUITE_END()
