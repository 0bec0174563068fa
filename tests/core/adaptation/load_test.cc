/* An equalizer that goes on with another model while it runs: request_load().
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/adaptive_equalizer.h"
#include "receivers.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>
#include <utility>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

const std::string path = "load_test.safetensors";
constexpr std::size_t batch = 512, batches = 40;

struct fixture {
    fixture()
        : initial(make_followed_receiver(0.3f)), // whose labels are often wrong
          other(wider(make_followed_receiver())),
          samples(followed_signal(4 * batch * batches + 92))
    {
        settings.mode = adaptation_mode::lockstep;
        settings.batch = batch;
        save_model(path, other);
    }
    ~fixture() { std::remove(path.c_str()); }

    //! The same decisions by layers of other sizes: a neuron more, which does nothing.
    static model wider(const model& from)
    {
        network net({ from.net.inputs(), 11, 10, 10, 10, 4 });
        for (std::size_t k = 0; k < net.layers().size(); ++k) {
            const auto &to = net.layers()[k], &of = from.net.layers()[k];
            for (std::size_t out = 0; out < of.outputs; ++out) {
                std::copy_n(&from.net.parameters()[of.weights + out * of.inputs],
                            of.inputs,
                            &net.parameters()[to.weights + out * to.inputs]);
                net.parameters()[to.biases + out] =
                    from.net.parameters()[of.biases + out];
            }
        }
        model made(net, from.sps, from.half_window, from.complex, from.symbols.text());
        made.set_waveform(*from.waveform);
        made.symbol_error_rate = 0.01f;
        made.refined_symbol_error_rate = 0.005f;
        return made;
    }

    struct decisions {
        std::vector<std::uint8_t> labels;
        std::vector<float> posteriors, soft;
    };

    //! What batches `first` to `last` become, those that are still to come of labels before included.
    void decide(adaptive_equalizer& equalizer,
                std::size_t first,
                std::size_t last,
                decisions& all,
                std::size_t piece = batch)
    {
        const std::size_t end = last * batch;
        std::vector<std::uint8_t> labels(piece);
        std::vector<float> posteriors(4 * piece), soft(piece);
        for (std::size_t i = first * batch; i < end;) {
            const std::size_t n = std::min(piece, end - i);
            const auto written =
                equalizer.decide({ &samples[4 * i], 4, equalizer.dimension(), n },
                                 nullptr,
                                 labels.data(),
                                 posteriors.data(),
                                 soft.data());
            all.labels.insert(
                all.labels.end(), labels.begin(), labels.begin() + written.labels);
            all.posteriors.insert(all.posteriors.end(),
                                  posteriors.begin(),
                                  posteriors.begin() + 4 * written.labels);
            all.soft.insert(all.soft.end(), soft.begin(), soft.begin() + written.points);
            i += n;
        }
    }

    //! Takes the events but those of steps, and wakes who waits for one.
    auto listener()
    {
        return [this](const adaptation_event& event) {
            if (event.what == event_kind::step)
                return;
            told.push_back(event);
            came.post();
        };
    }

    //! What came of it.
    std::string load(adaptive_equalizer& equalizer,
                     const std::string& from = path,
                     std::size_t training = 0)
    {
        told.clear();
        came.clear();
        equalizer.request_load(from, training);
        came.wait();
        return name(told.back().what);
    }

    model initial, other;
    std::vector<float> samples;
    adaptation_settings settings;
    std::vector<adaptation_event> told;
    semaphore came;
};

template <typename T>
bool ends_alike(const std::vector<T>& all, std::size_t from, const std::vector<T>& end)
{
    return all.size() == from + end.size() &&
           std::equal(end.begin(), end.end(), all.begin() + from);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(loading, fixture)

// From the batch on that it comes before: to the bit what an equalizer made from the model decides, with
// its own weights, front filter and refinement, and nothing of what came before is lost.
BOOST_DATA_TEST_CASE_F(fixture,
                       it_goes_on_as_one_made_from_that_model,
                       boost::unit_test::data::make({ false, true }) *
                           boost::unit_test::data::make({ 37, 512 }),
                       off,
                       piece)
{
    settings.mode = off ? adaptation_mode::off : adaptation_mode::lockstep;
    const std::size_t before = 15;
    adaptive_equalizer equalizer(initial, 4, settings, listener());
    equalizer.start();
    decisions found, expected;
    decide(equalizer, 0, before, found, piece);
    BOOST_TEST(load(equalizer) == "loaded");
    BOOST_TEST(told.back().detail == path);
    decide(equalizer, before, batches, found, piece);

    adaptive_equalizer made(other, 4, settings);
    made.start();
    decide(made, before, batches, expected, piece);
    BOOST_TEST(ends_alike(found.labels, before * batch, expected.labels));
    BOOST_TEST(ends_alike(found.posteriors, 4 * before * batch, expected.posteriors));
    BOOST_TEST(ends_alike(found.soft, before * batch, expected.soft));
    BOOST_TEST((equalizer.taps() == made.taps()));
    if (!off)
        BOOST_TEST(equalizer.status().steps == made.status().steps);

    decisions without;
    adaptive_equalizer alone(initial, 4, settings);
    alone.start();
    decide(alone, 0, before, without);
    BOOST_TEST(
        std::equal(without.labels.begin(), without.labels.end(), found.labels.begin()));
    BOOST_TEST((
        std::vector<std::uint8_t>(without.labels.begin(), without.labels.begin() + 999) !=
        std::vector<std::uint8_t>(expected.labels.begin(),
                                  expected.labels.begin() + 999)));
}

BOOST_AUTO_TEST_CASE(it_is_taken_where_a_batch_begins)
{
    settings.mode = adaptation_mode::off;
    adaptive_equalizer equalizer(initial, 4, settings, listener()),
        first(initial, 4, settings), second(other, 4, settings);
    decisions found, of_first, of_second;
    for (auto* each : { &equalizer, &first, &second })
        each->start();
    decide(first, 0, 4, of_first);
    decide(second, 0, 4, of_second);
    std::vector<std::uint8_t> labels(batch);
    const auto decided = [&](std::size_t from, std::size_t n) {
        equalizer.decide(
            { &samples[4 * from], 4, equalizer.dimension(), n }, nullptr, labels.data());
        found.labels.insert(found.labels.end(), labels.begin(), labels.begin() + n);
    };
    decided(0, batch);
    decided(batch, 200);
    load(equalizer);
    decided(batch + 200, batch - 200);
    for (const std::size_t i : { 2 * batch, 3 * batch })
        decided(i, batch);
    const auto alike = [&](const decisions& with, std::size_t from, std::size_t to) {
        return std::equal(found.labels.begin() + from,
                          found.labels.begin() + to,
                          with.labels.begin() + from);
    };
    BOOST_TEST(alike(of_first, 0, 2 * batch));
    BOOST_TEST(alike(of_second, 2 * batch, 4 * batch));
    BOOST_TEST(!alike(of_second, batch, 2 * batch));
    BOOST_TEST(!alike(of_first, 2 * batch, 4 * batch));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_goes_on_where_it_was_saved)
{
    decisions whole, found;
    adaptive_equalizer one(other, 4, settings, listener());
    one.start();
    decide(one, 0, 20, whole);
    one.request_save(path);
    came.wait();
    const auto steps = one.status().steps;
    decide(one, 20, batches, whole);

    adaptive_equalizer equalizer(initial, 4, settings, listener());
    equalizer.start();
    decide(equalizer, 0, 20, found);
    BOOST_TEST(load(equalizer) == "loaded");
    BOOST_TEST(equalizer.status().steps == steps);
    decide(equalizer, 20, batches, found);
    BOOST_TEST(std::equal(found.labels.begin() + 20 * batch,
                          found.labels.end(),
                          whole.labels.begin() + 20 * batch));
    BOOST_TEST((equalizer.taps() == one.taps()));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_and_changes_nothing)
{
    const auto refused = [&](const std::string& reason,
                             const std::optional<model>& saved,
                             std::size_t training = 0) {
        if (saved)
            save_model(path, *saved);
        decisions found, expected;
        adaptive_equalizer equalizer(initial, 4, settings, listener()),
            alone(initial, 4, settings);
        equalizer.start();
        alone.start();
        decide(equalizer, 0, 3, found);
        BOOST_TEST(load(equalizer, path, training) == "refused");
        const std::string detail = told.back().detail;
        BOOST_TEST(detail.find("model file " + path + ": ") == 0u, detail);
        BOOST_TEST(detail.find(reason) != detail.npos, detail);
        decide(equalizer, 3, 8, found);
        decide(alone, 0, 8, expected);
        BOOST_TEST((found.labels == expected.labels));
        BOOST_TEST((found.posteriors == expected.posteriors));
        BOOST_TEST((equalizer.taps() == alone.taps()));
        BOOST_TEST(equalizer.status().updates == alone.status().updates);
    };
    refused("sps is 2, the running equalizer's is 4", make_model(2, false, "pam4"));
    refused("constellation is pam8", make_model(4, false, "pam8"));
    refused("complex is true", make_model(4, true, "pam4"));
    model narrow(network({ 36, 4 }), 4, 4, false, "pam4");
    refused("half_window is 4, the running equalizer's is 5", narrow);
    refused("expected waveform is not there", make_receiver());
    refused("training_sequence's length is 17, allowed: 18 to", other, 17);
    std::ofstream(path) << "no model";
    refused("", std::nullopt);
    std::remove(path.c_str());
    refused("No such file", std::nullopt);

    // A checkpoint of another optimizer.
    const auto optimizer = std::exchange(settings.optimizer, optimizer_kind::sgd);
    {
        adaptive_equalizer saves(other, 4, settings, listener());
        saves.start();
        saves.request_save(path);
        came.wait();
    }
    settings.optimizer = optimizer;
    refused("but the optimizer is set to", std::nullopt);
}

// And another model, at run time too, begins anew.
BOOST_AUTO_TEST_CASE(a_checkpoint_of_a_network_that_decided_as_it_was_loaded_goes_on_so)
{
    adaptive_equalizer equalizer(initial, 4, settings, listener());
    equalizer.start();
    decisions found;
    decide(equalizer, 0, 5, found);
    const auto saved = [&](std::size_t batch) { // decided before, which hands over
        decide(equalizer, batch, batch + 1, found);
        came.clear();
        equalizer.request_save(path);
        came.wait();
        return load_model(path);
    };
    const auto state = [](model& from, const char* name) {
        std::uint64_t value = 0;
        archive::restoring(from.state, "state")(name, value);
        return value;
    };
    model before = saved(5);
    BOOST_TEST(state(before, "left_as_loaded") == 0u);
    auto& all = before.state.tensors;
    const auto changed = [](const auto& each) {
        return each.name == "state.left_as_loaded" || each.name == "state.unexplained";
    };
    all.erase(std::remove_if(all.begin(), all.end(), changed), all.end());
    archive members = archive::saving(before.state, "state");
    std::uint64_t left = 100'000, unexplained = 9000;
    members("left_as_loaded", left);
    members("unexplained", unexplained);
    save_model(path, before);
    BOOST_TEST(load(equalizer) == "loaded");
    model after = saved(6);
    BOOST_TEST(state(after, "left_as_loaded") == left - batch);
    BOOST_TEST(state(after, "unexplained") == unexplained);
    save_model(path, other);
    BOOST_TEST(load(equalizer) == "loaded");
    model anew = saved(7);
    BOOST_TEST(state(anew, "left_as_loaded") == 0u);
    BOOST_TEST(state(anew, "unexplained") == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_damaged_at_its_end_changes_no_counter)
{
    adaptive_equalizer equalizer(initial, 4, settings, listener());
    equalizer.start();
    decisions found;
    decide(equalizer, 0, 5, found);
    came.clear();
    equalizer.request_save(path);
    came.wait();
    model saved = load_model(path);
    auto& all = saved.state.tensors;
    all.erase(std::remove_if(all.begin(),
                             all.end(),
                             [](const auto& each) {
                                 return each.name == "state.dropped" ||
                                        each.name == "state.block_position";
                             }),
              all.end());
    archive members = archive::saving(saved.state, "state");
    std::uint64_t dropped = 77, position = 1 << 20;
    members("dropped", dropped);
    members("block_position", position);
    save_model(path, saved);
    BOOST_TEST(load(equalizer) == "refused");
    BOOST_TEST(told.back().detail.find("block_position is 1048576") != std::string::npos,
               told.back().detail);
    BOOST_TEST(equalizer.dropped() == 0u);
}

// One after the other, while it decides: what it uses is never taken away, and each label comes once.
BOOST_AUTO_TEST_CASE(again_and_again_while_it_decides)
{
    settings.mode = adaptation_mode::live;
    save_model(path, initial);
    const std::string second = "load_test_2.safetensors";
    save_model(second, other);
    std::atomic<int> loaded{ 0 }, others{ 0 };
    adaptive_equalizer equalizer(
        initial, 4, settings, [&](const adaptation_event& event) {
            loaded += event.what == event_kind::loaded;
            others +=
                event.what == event_kind::refused || event.what == event_kind::error;
        });
    equalizer.start();
    std::atomic<bool> ended{ false };
    std::thread asks([&] {
        for (int i = 0; !ended; ++i) {
            equalizer.request_load(i % 2 ? path : second);
            equalizer.status();
            equalizer.taps();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    decisions found;
    std::size_t symbols = 0;
    for (; loaded < 100; symbols += batches * batch)
        decide(equalizer, 0, batches, found, 100);
    ended = true;
    asks.join();
    std::vector<std::uint8_t> rest(4096);
    for (std::size_t n; (n = equalizer.flush(rest.data(), rest.size()));)
        found.labels.insert(found.labels.end(), rest.begin(), rest.begin() + n);
    BOOST_TEST(found.labels.size() == symbols);
    BOOST_TEST(others == 0);
    equalizer.stop();
    std::remove(second.c_str());
}

// The adapter thread reads, in lockstep too: nothing is decided here.
BOOST_AUTO_TEST_CASE(nobody_who_decides_reads_the_file)
{
    for (const auto& mode : words(adaptation_mode{})) {
        settings.mode = mode.value;
        adaptive_equalizer equalizer(initial, 4, settings, listener());
        equalizer.start();
        BOOST_TEST(load(equalizer) == "loaded", mode.name);
    }
}

BOOST_AUTO_TEST_CASE(a_start_without_a_model_is_over)
{
    constexpr std::size_t begun = blind_start::first_look / batch - 1;
    adaptive_equalizer equalizer(
        blind_start("pam4", 4, 5, false, 1), 4, settings, listener());
    equalizer.start();
    decisions found, expected;
    decide(equalizer, 0, begun, found);
    BOOST_TEST(!equalizer.started());
    BOOST_TEST(load(equalizer) == "loaded");
    BOOST_TEST(equalizer.started());
    decide(equalizer, begun, batches, found);
    adaptive_equalizer made(other, 4, settings);
    made.start();
    decide(made, begun, batches, expected);
    BOOST_TEST(ends_alike(found.labels, begun * batch, expected.labels));
}

BOOST_AUTO_TEST_SUITE_END()
