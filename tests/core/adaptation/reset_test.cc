/* What starts over goes on as what is just made.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/adaptive_equalizer.h"
#include "core/adaptation/learner.h"
#include "core/signal/known_symbols.h"
#include "core/training/initialize.h"
#include "nonlinear_link.h"
#include "receivers.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <set>
#include <string>
#include <utility>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

constexpr std::size_t batch = nonlinear::batch, batches = 70;

// A receiver of a nonlinear link: its network takes the point nearest to the middle sample.
struct receiver {
    receiver(const char* name, unsigned sps, bool is_complex)
        : link(name, sps, is_complex, 7),
          initial(network({ link.window.dimension(), 10, 10, link.symbols.size() }),
                  sps,
                  nonlinear::half_window,
                  is_complex,
                  name)
    {
        link.send(batches * batch, link.symbols.size());
        // The signal is away for two batches.
        std::fill_n(link.samples.begin() + 40 * batch * link.window.stride(),
                    2 * batch * link.window.stride(),
                    0.0f);
        const std::size_t dimension = link.window.dimension(),
                          floats = link.window.floats_per_sample();
        const std::size_t rows = link.symbols.dimensions();
        linear_equalizer slicer{ std::vector<double>(rows * dimension),
                                 std::vector<double>(rows),
                                 0.1 };
        for (std::size_t row = 0; row < rows; ++row)
            slicer.taps[row * dimension + link.window.samples_before() * floats + row] =
                1 / 0.7;
        initialize_linear(initial.net, 1, link.symbols, slicer);
        initial.set_waveform(link.trained);
        initial.symbol_error_rate = 0.05f;
    }

    nonlinear::nonlinear_link link;
    model initial;
};

// An event but for its counters, to the bit.
std::string told(const learner_event& event)
{
    std::string all = name(event.what) + (" " + event.detail);
    for (const double number : { event.step.loss,
                                 event.step.confidence,
                                 event.estimated.ber,
                                 event.estimated.high,
                                 double(event.estimated.untrusted),
                                 double(event.in_use) }) {
        char bits[sizeof number];
        std::memcpy(bits, &number, sizeof number);
        all.append(bits, sizeof number);
    }
    return all;
}

// Counters, and numbers that only tell what is new.
const std::set<std::string> go_on{ "state.steps",
                                   "state.updates",
                                   "state.rollbacks",
                                   "state.guard.refiner.number",
                                   "state.guard.refiner.waveform_number",
                                   "state.guard.judge.waveform.number" };

} // namespace

BOOST_AUTO_TEST_SUITE(resets)

namespace {

void check_learner(const receiver& of)
{
    learner_settings settings;
    settings.batch = batch;
    learner again(of.initial, settings), made(of.initial, settings);
    std::vector<std::uint8_t> labels(batch);
    const auto step = [&](learner& learns, std::size_t i) {
        const feature_view view = of.link.view(i * batch);
        decider(learns.in_use())
            .decide(prepared_network(learns.in_use(), view.stride), view, labels.data());
        std::string all = std::to_string(learns.pace());
        for (const auto& event : learns.step(view, labels.data()))
            all += told(event);
        return all;
    };
    for (std::size_t i = 0; i < batches - 13; ++i)
        step(again, i);
    again.reset();
    for (std::size_t i = 0; i < batches; ++i) {
        const std::string found = step(again, i), expected = step(made, i);
        BOOST_REQUIRE_MESSAGE(found == expected, "batch " << i);
        if (i % 10)
            continue;
        model saved = again.checkpoint();
        const model other = made.checkpoint();
        BOOST_TEST((saved.net.parameters() == other.net.parameters()));
        for (const auto& each : other.state.tensors)
            if (!go_on.count(each.name))
                BOOST_REQUIRE_MESSAGE(
                    saved.state.bytes(each.name, each.dtype, 1, each.bytes.size()) ==
                        each.bytes,
                    each.name << " of batch " << i);
    }
    BOOST_TEST((again.refines() != nullptr));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_learner_goes_on_to_the_bit_as_one_just_made)
{
    check_learner(receiver("pam4", 2, false));
    check_learner(receiver("qpsk", 2, true));
}

// Then once more from its stream's start.
BOOST_AUTO_TEST_CASE(an_equalizer_goes_on_to_the_bit_as_one_just_made)
{
    constexpr std::size_t symbols = 60 * 512;
    const model initial = make_followed_receiver();
    const auto samples = followed_signal(4 * symbols + 200);
    adaptation_settings settings;
    settings.mode = adaptation_mode::lockstep;
    settings.batch = 512;
    std::string events;
    const auto listens = [&](const adaptation_event& event) { events += told(event); };
    const auto run = [&](adaptive_equalizer& equalizer) {
        events.clear();
        std::vector<float> posteriors(4 * symbols);
        std::vector<std::uint8_t> labels(symbols);
        equalizer.start();
        const auto written =
            equalizer.decide({ samples.data(), 4, equalizer.dimension(), symbols },
                             nullptr,
                             labels.data(),
                             posteriors.data());
        posteriors.resize(4 * written.labels);
        return std::pair(posteriors, events);
    };
    adaptive_equalizer again(initial, 4, settings, listens),
        made(initial, 4, settings, listens);
    const auto before = run(again);
    again.stop();
    const auto without = run(again);
    again.request_reset();
    again.stop();
    const auto found = run(again), expected = run(made);
    BOOST_TEST((found.first == expected.first));
    BOOST_TEST((found.second == expected.second));
    BOOST_TEST((before.second == expected.second));
    BOOST_TEST((without.second != expected.second));
}

// Nothing known behind a batch's beginning is as nothing known there.
BOOST_AUTO_TEST_CASE(what_was_known_of_a_batch_before_is_forgotten)
{
    constexpr std::size_t symbols = 40 * 512;
    const model initial = make_receiver(40);
    const auto samples = followed_signal(4 * symbols + 200);
    std::vector<std::uint8_t> known(symbols);
    for (std::size_t i = 0; i < symbols; ++i)
        known[i] = i * 7 % 4;
    adaptation_settings settings;
    settings.mode = adaptation_mode::lockstep;
    settings.batch = 512;
    std::string events;
    const auto run = [&](bool says_nothing) {
        events.clear();
        adaptive_equalizer equalizer(
            initial, 4, settings, [&](const auto& event) { events += told(event); });
        equalizer.start();
        std::vector<std::uint8_t> labels(200);
        const std::vector<std::uint8_t> none(200, not_known);
        for (std::size_t i = 0; i + 200 <= symbols; i += 200)
            equalizer.decide({ &samples[4 * i], 4, equalizer.dimension(), 200 },
                             i / 200 % 3 == 0 ? &known[i]
                             : says_nothing   ? nullptr
                                              : none.data(),
                             labels.data());
        return events;
    };
    const std::string expected = run(false);
    BOOST_TEST((run(true) == expected));
}

BOOST_AUTO_TEST_SUITE_END()
