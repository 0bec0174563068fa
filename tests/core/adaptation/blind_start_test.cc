/* An equalizer that starts with nothing: its threads. What it finds is tested from Python.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "allocations.h"
#include "core/adaptation/adaptive_equalizer.h"
#include "receivers.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdio>

using namespace gr::adann;
using namespace gr::adann::core;

BOOST_AUTO_TEST_SUITE(blind_starts)

// While it is stopped and started again, in every stage, another thread asks and sets all
// there is; once with and once without known labels.
BOOST_AUTO_TEST_CASE(everything_may_be_asked_and_it_may_be_stopped_at_any_time)
{
    constexpr std::size_t batch = 512, batches = 2 * blind_start::symbols / batch;
    const std::string path = "blind_start_test.safetensors";
    const auto samples = followed_signal(4 * batch * batches + 92);
    const auto sent = followed_labels(samples.size() / 4);
    constexpr std::size_t first_decided =
        11; // behind half a window and the filter's reach
    for (const auto loss : { loss_kind::aug_vat, loss_kind::supervised }) {
        adaptation_settings settings;
        settings.mode = adaptation_mode::live;
        settings.batch = batch;
        settings.loss = loss;
        std::atomic<int> errors{ 0 }, saved{ 0 };
        adaptive_equalizer equalizer(blind_start("pam4", 4, 5, false, 1),
                                     4,
                                     settings,
                                     [&](const adaptation_event& event) {
                                         errors += event.what == event_kind::error;
                                         saved += event.what == event_kind::saved;
                                     });
        std::atomic<bool> ended{ false };
        std::thread asks([&] {
            while (!ended) {
                equalizer.status();
                equalizer.front_status();
                equalizer.taps();
                equalizer.queued();
                equalizer.set_learning_rate(1e-3f);
                equalizer.set_front_filter(equalizer.dropped() % 2 == 0);
                equalizer.freeze(false);
                equalizer.request_save(path);
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
        });
        std::vector<std::uint8_t> labels(batch);
        const auto decide = [&](std::size_t first, std::size_t count) {
            for (std::size_t i = first; i < first + count; ++i)
                equalizer.decide(
                    { &samples[4 * batch * i], 4, equalizer.dimension(), batch },
                    &sent[first_decided + batch * i],
                    labels.data());
        };
        constexpr std::size_t all = blind_start::symbols / batch;
        equalizer.request_save(path); // nothing is there to be saved yet
        for (const std::size_t count : { std::size_t{ 3 }, all / 2, all }) {
            equalizer.start();
            decide(0, count);
            equalizer.stop(); // while it gathers, and while it trains
        }
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
        equalizer.start();
        while (!saved && std::chrono::steady_clock::now() < deadline) {
            decide(0, all);
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        decide(all, all);
        equalizer.stop();
        ended = true;
        asks.join();
        BOOST_TEST(equalizer.started());
        BOOST_TEST(equalizer.has_front_filter());
        BOOST_TEST(errors > 0);
        BOOST_TEST(saved > 0);
        std::remove(path.c_str());
    }
}

// Of 24 known labels at the beginning none is among the latest 4096 symbols.
BOOST_AUTO_TEST_CASE(known_labels_that_are_forgotten_give_no_rotation)
{
    constexpr std::size_t batch = 512, known = 24;
    const auto samples = followed_signal(8 * blind_start::first_look + 92);
    const auto sent = followed_labels(2 * blind_start::first_look + 23);
    blind_start start("pam4", 4, 5, false, 1);
    start.offer_linear();
    for (std::size_t at = 0; at < 2 * blind_start::first_look; at += batch) {
        std::vector<std::uint8_t> labels(batch, not_known);
        if (at == 0)
            std::copy_n(&sent[5], known, labels.data());
        start.take(
            { &samples[4 * at], 4, 44, batch }, labels.data(), true, [] { return true; });
        if (start.count() == blind_start::first_look)
            BOOST_TEST_REQUIRE(start.linear().value().knows_rotation);
    }
    BOOST_TEST(!start.linear().value().knows_rotation);
}

// No memory for what is to decide: an event, and the next batch makes it. Of the linear equalizer with its front filter,
// and of the network; once near the beginning of what is allocated, once near its end.
BOOST_DATA_TEST_CASE(what_cannot_be_made_at_its_end_is_made_with_the_next_batch,
                     boost::unit_test::data::make({ blind_start::first_look + 0,
                                                    blind_start::symbols + 0 }))
{
    constexpr std::size_t batch = 512;
    const std::size_t batches = sample / batch;
    const bool is_network = sample == blind_start::symbols;
    const auto samples = followed_signal(4 * batch * (batches + 3) + 92);
    adaptation_settings settings;
    settings.mode = adaptation_mode::lockstep;
    settings.batch = batch;
    std::vector<std::uint8_t> labels(batch);
    std::size_t last = 0; // allocations of the batch that ends it
    for (const std::size_t before_the_last : { 0, 30, 100 }) {
        std::string events;
        adaptive_equalizer equalizer(blind_start("pam4", 4, 5, false, 1),
                                     4,
                                     settings,
                                     [&](const adaptation_event& event) {
                                         if (event.what != event_kind::step)
                                             events +=
                                                 std::string(name(event.what)) + " ";
                                     });
        equalizer.start();
        const auto decide = [&](std::size_t i) {
            equalizer.decide({ &samples[4 * batch * i], 4, equalizer.dimension(), batch },
                             nullptr,
                             labels.data());
        };
        for (std::size_t i = 0; i + 1 < batches; ++i)
            decide(i);
        events.clear();
        const std::size_t first = own_allocations;
        refused_allocation = before_the_last ? first + last - before_the_last : 0;
        decide(batches - 1);
        last = own_allocations - first;
        refused_allocation = 0;
        BOOST_TEST(equalizer.started() == (is_network || !before_the_last));
        BOOST_TEST(events == (before_the_last ? "error " : "start "));
        decide(batches);
        decide(batches + 1);
        BOOST_TEST(equalizer.started());
        BOOST_TEST(equalizer.has_front_filter());
        BOOST_TEST(events == (before_the_last ? "error start " : "start "));
    }
}

BOOST_AUTO_TEST_SUITE_END()
