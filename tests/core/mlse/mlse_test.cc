/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/mlse/mlse.h"

#include "core/simd/kernels.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace gr::adann;
using namespace gr::adann::core;

namespace gr::adann::core::simd::wide {
extern const kernels table;
}

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

struct signal {
    signal(const channel_model& channel, std::size_t symbols, float noise)
        : taps(channel.linear_interpolation()), labels(symbols)
    {
        std::mt19937 random(7);
        std::normal_distribution<float> gaussian;
        for (auto& tap : taps)
            tap += std::complex<float>(0.3f * gaussian(random),
                                       channel.complex ? 0.3f * gaussian(random) : 0);
        for (auto& label : labels)
            label = random() % channel.alphabet.size();
        for (std::size_t i = 0; i < symbols; ++i)
            for (std::size_t p = 0; p < channel.sps; ++p) {
                std::complex<float> x = 0;
                for (std::size_t k = 0; k < channel.memory; ++k) {
                    const std::size_t j = i + channel.ahead() - k;
                    if (j < symbols) // also if it would be negative
                        x += taps[p * channel.memory + k] *
                             channel.alphabet.points()[labels[j]];
                }
                samples.push_back(x.real() + noise * gaussian(random));
                if (channel.complex)
                    samples.push_back(x.imag() + noise * gaussian(random));
            }
    }
    response_taps taps;
    std::vector<std::uint8_t> labels;
    std::vector<float> samples;
};

std::vector<channel_model> channels()
{
    const constellation pam2("pam2"), pam4("pam4"), pam8("pam8"), qpsk("qpsk"),
        qam16("16qam"), qam64("64qam");
    // Points that are on no grid, and more real ones than the kernels have one axis for.
    const constellation pair("[[1,2],[-2,0.5]]");
    std::vector<std::complex<float>> psk8, circles, pam16;
    for (int l = 0; l < 32; ++l) {
        if (l < 8)
            psk8.push_back(std::polar(1.0f, 0.785398f * l));
        if (l < 16)
            pam16.push_back(2.0f * l - 15);
        circles.push_back(std::polar(1.0f + l % 2, 0.19635f * l));
    }
    return { { pam2, 1, 1, false },
             { pam2, 3, 4, false },
             { pam2, 1, 7, true },
             { pam4, 1, 1, false },
             { pam4, 2, 2, false },
             { pam4, 1, 3, false },
             { pam4, 2, 4, true },
             { pam4, 1, 5, false },
             { pam8, 1, 3, false },
             { qpsk, 1, 3, true },
             { qpsk, 4, 4, true },
             { qam16, 1, 2, true },
             { qam16, 2, 3, true },
             { qam64, 1, 2, true },
             { pair, 2, 3, true },
             { constellation(psk8), 1, 3, true },
             { constellation(pam16), 1, 3, false },
             { constellation(circles), 1, 2, true } };
}

// The labels that come out after each symbol, by a search through all sequences of pam2.
class search_through_all
{
public:
    search_through_all(const channel_model& channel, const mlse_settings& settings)
        : d_channel(channel),
          d_settings(settings),
          d_tracker(channel, settings.response),
          d_taps(settings.response),
          d_costs(std::size_t{ 1 } << (channel.memory - 1)),
          d_symbols(channel.memory - 1 - channel.ahead())
    {
    }

    // Takes a symbol; `decided` are to come out after it.
    void check(const float* samples, const std::vector<std::uint8_t>& decided)
    {
        const std::size_t memory = d_channel.memory, ahead = d_channel.ahead();
        std::vector<double> costs(2 * d_costs.size());
        for (std::size_t sequence = 0; sequence < costs.size(); ++sequence) {
            costs[sequence] = d_costs[sequence / 2];
            for (std::size_t p = 0; p < d_channel.sps; ++p) {
                double error = samples[p];
                for (std::size_t k = 0; k < memory; ++k)
                    error -= d_taps[p * memory + k].real() *
                             d_channel.alphabet.points()[sequence >> k & 1].real();
                costs[sequence] += error * error;
            }
        }
        d_costs = std::move(costs);
        d_samples.insert(d_samples.end(), samples, samples + d_channel.sps);
        const std::size_t taken = d_samples.size() / d_channel.sps;

        if (!decided.empty()) {
            BOOST_REQUIRE(d_labels.size() + decided.size() ==
                          taken - d_settings.traceback_depth);
            const std::size_t best =
                std::min_element(d_costs.begin(), d_costs.end()) - d_costs.begin();
            for (const auto label : decided) {
                BOOST_REQUIRE(label ==
                              (best >> (taken - 1 - d_labels.size() + ahead) & 1));
                d_labels.push_back(label);
            }
        }
        for (; d_symbols + ahead < d_labels.size(); ++d_symbols)
            d_tracker.update(&d_samples[d_symbols * d_channel.sps],
                             &d_labels[d_symbols + ahead],
                             d_settings.step,
                             true);
        if (taken % d_settings.update_interval == 0)
            d_taps = d_tracker.taps();
    }

    const response_taps& response() const { return d_tracker.taps(); }
    std::size_t labels() const { return d_labels.size(); }

private:
    const channel_model d_channel;
    const mlse_settings d_settings;
    lms_tracker d_tracker;
    response_taps d_taps;
    std::vector<double> d_costs; // of each sequence, the newest symbol its lowest bit
    std::vector<float> d_samples;
    std::vector<std::uint8_t> d_labels;
    std::size_t d_symbols; // that the tracker had
};

} // namespace

BOOST_AUTO_TEST_SUITE(sequence_estimation)

BOOST_AUTO_TEST_CASE(every_kernel_decides_as_the_plain_loops)
{
    auto tables = simd::available();
    tables.push_back(&simd::wide::table);
    constexpr std::size_t steps = 7;
    for (const auto& channel : channels()) {
        const signal s(channel, steps, 0.5f);
        trellis t(channel);
        t.set_response(s.taps);
        const std::size_t states = t.padded_states();
        std::vector<float> first;
        std::vector<std::uint8_t> expected;
        for (const auto* table : tables)
            BOOST_TEST_CONTEXT(table->name << " " << channel.alphabet.name() << " memory "
                                           << channel.memory << " sps " << channel.sps)
            {
                aligned_floats buffers[2];
                float* metrics[2];
                for (std::size_t i = 0; i < 2; ++i) {
                    buffers[i].resize(states + simd::trellis_lanes);
                    metrics[i] = buffers[i].data();
                }
                std::vector<std::uint8_t> survivors(steps * states);
                table->add_compare_select(
                    t.tables(), s.samples.data(), steps, metrics, survivors.data());
                if (expected.empty()) {
                    first.assign(metrics[0], metrics[0] + t.states());
                    expected = survivors;
                }
                BOOST_TEST((metrics[0] == buffers[steps % 2].data()));
                std::size_t different = 0;
                for (std::size_t i = 0; i < steps; ++i)
                    for (std::size_t state = 0; state < t.states(); ++state)
                        different +=
                            survivors[i * states + state] != expected[i * states + state];
                // Rounding decides between the equals of the first step and near equals.
                BOOST_TEST(different <= steps * t.states() / 100);
                for (std::size_t state = 0; state < t.states(); ++state)
                    BOOST_REQUIRE_SMALL(metrics[0][state] - first[state], 1e-3f);
            }
    }
}

BOOST_AUTO_TEST_CASE(a_short_block_is_decided_as_by_a_search_through_all_sequences)
{
    for (const auto& channel : channels()) {
        const std::size_t size = channel.alphabet.size();
        const std::size_t length = size == 2 ? 8 : size == 4 ? 4 : 2;
        constexpr int guard = 1;
        if (std::pow(size, length) > 5000)
            continue;
        signal s(channel, length, 1.0f);
        mlse_settings settings;
        settings.traceback_depth = channel.memory;
        settings.block_length = length;
        settings.guard = guard;
        settings.response = std::vector(s.taps); // GCC 12 warns of the plain copy
        mlse decider(channel, settings);
        std::vector<std::uint8_t> decided(length), best(length), trial(length);
        decider.process(s.samples.data(), nullptr, length, decided.data(), length);

        double least = 1e30;
        for (std::size_t n = 0; n < std::pow(size, length); ++n) {
            for (std::size_t i = 0, rest = n; i < length; ++i, rest /= size)
                trial[i] = rest % size;
            double distance = 0;
            for (std::size_t i = 0; i < length; ++i)
                for (std::size_t p = 0; p < channel.sps; ++p) {
                    std::complex<float> y = 0;
                    for (std::size_t k = 0; k < channel.memory; ++k) {
                        const std::size_t j = i + channel.ahead() - k;
                        y += s.taps[p * channel.memory + k] *
                             channel.alphabet.points()[j < length ? trial[j] : guard];
                    }
                    const float* x = &s.samples[i * channel.floats()];
                    distance +=
                        channel.complex
                            ? std::norm(std::complex<float>(x[2 * p], x[2 * p + 1]) - y)
                            : std::norm(x[p] - y);
                }
            if (distance < least) {
                least = distance;
                best = trial;
            }
        }
        BOOST_TEST(decided == best,
                   channel.alphabet.name() << " memory " << channel.memory);
    }
}

BOOST_AUTO_TEST_CASE(
    a_stream_is_decided_as_by_a_search_for_all_small_depths_and_intervals)
{
    constexpr std::size_t symbols = 14;
    for (const std::size_t memory : { 1, 2, 3 })
        for (std::size_t depth = memory; depth < memory + 6; ++depth)
            for (std::size_t interval = 1; interval <= symbols; ++interval)
                BOOST_TEST_CONTEXT("memory " << memory << " depth " << depth
                                             << " interval " << interval)
                {
                    const channel_model channel(constellation("pam2"), 2, memory, false);
                    const signal s(channel, symbols, 0.8f);
                    mlse_settings settings;
                    settings.traceback_depth = depth;
                    settings.update_interval = interval;
                    settings.adaptation = mlse_adaptation::decision_directed;
                    settings.step = 0.2f;
                    settings.response =
                        std::vector(s.taps); // GCC 12 warns of the plain copy
                    mlse decider(channel, settings);
                    search_through_all search(channel, settings);
                    for (std::size_t i = 0; i < symbols; ++i) {
                        std::vector<std::uint8_t> labels(symbols);
                        const float* const samples = &s.samples[i * channel.floats()];
                        labels.resize(
                            decider.process(samples, nullptr, 1, labels.data(), symbols)
                                .labels);
                        search.check(samples, labels);
                    }
                    BOOST_TEST(search.labels() + decider.latency() >= symbols);
                    BOOST_TEST((decider.response() == search.response()));
                }
}

BOOST_AUTO_TEST_CASE(of_a_step_without_samples_all_branches_are_equal)
{
    for (const auto& channel : channels()) {
        trellis t(channel);
        t.set_response(signal(channel, 10, 0.5f).taps);
        const auto tables = t.erased_tables();
        const auto is_zero = [](float value) { return value == 0; };
        BOOST_TEST(std::all_of(tables.correlator,
                               tables.correlator + tables.floats * tables.states,
                               is_zero));
        BOOST_TEST(std::all_of(
            tables.slope, tables.slope + tables.axes * tables.states, is_zero));
    }
}

BOOST_AUTO_TEST_CASE(labels_are_decided_in_order_and_do_not_depend_on_cuts_or_room)
{
    for (const auto& channel : channels())
        for (const std::size_t block_length : { 0, 50 }) {
            signal s(channel, 2000, 0.3f);
            s.samples[700 * channel.floats()] = not_a_number;
            mlse_settings settings;
            settings.traceback_depth = 20;
            settings.block_length = block_length;
            settings.adaptation = mlse_adaptation::decision_directed;
            settings.update_interval = 130;
            settings.response = std::vector(s.taps); // GCC 12 warns of the plain copy
            mlse whole(channel, settings), cut(channel, settings);
            std::vector<std::uint8_t> expected(2000), found(2000);
            const auto all =
                whole.process(s.samples.data(), nullptr, 2000, expected.data(), 2000);
            BOOST_TEST(all.symbols == 2000u);
            BOOST_TEST(all.labels >= 2000 - whole.latency());

            std::mt19937 random(8);
            mlse::progress done{};
            while (done.symbols < 2000 || cut.pending()) {
                const auto now =
                    cut.process(s.samples.data() + done.symbols * channel.floats(),
                                nullptr,
                                std::min<std::size_t>(random() % 90, 2000 - done.symbols),
                                found.data() + done.labels,
                                std::min<std::size_t>(random() % 70, 2000 - done.labels));
                done.symbols += now.symbols;
                done.labels += now.labels;
            }
            BOOST_TEST(done.labels == all.labels);
            BOOST_TEST(found == expected);
            BOOST_TEST((cut.response() == whole.response()));
        }
}

BOOST_AUTO_TEST_CASE(a_response_is_fitted_and_tracked)
{
    for (const auto& channel : channels()) {
        if (channel.alphabet.size() > 16)
            continue;
        const signal s(channel, 20'000, 0.1f);
        const auto fitted =
            channel.least_squares(s.samples.data(), s.labels.data(), 20'000);
        lms_tracker tracker(channel, channel.linear_interpolation());
        for (std::size_t i = channel.memory; i + channel.memory < 20'000; ++i)
            tracker.update(s.samples.data() + i * channel.floats(),
                           s.labels.data() + i + channel.ahead(),
                           0.01f,
                           false);
        for (std::size_t k = 0; k < s.taps.size(); ++k) {
            BOOST_TEST(std::abs(fitted[k] - s.taps[k]) < 0.01);
            BOOST_TEST(std::abs(tracker.taps()[k] - s.taps[k]) < 0.05);
        }
    }
}

BOOST_AUTO_TEST_CASE(nothing_but_nan_is_decided_as_something)
{
    const channel_model channel(constellation("pam4"), 2, 3, false);
    mlse decider(channel);
    const std::vector<float> samples(2 * 1000, not_a_number);
    std::vector<std::uint8_t> labels(1000, 99);
    const auto done = decider.process(samples.data(), nullptr, 1000, labels.data(), 1000);
    BOOST_REQUIRE(done.labels + decider.latency() >= 1000);
    for (std::size_t i = 0; i < done.labels; ++i)
        BOOST_REQUIRE(labels[i] < 4);
    for (const auto& tap : decider.response())
        BOOST_TEST(std::isfinite(tap.real()));
}

BOOST_AUTO_TEST_SUITE_END()
