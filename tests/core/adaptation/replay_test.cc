/* Recordings of what led to a rollback, and their replays.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer_fixture.h"

using namespace slicer_link;

// The events of a run, and how many there were before the newest recording.
struct until_recording {
    std::vector<adaptation_event> events;
    std::size_t count = 0;

    void take(const adaptation_event& event, const std::string& recording)
    {
        if (event.what != event_kind::saved)
            events.push_back(event);
        else if (event.detail == recording)
            count = events.size();
    }
    // Of a replay of so many events.
    const adaptation_event& at(std::size_t i, std::size_t replayed) const
    {
        return events[count - replayed + i];
    }
};

BOOST_FIXTURE_TEST_SUITE(replays, slicer_fixture)

BOOST_AUTO_TEST_CASE(a_replay_repeats_every_step_up_to_the_rollback)
{
    settings.checkpoint = path;
    settings.average = 0; // what adapts stays bad
    for (const auto mode : { adaptation_mode::lockstep, adaptation_mode::live }) {
        settings.mode = mode;
        until_recording expected;
        adaptive_equalizer equalizer(initial, 1, settings, [&](const auto& event) {
            expected.take(event, rollback_path);
        });
        equalizer.start();
        // Long enough for the oldest batches to be forgotten.
        std::vector<std::uint8_t> labels(batch);
        for (std::size_t i = 0; i < 600; ++i) {
            equalizer.decide(
                view(i * batch % (symbols - batch), batch), nullptr, labels.data());
            while (equalizer.status().steps <= i)
                std::this_thread::yield();
        }
        equalizer.stop();
        BOOST_REQUIRE(expected.count > 256u);

        const auto found = replay(load_model(rollback_path));
        BOOST_TEST(found.size() > 128u); // 293 with a deviation of 30
        BOOST_REQUIRE(found.size() < expected.count);
        for (std::size_t i = 0; i < found.size(); ++i)
            BOOST_TEST(same(found[i].event, expected.at(i, found.size())));
        const std::size_t rollback = found.size() - 2; // its batch was learnt from, too
        BOOST_REQUIRE(found[rollback].event.what == event_kind::rollback);
        for (const double rate : found[rollback - 1].guard_estimates)
            BOOST_TEST((rate > 0 && rate <= 1));
    }
}

// What is trusted depends on what others have seen of the symbols between batches.
BOOST_AUTO_TEST_CASE(a_recording_holds_what_others_have_seen)
{
    batch_recorder recorder(1, initial.window.dimension(), batch, 2);
    const std::vector<std::uint8_t> labels(batch);
    for (const double unexplained : { 0.1, 0.2, 0.3, 0.4, 0.5 })
        recorder.add({ samples.data(), labels.data(), nullptr, 1, unexplained },
                     [&] { return learner(initial, settings).checkpoint(); });
    model recorded = recorder.recorded(settings);
    archive members = archive::restoring(recorded.state, "replay");
    const std::vector<double> expected{ 0.3, 0.4, 0.5 }; // the older half is forgotten
    BOOST_TEST((members.array<double>("unexplained", { 3 }) == expected));
    BOOST_TEST(replay(recorded).size() == 3u);
}

// What is estimated depends on whether decisions are refined.
BOOST_AUTO_TEST_CASE(a_replay_of_refined_decisions_is_of_these)
{
    settings.checkpoint = path;
    settings.batch = 256;
    settings.average = 0;
    settings.decisions = decision_kind::refined;
    until_recording expected;
    adaptive_equalizer equalizer(initial, 1, settings, [&](const auto& event) {
        expected.take(event, rollback_path);
    });
    equalizer.start();
    std::vector<std::uint8_t> labels(symbols);
    equalizer.decide(view(0, symbols), nullptr, labels.data());
    equalizer.stop();
    const auto found = replay(load_model(rollback_path));
    BOOST_REQUIRE(found.size() <= expected.count);
    std::size_t refined = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        BOOST_TEST(found[i].event.refined == expected.at(i, found.size()).refined);
        refined += found[i].event.refined;
    }
    BOOST_TEST(refined > 0u);
}

BOOST_AUTO_TEST_CASE(a_recording_cannot_ask_for_more_memory_than_it_has)
{
    batch_recorder recorder(1, initial.window.dimension(), batch, 4);
    const std::vector<std::uint8_t> labels(batch);
    recorder.add({ samples.data(), labels.data() },
                 [&] { return learner(initial, settings).checkpoint(); });
    const model recorded = recorder.recorded(settings);
    for (const std::uint64_t size : { std::uint64_t{ 1 } << 20,
                                      std::uint64_t{ 1 } << 32,
                                      std::uint64_t{ 1 } << 60 }) {
        model bad = recorded;
        for (auto& each : bad.state.tensors) {
            if (each.name == "replay.settings.batch")
                std::memcpy(each.bytes.data(), &size, sizeof size);
            if (each.name == "replay.labels") {
                each.bytes.resize(1 << 24);
                each.shape = { each.bytes.size(), 1 };
            }
        }
        save_model(path, bad);
        BOOST_CHECK_EXCEPTION(
            replay(load_model(path)), model_file_error, [](const auto& error) {
                const std::string what = error.what();
                return what.find("labels") != what.npos ||
                       what.find("batch") != what.npos;
            });
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_recording_cannot_be_replayed)
{
    save_model(path, initial);
    BOOST_CHECK_EXCEPTION(
        replay(load_model(path)), model_file_error, [](const auto& error) {
            return std::string(error.what()).find("holds no recorded batches") !=
                   std::string::npos;
        });
}

BOOST_AUTO_TEST_SUITE_END()
