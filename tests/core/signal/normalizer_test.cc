/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/normalizer.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace gr::adann::core;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

std::vector<float> noise(std::size_t floats, float mean, float deviation)
{
    std::mt19937 random(1);
    std::normal_distribution<float> gaussian(mean, deviation);
    std::vector<float> x(floats);
    for (auto& value : x)
        value = gaussian(random);
    return x;
}

std::vector<float> run(normalizer n, bool complex, const std::vector<float>& in)
{
    std::vector<float> out(in.size());
    n.process(in.data(), out.data(), in.size() / (complex ? 2 : 1));
    return out;
}

struct statistics {
    double mean[2];
    double power; // about the mean
};

//! Of the samples `first` and on, by the definitions.
statistics measure(const std::vector<float>& x, unsigned parts, std::size_t first)
{
    statistics result{};
    const double n = x.size() / parts - first;
    for (std::size_t i = parts * first; i < x.size(); ++i)
        result.mean[i % parts] += x[i] / n;
    for (std::size_t i = parts * first; i < x.size(); ++i)
        result.power += std::pow(x[i] - result.mean[i % parts], 2) / n;
    return result;
}

} // namespace

BOOST_AUTO_TEST_SUITE(normalizers)

BOOST_AUTO_TEST_CASE(a_single_huge_sample_is_forgotten_at_once)
{
    for (const std::size_t window : { 1024, 65536 })
        for (const float huge : { 1e3f, -1e10f, 1e30f }) {
            auto in = noise(4 * window, 0, 1);
            in[2 * window + 100] = huge;
            const auto out = run({ false, window }, false, in);
            // 1024 samples of noise have this power but for 1e-6 (chi-squared).
            for (std::size_t first = 2 * window + 1024; first < in.size();
                 first += 1024) {
                const std::vector<float> part(out.begin() + first,
                                              out.begin() + first + 1024);
                BOOST_TEST(measure(part, 1, 0).power > 0.7);
            }
        }
}

BOOST_AUTO_TEST_CASE(the_output_has_zero_mean_and_unit_power)
{
    for (const unsigned parts : { 1u, 2u }) {
        const auto out = run({ parts == 2, 16384 }, parts == 2, noise(400'000, 5, 0.3f));
        const auto after = measure(out, parts, 16384);
        BOOST_TEST(std::abs(after.mean[0]) < 0.02);
        BOOST_TEST(std::abs(after.mean[1]) < 0.02);
        BOOST_TEST(std::abs(after.power - 1) < 0.02);
        const auto early =
            measure({ out.begin(), out.begin() + parts * 1024 }, parts, 64);
        BOOST_TEST(std::abs(early.power - 1) < 0.25); // of 1024 samples, 0.044
    }
}

BOOST_AUTO_TEST_CASE(until_the_window_is_full_all_samples_so_far_weigh_alike)
{
    const auto in = noise(6 * 1024, -2, 3);
    const auto out = run({ false, 65536 }, false, in);
    const auto expected = [&](std::size_t i, std::size_t known) {
        const auto s = measure({ in.begin(), in.begin() + known }, 1, 0);
        return (in[i] - s.mean[0]) / std::sqrt(s.power);
    };
    for (const std::size_t i : { 1, 2, 10, 1000 })
        BOOST_TEST(out[i] == expected(i, i + 1), boost::test_tools::tolerance(1e-4));
    for (const std::size_t i : { 1024, 2047, 5000 })
        BOOST_TEST(out[i] == expected(i, i / 1024 * 1024),
                   boost::test_tools::tolerance(1e-4));
}

BOOST_AUTO_TEST_CASE(a_step_in_level_is_forgotten_after_a_few_windows)
{
    auto in = noise(200'000, 0, 100);
    for (std::size_t i = 100'000; i < in.size(); ++i)
        in[i] /= 100;
    const auto out = run({ false, 4096 }, false, in);
    // The variance of the past fades by e^-1 per window: after 12 it is 0.06 of the new
    // one.
    const auto settled = measure(out, 1, 100'000 + 12 * 4096);
    BOOST_TEST(std::abs(settled.power - 1) < 0.05);
}

BOOST_AUTO_TEST_CASE(a_rise_in_level_is_followed_at_once)
{
    for (const unsigned parts : { 1u, 2u })
        for (const float gain : { 10.0f, 100.0f, 1e4f }) {
            const std::size_t quiet = 100'000;
            auto in = noise(2 * parts * quiet, 0, 1);
            for (std::size_t i = parts * (quiet + 17); i < in.size(); ++i)
                in[i] *= gain;
            const auto out = run({ parts == 2, 65536 }, parts == 2, in);
            for (const float y : out)
                BOOST_TEST(std::abs(y) <= 16);
            // 64 samples later the power of the next 1000 is known to 1/sqrt(64), and falls to one.
            const std::size_t from = quiet + 17 + 64;
            const std::vector<float> next(out.begin() + parts * from,
                                          out.begin() + parts * (from + 1000));
            BOOST_TEST(measure(next, parts, 0).power == 1,
                       boost::test_tools::tolerance(0.2));
        }
}

// An eighth of the window, what is left of the block that it begins in, and 1024 samples for each 6 dB.
BOOST_AUTO_TEST_CASE(a_fall_in_level_is_followed_once_it_is_no_pause)
{
    for (const unsigned parts : { 1u, 2u })
        for (const float gain : { 0.1f, 0.01f, 1e-3f }) {
            const std::size_t before = 100'000, pause = 65536 / 8, falls = 10 * 1024;
            auto in = noise(parts * (before + 4 * pause), 2, 1);
            for (std::size_t i = parts * (before + 17); i < in.size(); ++i)
                in[i] *= gain;
            const auto out = run({ parts == 2, 65536 }, parts == 2, in);
            const auto of = [&](std::size_t from, std::size_t samples) {
                const std::vector<float> some(out.begin() + parts * from,
                                              out.begin() + parts * (from + samples));
                return measure(some, parts, 0).power;
            };
            BOOST_TEST(of(before + 17, pause) <
                       1.5 * gain * gain + 0.02); // the mean falls, too
            // The power of the 1024 samples that it starts from is known to 1/sqrt(512).
            BOOST_TEST(of(before + pause + falls + 2 * 1024, pause) == 1,
                       boost::test_tools::tolerance(0.2));
        }
}

// On-off keying: three quarters of the time nothing but noise 40 dB below.
BOOST_AUTO_TEST_CASE(short_pauses_are_not_followed)
{
    const std::size_t pause = 6144, burst = 2048;
    auto in = noise(40 * (pause + burst), 0, 1);
    for (std::size_t i = 0; i < in.size(); ++i)
        in[i] *= i % (pause + burst) < burst ? 1.0f : 0.01f;
    const auto out = run({ false, 65536 }, false, in);
    for (std::size_t i = in.size() / 2; i < in.size(); ++i)
        if (i % (pause + burst) >= burst)
            BOOST_REQUIRE(std::abs(out[i]) < 0.2);
}

// 70 dB, for 1 to 8000 samples.
BOOST_AUTO_TEST_CASE(a_blast_is_forgotten_after_an_eighth_of_the_window)
{
    for (const std::size_t length : { 1, 10, 20, 40, 400, 8000 }) {
        auto in = noise(200'000, 0, 1);
        const std::size_t first = 100'300, end = first + length;
        for (std::size_t i = first; i < end; ++i)
            in[i] *= 3000;
        const auto out = run({ false, 65536 }, false, in);
        const std::size_t from = end + 65536 / 8 + (12 + 2) * 1024;
        const std::vector<float> next(out.begin() + from, out.begin() + from + 4096);
        BOOST_TEST_CONTEXT(length)
        BOOST_TEST(measure(next, 1, 0).power == 1, boost::test_tools::tolerance(0.2));
    }
}

// 10 dB, each 20,000 samples: fading.
BOOST_AUTO_TEST_CASE(a_fade_starts_nothing_over)
{
    auto in = noise(400'000, 0, 1);
    for (std::size_t i = 0; i < in.size(); ++i)
        in[i] *= i / 20'000 % 2 ? 0.316f : 1.0f;
    const auto out = run({ false, 65536 }, false, in);
    for (std::size_t block = 100; block < in.size() / 1024; ++block) {
        const std::vector<float> some(out.begin() + block * 1024,
                                      out.begin() + (block + 1) * 1024);
        BOOST_TEST(measure(some, 1, 0).power < 3.0);
    }
}

BOOST_AUTO_TEST_CASE(given_statistics_are_applied_as_they_are)
{
    const std::vector<float> in{ 3, 4, -1, 0 };
    const std::vector<float> as_float{ 1, 1.5f, -1, -0.5f };
    const std::vector<float> as_complex{ 1, 2.5f, -1, 0.5f };
    BOOST_TEST(run({ false, { 1, 0 }, 2 }, false, in) == as_float);
    BOOST_TEST(run({ true, { 1, -1 }, 2 }, true, in) == as_complex);
}

BOOST_AUTO_TEST_CASE(samples_that_are_not_finite_cost_themselves_and_nothing_after)
{
    for (const unsigned parts : { 1u, 2u }) {
        const bool complex = parts == 2;
        // The same stream without the burst tells what has to come after it. The burst is
        // a whole number of update blocks, so that the updates fall on the same samples.
        const auto clean = noise(40'000, 1, 2);
        const std::size_t at = parts * 10'000;
        auto dirty = clean;
        std::vector<float> burst(parts * 2048, 1);
        for (std::size_t i = 0; i < burst.size(); i += parts)
            burst[i + i / 2 % parts] = i % 3 == 0   ? not_a_number
                                       : i % 3 == 1 ? infinite
                                                    : -infinite;
        dirty.insert(dirty.begin() + at, burst.begin(), burst.end());
        const auto expected = run({ complex, 65536 }, complex, clean);
        const auto out = run({ complex, 65536 }, complex, dirty);
        for (std::size_t i = at; i < at + burst.size(); ++i)
            BOOST_REQUIRE(out[i] == 0);
        const auto after =
            measure({ out.begin() + at + burst.size(), out.end() }, parts, 0);
        const auto reference =
            measure({ expected.begin() + at, expected.end() }, parts, 0);
        BOOST_TEST(std::abs(after.power - reference.power) < 0.01);
        BOOST_TEST(std::abs(after.mean[0] - reference.mean[0]) < 0.01);
        BOOST_TEST(run({ complex, { 0, 0 }, 1 },
                       complex,
                       std::vector<float>(4, not_a_number)) == std::vector<float>(4, 0));
    }
}

BOOST_AUTO_TEST_CASE(
    silence_and_constants_come_out_as_zero_and_the_signal_after_them_finite)
{
    for (const float level : { 0.0f, 0.1f, 1e30f, 1e-40f }) {
        BOOST_TEST_CONTEXT("level " << level)
        {
            std::vector<float> in(50'000, level);
            const auto out = run({ false, 1024 }, false, in);
            BOOST_TEST(out == std::vector<float>(in.size(), 0));
        }
    }
    auto in = noise(20'000, 0, 1);
    in.insert(in.end(), 2'000'000, 0);
    const auto signal = noise(100'000, 0, 1);
    in.insert(in.end(), signal.begin(), signal.end());
    const auto out = run({ false, 4096 }, false, in);
    for (const float y : out)
        BOOST_REQUIRE(std::abs(y) <= 1000);
    BOOST_TEST(std::abs(measure(out, 1, out.size() - 50'000).power - 1) < 0.05);
}

BOOST_AUTO_TEST_CASE(neither_a_large_mean_nor_a_large_sample_costs_precision)
{
    const auto out = run({ false, 8192 }, false, noise(300'000, 3e4f, 1));
    BOOST_TEST(std::abs(measure(out, 1, 8192).power - 1) < 0.02);

    auto in = noise(1'000'000, 0, 1);
    in[5000] = 3e38f;
    const auto hit = run({ false, 1024 }, false, in);
    BOOST_TEST(std::abs(measure(hit, 1, 500'000).power - 1) < 0.05);
}

BOOST_AUTO_TEST_CASE(the_output_does_not_depend_on_how_the_stream_is_cut)
{
    for (const unsigned parts : { 1u, 2u }) {
        auto in = noise(parts * 50'000, 1, 2);
        for (const std::size_t i : { 0, 3, 900, 5000, 30'001 })
            in[i] = not_a_number;
        for (std::size_t i = in.size() / 2; i < in.size(); ++i) // a rise in level
            in[i] *= 30;
        normalizer whole(parts == 2, 4096), cut(parts == 2, 4096);
        std::vector<float> expected(in.size()), out(in.size());
        whole.process(in.data(), expected.data(), in.size() / parts);
        std::mt19937 random(2);
        for (std::size_t i = 0; i < in.size();) {
            const auto n =
                std::min<std::size_t>(random() % 3000, (in.size() - i) / parts);
            cut.process(in.data() + i, out.data() + i, n);
            i += parts * n;
        }
        BOOST_TEST(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)) ==
                   0);
    }
}

BOOST_AUTO_TEST_CASE(a_parameter_out_of_range_is_named_with_its_value)
{
    const auto says = [](const char* text) {
        return [text](const std::invalid_argument& e) {
            return std::strstr(e.what(), text) != nullptr;
        };
    };
    using bad = std::invalid_argument;
    BOOST_CHECK_EXCEPTION(
        normalizer(false, 1023), bad, says("window is 1023, allowed: 1024 to"));
    BOOST_CHECK_EXCEPTION(normalizer(false, { 0, 0 }, 0), bad, says("rms is 0, allowed"));
    BOOST_CHECK_EXCEPTION(
        normalizer(false, { 0, 0 }, not_a_number), bad, says("rms is nan"));
    BOOST_CHECK_EXCEPTION(
        normalizer(true, { not_a_number, 0 }, 1), bad, says("mean is (nan,0)"));
    BOOST_CHECK_EXCEPTION(
        normalizer(false, { 0, 1 }, 1), bad, says("mean is (0,1), allowed: a real"));
}

BOOST_AUTO_TEST_SUITE_END()
