/* What runs for ever neither allocates nor waits for a lock.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "allocations.h"
#include "core/adaptation/adaptive_equalizer.h"
#include "core/counting/error_counter.h"
#include "core/mlse/mlse.h"
#include "core/signal/normalizer.h"
#include "receivers.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <random>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

template <typename condition>
void wait_until(condition holds)
{
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
    while (!holds()) {
        BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

std::vector<float> noise(std::size_t count)
{
    std::vector<float> values(count);
    gaussian_noise(1).fill(values.data(), count);
    return values;
}

} // namespace

BOOST_AUTO_TEST_SUITE(counting_allocations_and_waits)

BOOST_AUTO_TEST_CASE(both_are_seen)
{
    std::mutex mutex;
    const counts found = counted_in([&] {
        const std::lock_guard<std::mutex> lock(mutex);
        std::vector<float> plain(100);
        aligned_floats aligned(100);
        semaphore posted;
        posted.post();
        posted.wait();
    });
    BOOST_TEST(found.allocations == 2u);
    BOOST_TEST(found.waits == 2u);
}

BOOST_AUTO_TEST_CASE(deciding_allocates_in_its_first_call_only)
{
    const model initial = make_model(4, true, "16qam");
    const prepared_network net(initial.net, 8);
    const auto samples = noise(8 * 1000 + 88);
    std::vector<std::uint8_t> labels(1000);
    std::vector<float> posteriors(16 * 1000);
    decider decide(initial.net);
    decide.decide(net, { samples.data(), 8, 88, 1 }, labels.data());
    const counts found = counted_in([&] {
        for (const std::size_t position : { 0, 1 })
            decide.decide(net,
                          { samples.data(), 8, 88, 1000 },
                          labels.data(),
                          posteriors.data(),
                          position);
    });
    BOOST_TEST(found.allocations == 0u);
    BOOST_TEST(found.waits == 0u);
}

BOOST_AUTO_TEST_CASE(a_step_allocates_at_its_first_time_only)
{
    const model initial = make_model(2, false, "pam4");
    const auto samples = noise(2 * 300 + 22);
    const std::vector<std::uint8_t> labels(300);
    for (const auto& optimizer : words(optimizer_kind{}))
        for (const auto& loss : words(loss_kind{}))
            for (const auto& pseudo_label : words(pseudo_label_kind{}))
                for (const auto& noise : words(noise_kind{})) {
                    training_settings settings;
                    settings.optimizer = optimizer.value;
                    settings.loss = loss.value;
                    settings.pseudo_label = pseudo_label.value;
                    settings = scaled_to(initial, settings);
                    trainer learner(
                        initial.net, initial.symbols.parts(), settings, noise.value);
                    const auto step = [&](std::size_t count) {
                        learner.step({ samples.data(), 2, 22, count }, labels.data());
                    };
                    step(1);
                    const counts found = counted_in([&] { step(300); });
                    BOOST_TEST(found.allocations == 0u,
                               loss.name << ' ' << pseudo_label.name << ' '
                                         << noise.name);
                    BOOST_TEST(found.waits == 0u);
                }
}

enum class front { none, following, lost };
std::ostream& operator<<(std::ostream& to, front which)
{
    return to << static_cast<int>(which);
}

// Behind a receiver of other levels the front filter is lost.
BOOST_DATA_TEST_CASE(
    a_live_equalizer_neither_allocates_nor_waits,
    boost::unit_test::data::make({ front::none, front::following, front::lost }),
    which)
{
    constexpr std::size_t batch = 512, batches = 20'000 / batch; // each is learnt from
    constexpr std::size_t floats = 4 * batch * batches + 92;
    const bool has_front_filter = which != front::none;
    const auto samples = has_front_filter ? followed_signal(floats) : noise(floats);
    const model initial = which == front::none   ? make_receiver()
                          : which == front::lost ? make_followed_receiver(0.3f)
                                                 : make_followed_receiver();
    std::vector<std::uint8_t> labels(batch * batches);
    std::vector<float> posteriors(4 * labels.size());
    for (const auto& loss : words(loss_kind{})) {
        adaptation_settings settings;
        settings.mode = adaptation_mode::live;
        settings.batch = batch;
        settings.loss = loss.value;
        settings.guard = which != front::lost; // it would pause the steps
        std::atomic<std::uint64_t> told{ 0 };
        adaptive_equalizer equalizer(initial, 4, settings, [&](const auto&) { ++told; });
        BOOST_REQUIRE(equalizer.has_front_filter() == has_front_filter);
        const std::size_t dimension = equalizer.dimension();
        equalizer.start();
        std::size_t waited = 0;
        const auto decide = [&](std::size_t first, std::size_t count) {
            equalizer.decide({ samples.data() + 4 * first, 4, dimension, count },
                             row(loss.value).supervised() ? labels.data() + first
                                                          : nullptr,
                             labels.data() + first,
                             posteriors.data() + 4 * first);
        };
        const auto wait_for_steps = [&](std::uint64_t count) {
            wait_until([&] { return told + equalizer.dropped() >= count; });
        };
        decide(0, batch);
        wait_for_steps(1);
        // From here on in both threads, until the last batch has been trained on.
        const std::size_t before = allocations;
        for (std::size_t i = 1; i < batches; ++i) {
            waited += counted_in([&] { decide(i * batch, batch); }).waits;
            if (i % 10 == 0)
                wait_for_steps(i);
        }
        wait_for_steps(batches);
        const std::size_t after = allocations;
        BOOST_TEST(equalizer.status().updates > batches / 4);
        // Only known labels are not judged.
        BOOST_TEST((equalizer.front_status().resets > 0) ==
                   (which == front::lost && !row(loss.value).supervised()));
        BOOST_TEST(after == before, loss.name);
        BOOST_TEST(waited == 0u, loss.name);
    }
}

// The adapter allocates while it gathers a signal and trains; the deciding thread never,
// also where the network that was found and its front filter come into use.
// Of symbols that match, and of others.
BOOST_AUTO_TEST_CASE(the_training_sequence_of_a_burst_allocates_nothing)
{
    const auto samples = followed_signal(4 * 1000 + 92);
    adaptation_settings settings;
    settings.mode = adaptation_mode::live;
    adaptive_equalizer equalizer(make_followed_receiver(), 4, settings);
    equalizer.start();
    std::vector<std::uint8_t> labels(1000), training(64);
    const auto decide = [&] {
        equalizer.decide(
            { samples.data(), 4, equalizer.dimension(), 1000 }, nullptr, labels.data());
    };
    decide();
    std::mt19937 random(1); // followed_signal()'s
    std::vector<std::uint8_t> sent;
    for (std::size_t i = 0; i < 200; ++i) {
        const unsigned rank = random() & 3;
        sent.push_back(rank ^ (rank >> 1));
    }
    std::size_t found = 0;
    for (const bool matches : { false, true }) {
        std::copy_n(
            sent.begin() + (matches ? 11 : 100), training.size(), training.begin());
        const std::size_t before = own_allocations;
        equalizer.begin_burst(training);
        decide();
        BOOST_TEST(own_allocations == before);
        BOOST_TEST(equalizer.front_status().bursts - found == matches);
        found = equalizer.front_status().bursts;
    }
    equalizer.stop();
}

BOOST_AUTO_TEST_CASE(deciding_while_a_blind_start_goes_on_neither_allocates_nor_waits)
{
    constexpr std::size_t batch = 512, batches = 2 * blind_start::symbols / batch;
    const auto samples = followed_signal(4 * batch * batches + 92);
    std::vector<std::uint8_t> labels(batch * batches);
    std::vector<float> posteriors(4 * labels.size());
    adaptation_settings settings;
    settings.mode = adaptation_mode::live;
    settings.batch = batch;
    adaptive_equalizer equalizer(blind_start("pam4", 4, 5, false, 1), 4, settings);
    equalizer.start();
    const std::size_t dimension = equalizer.dimension();
    std::size_t allocated = 0, waited = 0;
    const auto decide = [&](std::size_t i) {
        equalizer.decide({ samples.data() + 4 * batch * i, 4, dimension, batch },
                         nullptr,
                         labels.data() + batch * i,
                         posteriors.data() + 4 * batch * i);
    };
    decide(0);
    for (std::size_t i = 1; i < batches; ++i) {
        const std::size_t before = own_allocations;
        waited += counted_in([&] { decide(i); }).waits;
        allocated += own_allocations - before;
        if (i == blind_start::symbols / batch)
            wait_until([&] { return equalizer.started(); });
    }
    BOOST_TEST(equalizer.started());
    BOOST_TEST(equalizer.has_front_filter());
    BOOST_TEST(allocated == 0u);
    BOOST_TEST(waited == 0u);
}

// Of batches of 128 the guard looks at every fourth; of 600 at a tile or two.
BOOST_DATA_TEST_CASE(lockstep_allocates_nothing_and_learns_in_the_deciding_thread,
                     boost::unit_test::data::make({ 128, 512, 600 }))
{
    const std::size_t batch = sample, batches = 20;
    const auto samples = noise(4 * batch * batches + 44);
    const model initial = make_receiver();
    std::vector<std::uint8_t> labels(batch * batches);
    adaptation_settings settings;
    settings.mode = adaptation_mode::lockstep;
    settings.batch = batch;
    std::atomic<std::size_t> told{ 0 }, elsewhere{ 0 };
    const auto own = std::this_thread::get_id();
    adaptive_equalizer equalizer(initial, 4, settings, [&](const adaptation_event& e) {
        told += e.what == event_kind::step;
        elsewhere += e.what == event_kind::step && std::this_thread::get_id() != own;
    });
    equalizer.start();
    equalizer.decide({ samples.data(), 4, 44, batch }, nullptr, labels.data());
    const std::size_t before = allocations;
    equalizer.decide({ samples.data(), 4, 44, batch * batches }, nullptr, labels.data());
    BOOST_TEST(allocations == before);
    BOOST_TEST(told >= batches);
    BOOST_TEST(elsewhere <= 1u); // the adapter looks once as it starts
}

BOOST_AUTO_TEST_CASE(an_equalizers_memory_is_small_and_constant)
{
    struct kind {
        unsigned sps;
        bool complex;
        const char* alphabet;
        bool vectors; // separate ones need the most memory: their samples are repeated
    };
    for (const auto& [sps, complex, alphabet, vectors] :
         { kind{ 4, false, "pam4", false }, { 4, true, "16qam", true } }) {
        const model initial = make_model(sps, complex, alphabet);
        const std::size_t dimension = initial.window.dimension();
        const std::size_t stride = vectors ? dimension : initial.window.stride();
        const auto samples = noise(8192 * stride + dimension);
        std::vector<std::uint8_t> labels(8192);
        adaptation_settings settings;
        settings.mode = adaptation_mode::lockstep;
        settings.batch = 8192;
        const std::size_t before = bytes_in_use;
        most_bytes = before;
        adaptive_equalizer equalizer(initial, stride, settings);
        equalizer.start();
        const auto decide = [&] {
            equalizer.decide(
                { samples.data(), stride, dimension, 8192 }, nullptr, labels.data());
            return bytes_in_use - before;
        };
        const std::size_t first = decide();
        std::size_t last = 0;
        for (int i = 0; i < 10; ++i)
            last = decide();
        BOOST_TEST(most_bytes - before < 20u << 20);
        BOOST_TEST(first == last);
    }
}

BOOST_AUTO_TEST_CASE(an_equalizers_memory_stays_small_with_a_checkpoint)
{
    const model initial = make_model(4, true, "16qam");
    const std::size_t dimension = initial.window.dimension();
    const auto samples = noise(8192 * dimension);
    std::vector<std::uint8_t> labels(8192);
    adaptation_settings settings;
    settings.mode = adaptation_mode::lockstep;
    settings.batch = 8192;
    settings.checkpoint = "allocation_test.safetensors";
    const std::size_t before = bytes_in_use;
    most_bytes = before;
    {
        adaptive_equalizer equalizer(initial, dimension, settings);
        equalizer.start();
        for (int i = 0; i < 10; ++i)
            equalizer.decide(
                { samples.data(), dimension, dimension, 8192 }, nullptr, labels.data());
    }
    BOOST_TEST(most_bytes - before < 20u << 20);
    std::remove(settings.checkpoint.c_str());
}

BOOST_AUTO_TEST_CASE(what_finds_no_memory_is_told_and_ends_nothing)
{
    const model initial = make_model(4, true, "16qam");
    adaptation_settings settings;
    settings.mode = adaptation_mode::lockstep;
    settings.checkpoint = "allocation_test.safetensors";
    settings.checkpoint_interval = 0;
    const std::size_t batch = settings.batch;
    const auto samples = noise(8 * batch + 88);
    std::vector<std::uint8_t> labels(batch);
    std::atomic<int> errors{ 0 }, saved{ 0 };
    adaptive_equalizer equalizer(initial, 8, settings, [&](const adaptation_event& e) {
        errors += e.what == event_kind::error;
        saved += e.what == event_kind::saved;
    });
    equalizer.start();
    const auto decide = [&] {
        equalizer.decide({ samples.data(), 8, 88, batch }, nullptr, labels.data());
    };
    refused_bytes = 1000;
    decide(); // the step, the recorder's checkpoint, and that of the interval
    refused_bytes = ~std::size_t{ 0 };
    decide();
    equalizer.stop();
    BOOST_TEST(equalizer.status().updates == 1u);
    BOOST_TEST(errors == 3);
    BOOST_TEST(saved == 2);
    std::remove(settings.checkpoint.c_str());
}

BOOST_AUTO_TEST_CASE(the_normalizer_allocates_nothing)
{
    const auto samples = noise(20'000);
    std::vector<float> out(samples.size());
    for (const bool complex : { false, true }) {
        normalizer normalize(complex, 4096);
        const counts found = counted_in(
            [&] { normalize.process(samples.data(), out.data(), samples.size() / 2); });
        BOOST_TEST(found.allocations == 0u);
        BOOST_TEST(found.waits == 0u);
    }
}

BOOST_AUTO_TEST_CASE(the_mlse_allocates_nothing_while_it_decides_and_tracks)
{
    const std::size_t symbols = 20'000;
    const auto samples = noise(2 * symbols);
    std::vector<std::uint8_t> labels(symbols);
    for (const std::size_t block : { 0, 500 }) {
        mlse_settings settings;
        settings.adaptation = mlse_adaptation::decision_directed;
        settings.update_interval = 100;
        settings.block_length = block;
        mlse decide({ constellation("pam4"), 2, 3, false }, settings);
        std::size_t decided = 0;
        const counts found = counted_in([&] {
            for (std::size_t i = 0; i < symbols; i += 1000)
                decided += decide
                               .process(samples.data() + 2 * i,
                                        nullptr,
                                        1000,
                                        labels.data() + decided,
                                        symbols - decided)
                               .labels;
        });
        BOOST_TEST(decided > symbols / 2);
        BOOST_TEST(decide.updates() >= symbols / 500);
        BOOST_TEST(found.allocations == 0u);
        BOOST_TEST(found.waits == 0u);
    }
}

BOOST_AUTO_TEST_CASE(counting_errors_allocates_nothing)
{
    std::mt19937 random(1);
    std::vector<std::uint8_t> sent(100'000);
    for (auto& label : sent)
        label = random() & 3;
    auto decided = sent;
    decided.erase(decided.begin() + 50'000, decided.begin() + 50'003); // a slip
    error_counter counter(constellation("pam4"), 1024);
    std::size_t batches = 0;
    const counts found = counted_in([&] {
        for (std::size_t i = 0; i + 500 <= decided.size(); i += 500) {
            counter.append_decided(decided.data() + i, 500);
            counter.append_sent(sent.data() + i, 500);
            while (counter.next())
                ++batches;
        }
    });
    BOOST_TEST(batches > 90u);
    BOOST_TEST(counter.relocks() == 1u);
    BOOST_TEST(found.allocations == 0u);
    BOOST_TEST(found.waits == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
