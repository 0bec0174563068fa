/* Checkpoints and warm restarts of the adaptive equalizer.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer_fixture.h"

#include <filesystem>

using namespace slicer_link;

BOOST_FIXTURE_TEST_SUITE(checkpoints, slicer_fixture)

BOOST_AUTO_TEST_CASE(a_restart_goes_on_to_the_bit_whatever_the_guard_did)
{
    settings.pseudo_label = pseudo_label_kind::perturbed; // which diverges
    settings.learning_rate = 0.01f;
    const result expected = run(initial, 0, symbols, path);
    const model last = load_model(path);
    // The input is stuck for two batches; the adapting network's decisions may look as if
    // it were, too.
    BOOST_REQUIRE(count_of(expected, event_kind::paused) >= 1u);
    BOOST_REQUIRE(count_of(expected, event_kind::resumed) >= 1u);
    BOOST_REQUIRE(count_of(expected, event_kind::rollback) >= 1u);
    // Before and while it is stuck, after, and shortly before the rollback.
    for (const std::size_t stop : { 3, 21, 23, 50, 70, 110 }) {
        result found = run(initial, 0, stop * batch, path);
        found.append(run(load_model(path), stop * batch, symbols - stop * batch, path));
        check_same(found, expected);
        const model again = load_model(path);
        BOOST_TEST((again.net.parameters() == last.net.parameters()));
        for (const auto& each : last.state.tensors)
            BOOST_TEST(again.state.bytes(each.name, each.dtype, 1, each.bytes.size()) ==
                           each.bytes,
                       each.name);
    }
}

BOOST_AUTO_TEST_CASE(a_restart_goes_on_to_the_bit_with_every_optimizer_and_loss)
{
    settings.learning_rate = 0.01f;
    settings.guard = false;
    for (const auto& optimizer : words(optimizer_kind{}))
        for (const auto loss : { loss_kind::self_training, loss_kind::aug_vat }) {
            settings.optimizer = optimizer.value;
            settings.loss = loss;
            const result expected = run(initial, 0, 8 * batch);
            result found = run(initial, 0, 5 * batch, path);
            found.append(run(load_model(path), 5 * batch, 3 * batch));
            check_same(found, expected);
        }
}

BOOST_AUTO_TEST_CASE(a_checkpoint_is_a_model_of_the_weights_in_use)
{
    run(initial, 0, 10 * batch, path);
    const model saved = load_model(path);
    BOOST_TEST(saved.symbol_error_rate == initial.symbol_error_rate);
    adaptive_equalizer goes_on(saved, 1, settings);
    settings.mode = adaptation_mode::off;
    adaptive_equalizer off(saved, 1, settings);
    const std::size_t n = batch;
    std::vector<std::uint8_t> expected(n), found(n);
    std::vector<float> posteriors(4 * n), expected_posteriors(4 * n);
    decider(saved.net).decide(prepared_network(saved.net, 1),
                              view(0, n),
                              expected.data(),
                              expected_posteriors.data());
    for (auto* equalizer : { &goes_on, &off }) {
        equalizer->decide(view(0, n), nullptr, found.data(), posteriors.data());
        BOOST_TEST((found == expected));
        BOOST_TEST((posteriors == expected_posteriors));
    }
}

BOOST_AUTO_TEST_CASE(a_reset_goes_back_to_before_the_checkpoint)
{
    settings.learning_rate = 0.01f;
    settings.guard = false;
    run(initial, 0, 10 * batch, path);
    const model saved = load_model(path);
    BOOST_TEST((saved.net.parameters() != initial.net.parameters()));
    semaphore told;
    adaptive_equalizer equalizer(saved, 1, settings, [&](const auto&) { told.post(); });
    equalizer.start();
    equalizer.request_reset();
    told.wait();
    equalizer.request_save(path);
    told.wait();
    BOOST_TEST((load_model(path).net.parameters() == initial.net.parameters()));
}

BOOST_AUTO_TEST_CASE(other_settings_may_go_on_from_a_checkpoint)
{
    run(initial, 0, 10 * batch, path);
    const model saved = load_model(path);
    settings.batch = 2 * batch;
    settings.loss = loss_kind::self_training;
    BOOST_TEST(run(saved, 0, 8 * batch).events.back().steps == 14u);
    settings.guard = false;
    BOOST_TEST(run(saved, 0, 8 * batch).events.back().steps == 14u);
    run(initial, 0, 10 * batch, path);
    settings.guard = true; // new
    BOOST_TEST(run(load_model(path), 0, 8 * batch).events.back().in_use ==
               guard::offline);
}

BOOST_AUTO_TEST_CASE(a_checkpoint_that_does_not_fit_is_refused_in_one_line)
{
    run(initial, 0, 10 * batch, path);
    const model saved = load_model(path);
    settings.optimizer = optimizer_kind::sgd;
    refused("'adam', but the optimizer is set to 'sgd'");
    settings.optimizer = optimizer_kind::adam;

    const auto damaged = [&](const std::string& name, auto damage) {
        model bad = saved;
        for (auto& each : bad.state.tensors)
            if (each.name == "state." + name)
                damage(each);
        save_model(path, bad);
    };
    damaged("trainer.noise.words", [](auto& each) { each.name = "state.other"; });
    refused("has no tensor state.trainer.noise.words");
    damaged("average", [](auto& each) { each.bytes.resize(4); });
    refused("state.average has 4 bytes where");
    damaged("steps", [](auto& each) { each.dtype = "F64"; });
    refused("state.steps has dtype 'F64', not I64");
    damaged("guard.in_use", [](auto& each) { each.bytes[0] = 3; });
    refused("state.guard.in_use is 3, allowed: 0 to 2");
    damaged("paused", [](auto& each) { each.bytes[0] = 3; });
    refused("state.paused holds a value that is neither true nor false");
    damaged("trainer.optimizer.name", [](auto& each) { each.shape = { 1u << 31 }; });
    refused("state.trainer.optimizer.name has 4 bytes, fewer than its shape needs");
    damaged("guard.last_good.network", [](auto& each) {
        const float value = NAN;
        std::memcpy(each.bytes.data(), &value, sizeof value);
    });
    refused("state.guard.last_good.network holds a value that is not finite");
}

BOOST_AUTO_TEST_CASE(numbers_of_a_checkpoint_that_make_no_sense_are_refused)
{
    run(initial, 0, 10 * batch, path);
    const model saved = load_model(path);
    const auto set = [&](const std::string& name, auto value) {
        model bad = saved;
        for (auto& each : bad.state.tensors)
            if (each.name == "state." + name)
                std::memcpy(each.bytes.data(), &value, sizeof value);
        save_model(path, bad);
        refused("state." + name.substr(0, name.rfind('.')));
    };
    for (const char* which : { "offline", "adaptive", "last_good" }) {
        const std::string estimate = std::string("guard.") + which + ".estimate.";
        set(estimate + "past.uncertainty", -100.0);
        set(estimate + "latest.uncertainty", 1e9);
        set(estimate + "past.symbols", -1.0);
        set(estimate + "past.squares", 1e300);
        set(estimate + "past.posteriors", -1.0f);
    }
    set("signal.kurtosis", 1e10);
    set("signal.usual_kurtosis", -1.0);
    set("signal.usual_kurtosis", 0.1);
    set("signal.usual_symbols", 1e12);
    set("signal.usual_extremes", -1.0);
    set("signal.patterns", -1.0f);
    set("trainer.optimizer.second", -1.0f);
    set("guard.looks.position", std::uint64_t{ 512 });
    set("guard.looks.first", std::uint64_t{ 500 });
}

BOOST_AUTO_TEST_CASE(weights_that_no_step_can_follow_are_given_up)
{
    settings.learning_rate = 0.001f;
    run(initial, 0, 10 * batch, path);
    model bad = load_model(path);
    const float huge = 3e38f;
    for (auto& each : bad.state.tensors)
        if (each.name == "state.trainer.network")
            for (std::size_t i = 0; i < each.bytes.size(); i += sizeof huge)
                std::memcpy(&each.bytes[i], &huge, sizeof huge);
    const auto found = run(bad, 30 * batch, symbols - 30 * batch);
    std::size_t rejected = 0, rollbacks = 0;
    for (const auto& event : found.events) {
        rollbacks += event.what == event_kind::rollback;
        rejected += event.what == event_kind::step && !event.step.accepted;
    }
    BOOST_TEST(rollbacks == 1u);
    BOOST_TEST(rejected == 16384u / batch);
    BOOST_TEST(found.events.back().step.accepted);
}

BOOST_AUTO_TEST_CASE(a_checkpoint_is_written_each_interval_and_at_the_end)
{
    settings.checkpoint = path;
    for (const auto& [interval, times] :
         { std::pair<std::size_t, int>{ 0, 11 }, { 1'000'000, 1 } }) {
        std::atomic<int> saved{ 0 };
        settings.checkpoint_interval = interval;
        adaptive_equalizer equalizer(initial, 1, settings, [&](const auto& event) {
            saved += event.what == event_kind::saved && event.detail == path;
        });
        equalizer.start();
        std::vector<std::uint8_t> labels(10 * batch);
        equalizer.decide(view(0, 10 * batch), nullptr, labels.data());
        equalizer.stop();
        BOOST_TEST(saved == times);
        adaptive_equalizer next(load_model(path), 1, settings);
        BOOST_TEST(next.status().steps == 10u);
    }
}

BOOST_AUTO_TEST_CASE(live_does_not_wait_for_a_checkpoint)
{
    // The adapter is held where it tells of the first checkpoint.
    settings.mode = adaptation_mode::live;
    settings.checkpoint = path;
    settings.checkpoint_interval = 0;
    semaphore saved, release;
    adaptive_equalizer equalizer(initial, 1, settings, [&](const auto& event) {
        if (event.what == event_kind::saved) {
            saved.post();
            release.wait();
        }
    });
    equalizer.start();
    std::vector<std::uint8_t> labels(symbols);
    equalizer.decide(view(0, batch), nullptr, labels.data());
    saved.wait();
    for (int round = 0; round < 2; ++round)
        equalizer.decide(view(0, symbols), nullptr, labels.data());
    BOOST_TEST(equalizer.status().steps == 1u);
    BOOST_TEST(equalizer.dropped() > 0u);
    for (std::size_t i = 0; i < 2 + 2 * symbols / batch; ++i)
        release.post();
}

BOOST_AUTO_TEST_CASE(a_path_that_cannot_be_written_is_refused_at_once)
{
    for (const char* bad : { "no/such/folder/file", "/" }) {
        settings.checkpoint = bad;
        BOOST_CHECK_EXCEPTION(adaptive_equalizer(initial, 1, settings),
                              std::invalid_argument,
                              [&](const auto& error) {
                                  return error.what() ==
                                         "checkpoint is '" + std::string(bad) +
                                             "', allowed: a file in a folder that exists";
                              });
    }
}

BOOST_AUTO_TEST_SUITE_END()
