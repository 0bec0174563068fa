/* The learner: what it tells, and that it needs no thread.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/learner.h"
#include "core/network/decider.h"
#include "core/signal/known_symbols.h"
#include "receivers.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

struct learning : noisy_signal {
    // Decides a batch with the network in use and learns from it.
    std::vector<learner_event> step(learner& learns, const feature_view& view)
    {
        std::vector<std::uint8_t> labels(view.count);
        decider(learns.in_use())
            .decide(prepared_network(learns.in_use(), 4), view, labels.data());
        return learns.step(view, labels.data());
    }
    static std::string words(const std::vector<learner_event>& events)
    {
        std::string all;
        for (const auto& event : events)
            all += std::string(all.empty() ? "" : " ") + name(event.what);
        return all;
    }

    const model initial = make_receiver(40);
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(a_learner, learning)

BOOST_AUTO_TEST_CASE(tells_of_a_pause_once_and_of_its_end_once)
{
    learner learns(initial, {});
    for (int i = 0; i < 5; ++i)
        BOOST_TEST(words(step(learns, next())) == "step");
    const std::vector<float> silence(4 * batch + 44);
    const auto in_silence = [&] {
        return step(learns, { silence.data(), 4, 44, batch });
    };
    BOOST_TEST(words(in_silence()) == "paused");
    const auto used = learns.in_use().parameters();
    for (int i = 0; i < 5; ++i)
        BOOST_TEST(words(in_silence()) == "");
    BOOST_TEST(learns.in_use().parameters() == used, boost::test_tools::per_element());
    BOOST_TEST(words(step(learns, next())) == "resumed step");
    BOOST_TEST(words(step(learns, next())) == "step");
    BOOST_TEST(learns.status().steps == 13u);
    BOOST_TEST(learns.status().updates == 7u);
    BOOST_TEST(learns.status().rejected() == 6u);
}

// Labels that are not equally probable have no balance, whatever is set later.
BOOST_AUTO_TEST_CASE(balances_equally_probable_labels_only)
{
    model shaped = make_followed_receiver();
    shaped.waveform->set_probabilities({ 0.1f, 0.4f, 0.1f, 0.4f });
    learner learns(shaped, {}), equal(make_followed_receiver(), {});
    BOOST_TEST(learns.settings().balance == 0);
    const training_settings now;
    BOOST_TEST(now.balance > 0);
    learns.set_training(now);
    equal.set_training(now);
    BOOST_TEST(learns.settings().balance == 0);
    BOOST_TEST(equal.settings().balance == now.balance);
}

BOOST_AUTO_TEST_CASE(loses_to_a_bad_sample_its_batch_alone)
{
    const auto spoilt = [&](learner& learns) {
        const feature_view good = next();
        std::vector<float> samples(good.data, good.data + good.floats());
        samples[100] = std::numeric_limits<float>::quiet_NaN();
        return step(learns, { samples.data(), good.stride, good.dimension, good.count });
    };
    learner learns(initial, {});
    while (std::isnan(learns.status().estimated.ber))
        step(learns, next());
    const std::size_t rest = 16384 / batch;
    for (std::size_t i = 0; i + 1 < rest; ++i)
        BOOST_TEST(words(spoilt(learns)) == "");
    BOOST_TEST(!std::isnan(learns.status().estimated.ber));
    BOOST_TEST(learns.status().rejected() == rest - 1);
    BOOST_TEST(words(step(learns, next())) == "step");
    // Where there is nothing else, the signal is away: also when it goes on from a file.
    for (std::size_t i = 0; i < rest / 2; ++i)
        BOOST_TEST(words(spoilt(learns)) == "");
    learner continued(learns.checkpoint(), {});
    for (std::size_t i = rest / 2; i + 1 < rest; ++i)
        BOOST_TEST(words(spoilt(continued)) == "");
    BOOST_TEST(words(spoilt(continued)) == "paused");
    BOOST_TEST(words(step(continued, next())) == "resumed step");
}

// Pilots are often farther apart than a batch is long.
BOOST_AUTO_TEST_CASE(passes_over_a_batch_of_which_supervised_knows_nothing)
{
    learner_settings settings;
    settings.loss = loss_kind::supervised;
    settings.learning_rate = 0.01f;
    learner all(initial, settings), some(initial, settings);
    const std::vector<std::uint8_t> none(batch, not_known);
    for (int i = 0; i < 5; ++i) {
        const feature_view view = next();
        std::vector<std::uint8_t> labels(batch);
        decider(some.in_use())
            .decide(prepared_network(some.in_use(), 4), view, labels.data());
        BOOST_TEST(words(all.step(view, labels.data(), 1, labels.data())) == "step");
        BOOST_TEST(words(some.step(view, labels.data(), 1, labels.data())) == "step");
        BOOST_TEST(words(some.step(view, labels.data(), 1, none.data())) == "");
        BOOST_TEST(words(some.step(view, labels.data())) == "");
    }
    BOOST_TEST(some.status().steps == 5u);
    BOOST_TEST(some.status().rejected() == 0u);
    BOOST_TEST((some.in_use().parameters() == all.in_use().parameters()));
}

BOOST_AUTO_TEST_CASE(goes_back_to_what_it_was_made_from)
{
    learner learns(initial, {});
    for (int i = 0; i < 20; ++i)
        step(learns, next());
    BOOST_TEST((learner(learns.checkpoint(), {}).in_use().parameters() ==
                learns.in_use().parameters()));
    BOOST_TEST(words({ learns.reset() }) == "reset");
    BOOST_TEST((learns.in_use().parameters() == initial.net.parameters()));
    BOOST_TEST((learns.status().in_use == guard::offline));
}

BOOST_AUTO_TEST_CASE(learns_batches_of_any_size_up_to_its_own)
{
    learner_settings settings;
    settings.guard = false;
    settings.learning_rate = 1;
    learner whole(initial, settings);
    // A step of n symbols brings the average nearer by n / (average + n).
    const feature_view part = next().from(0, 100);
    step(whole, part);
    trainer reference(initial.net, initial.symbols.parts(), scaled_to(initial, settings));
    reference.step(part);
    for (std::size_t i = 0; i < initial.net.parameters().size(); ++i) {
        const float before = initial.net.parameters()[i];
        const float trained = reference.net().parameters()[i];
        BOOST_REQUIRE_SMALL(whole.in_use().parameters()[i] -
                                (before + 100.0f / 10100 * (trained - before)),
                            1e-5f);
    }
}

BOOST_AUTO_TEST_CASE(scales_its_noise_and_perturbation_to_the_expected_waveforms)
{
    const auto scaled = [](const model& fits) { return learner(fits, {}).settings(); };
    // PAM4 of unit power at 4 samples a symbol: half the distance of its points is 1/√5.
    BOOST_REQUIRE_CLOSE(scaled(initial).sigma.value(), 2 / std::sqrt(5.0f) / 9, 1e-3f);
    BOOST_REQUIRE_CLOSE(scaled(initial).epsilon.value(), 2 / std::sqrt(5.0f) / 3, 1e-3f);

    model with_waveform = initial;
    expected_waveform waveform(initial.symbols, initial.sps, initial.complex, 1, 1);
    const auto set_noise = [&](float noise) {
        waveform.set(waveform.affine(), waveform.table(), noise);
        with_waveform.set_waveform(waveform);
    };
    set_noise(0.05f);
    BOOST_TEST(scaled(with_waveform).sigma.value() == 0.7f * 0.05f);
    BOOST_TEST(scaled(with_waveform).epsilon.value() == 2 * 0.05f);
    set_noise(0.5f); // more than the constellation bears
    BOOST_TEST(scaled(with_waveform).sigma.value() == scaled(initial).sigma.value());
    BOOST_TEST(scaled(with_waveform).epsilon.value() == scaled(initial).epsilon.value());

    learner_settings settings;
    settings.sigma = 0.5f;
    BOOST_TEST(learner(with_waveform, settings).settings().sigma.value() == 0.5f);
}

BOOST_AUTO_TEST_SUITE_END()
