/* The front filter inside the equalizer: cuts, restarts, modes. Its mathematics is tested
 * from Python, against numpy. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/adaptive_equalizer.h"
#include "receivers.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstring>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

const std::string path = "front_filter_test.safetensors";
constexpr std::size_t batch = 512, symbols = 40 * batch;

struct fixture {
    fixture()
        : initial(make_followed_receiver()), samples(followed_signal(4 * symbols + 92))
    {
        settings.mode = adaptation_mode::lockstep;
        settings.batch = batch;
    }
    ~fixture() { std::remove(path.c_str()); }

    struct decisions {
        std::vector<std::uint8_t> labels;
        std::vector<float> posteriors;
        bool operator==(const decisions& other) const
        {
            return labels == other.labels && posteriors == other.posteriors;
        }
    };

    decisions decide(adaptive_equalizer& equalizer,
                     std::size_t first,
                     std::size_t count,
                     std::size_t piece = symbols) const
    {
        decisions all{ std::vector<std::uint8_t>(count), std::vector<float>(4 * count) };
        std::size_t labels = 0;
        for (std::size_t done = 0, n; done < count; done += n) {
            n = std::min(piece, count - done);
            labels +=
                equalizer
                    .decide({ &samples[4 * (first + done)], 4, equalizer.dimension(), n },
                            nullptr,
                            all.labels.data() + labels,
                            &all.posteriors[4 * labels])
                    .labels;
        }
        all.labels.resize(labels);
        all.posteriors.resize(4 * labels);
        return all;
    }

    //! A checkpoint after so many batches.
    model saved_after(std::size_t batches)
    {
        settings.checkpoint = path;
        {
            adaptive_equalizer first(initial, 4, settings);
            first.start();
            decide(first, 0, batches * batch);
        }
        settings.checkpoint.clear();
        return load_model(path);
    }

    model initial;
    std::vector<float> samples;
    adaptation_settings settings;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(front_filters, fixture)

BOOST_AUTO_TEST_CASE(lockstep_is_the_same_to_the_bit_however_it_is_cut)
{
    // Behind a receiver of other levels the filter is lost.
    for (const bool lost : { false, true }) {
        if (lost)
            initial = make_followed_receiver(0.3f);
        initial.symbol_error_rate = 0.01f;
        initial.refined_symbol_error_rate = 0.005f;
        settings.decisions = decision_kind::refined;
        adaptive_equalizer whole(initial, 4, settings);
        whole.start();
        const decisions expected = decide(whole, 0, symbols);
        BOOST_TEST(expected.labels.size() < symbols); // refined ones come later
        BOOST_TEST((whole.status().estimated.untrusted != distrust::none));
        BOOST_TEST((whole.front_status().memory == 0) == lost);
        BOOST_TEST((whole.front_status().resets > 0) == lost);
        for (const std::size_t piece : { 1, 37, 1000 }) {
            adaptive_equalizer cut(initial, 4, settings);
            cut.start();
            BOOST_TEST((decide(cut, 0, symbols, piece) == expected));
            BOOST_TEST((cut.taps() == whole.taps()));
            BOOST_TEST(cut.front_status().resets == whole.front_status().resets);
        }
    }
}

// Posteriors of refined labels have a noise that is measured anew in each stream.
BOOST_DATA_TEST_CASE_F(fixture,
                       a_restart_goes_on_to_the_bit,
                       boost::unit_test::data::make({ false, true }),
                       refined)
{
    settings.decisions = refined ? decision_kind::refined : decision_kind::network;
    settings.batch = 600; // the filter's blocks end within it
    adaptive_equalizer whole(initial, 4, settings);
    whole.start();
    const decisions expected = decide(whole, 0, 30 * 600);
    for (const std::size_t batches : { 1, 2, 11, 20 }) {
        const std::size_t stop = batches * 600;
        semaphore saved;
        adaptive_equalizer first(
            initial, 4, settings, [&](const adaptation_event& event) {
                if (event.what == event_kind::saved)
                    saved.post();
            });
        first.start();
        decide(first, 0, stop);
        first.request_save(path);
        saved.wait();
        const model from = load_model(path);
        adaptive_equalizer second(from, 4, settings);
        second.start();
        const decisions found = decide(second, stop, 30 * 600 - stop);
        BOOST_TEST(std::equal(
            found.labels.begin(), found.labels.end(), expected.labels.begin() + stop));
        BOOST_TEST((refined || std::equal(found.posteriors.begin(),
                                          found.posteriors.end(),
                                          expected.posteriors.begin() + 4 * stop)));
    }
}

BOOST_AUTO_TEST_CASE(decisions_are_refined_directly_behind_a_restart)
{
    initial.symbol_error_rate = 0.01f;
    initial.refined_symbol_error_rate = 0.005f;
    settings.decisions = decision_kind::refined;
    adaptive_equalizer whole(initial, 4, settings);
    // The network sees a symbol's middle sample only, the waveform knows all four.
    for (std::size_t i = whole.dimension() / 2; i < samples.size(); i += 4 * 40)
        samples[i] += 2 / std::sqrt(5.0f);
    whole.start();
    const decisions expected = decide(whole, 0, symbols);
    constexpr std::size_t stop = 20 * batch, begun = 100; // symbols that come before
    const model from = saved_after(20);
    const auto first_batch = [&] {
        adaptive_equalizer second(from, 4, settings);
        second.start();
        const auto labels = decide(second, stop, 2 * batch).labels;
        return std::vector<std::uint8_t>(labels.begin() + begun, labels.begin() + batch);
    };
    const auto refined = first_batch();
    BOOST_TEST(std::equal(
        refined.begin(), refined.end(), expected.labels.begin() + stop + begun));
    {
        adaptive_equalizer second(from, 4, settings);
        second.start();
        decide(second, stop, symbols - stop);
        const auto estimated = second.status().estimated,
                   wanted = whole.status().estimated;
        BOOST_TEST(wanted.ber < 1.0);
        BOOST_TEST(estimated.ber == wanted.ber);
        BOOST_TEST(estimated.high == wanted.high);
    }
    settings.decisions = decision_kind::network;
    BOOST_TEST((first_batch() != refined));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_another_length_is_refused)
{
    const model saved = saved_after(1);
    settings.front_filter_length = 6;
    BOOST_CHECK_THROW(adaptive_equalizer(saved, 4, settings), model_file_error);
    settings.front_filter = false;
    adaptive_equalizer(saved, 4, settings);
}

// Behind one, what is needed of the filtered stream is to be filtered again.
BOOST_AUTO_TEST_CASE(a_checkpoint_goes_on_directly_behind_a_training_sequence)
{
    constexpr std::size_t length = 100, first_decided = 11;
    std::vector<std::uint8_t> sent;
    std::mt19937 random(1); // followed_signal()'s
    for (std::size_t i = 0; i < first_decided + length; ++i) {
        const unsigned rank = random() & 3;
        sent.push_back(rank ^ (rank >> 1));
    }
    settings.checkpoint = path;
    {
        adaptive_equalizer first(initial, 4, settings);
        first.start();
        first.begin_burst({ sent.begin() + first_decided, sent.end() });
        decide(first, 0, length);
        BOOST_TEST(first.front_status().bursts == 1u);
    }
    adaptive_equalizer second(load_model(path), 4, settings);
    BOOST_TEST(second.front_status().bursts == 1u);
}

// Whatever a number says, it is refused by its name, or the filter goes on with it.
BOOST_AUTO_TEST_CASE(numbers_of_a_checkpoint_that_make_no_sense_are_refused)
{
    const model saved = saved_after(10);
    std::size_t refused = 0;
    const auto is_refused = [&](std::size_t tensor, const auto value) {
        model bad = saved;
        auto& bytes = bad.state.tensors[tensor].bytes;
        std::memcpy(bytes.data(), &value, std::min(sizeof value, bytes.size()));
        try {
            adaptive_equalizer equalizer(bad, 4, settings);
            equalizer.start();
            decide(equalizer, 10 * batch, 4 * batch);
            return false;
        } catch (const model_file_error& error) {
            BOOST_TEST(std::string(error.what()).find("state.front.") !=
                       std::string::npos);
            ++refused;
            return true;
        }
    };
    for (std::size_t i = 0; i < saved.state.tensors.size(); ++i) {
        const auto& each = saved.state.tensors[i];
        if (each.name.rfind("state.front.", 0) != 0 || each.bytes.empty())
            continue;
        if (each.dtype == "F32") {
            for (const float value : { 3e38f, -3e38f })
                is_refused(i, value);
            // Samples that were not usable come out of the filter so, and what nobody estimated is so.
            const bool may_be_none = each.name.find("filtered") != std::string::npos ||
                                     each.name.find("overlap") != std::string::npos ||
                                     each.name.find("estimates") != std::string::npos;
            BOOST_TEST((is_refused(i, std::nanf("")) || may_be_none), each.name);
        } else {
            is_refused(i, std::uint64_t{ 1 } << 40);
            is_refused(i, std::uint64_t{ 0 });
            is_refused(i, std::uint64_t{ 0xff });
        }
    }
    BOOST_TEST(refused > saved.state.tensors.size() / 2);
}

BOOST_AUTO_TEST_CASE(sums_beyond_the_floats_are_given_up)
{
    model bad = saved_after(10);
    const float huge = 3e38f;
    constexpr std::size_t few = 16; // numbers that have ranges of their own
    for (auto& each : bad.state.tensors)
        if (each.name.rfind("state.front.bank.", 0) == 0 && each.dtype == "F32" &&
            each.bytes.size() > few * sizeof huge)
            for (std::size_t i = 0; i < each.bytes.size(); i += sizeof huge)
                std::memcpy(&each.bytes[i], &huge, sizeof huge);
    adaptive_equalizer equalizer(bad, 4, settings);
    equalizer.start();
    decide(equalizer, 10 * batch, 10 * batch);
    BOOST_TEST(equalizer.front_status().memory > 0u);
    BOOST_TEST(equalizer.front_status().residual < 0.1f);
}

BOOST_AUTO_TEST_CASE(numbers_of_a_carriers_phase_that_make_no_sense_are_refused)
{
    for (const auto& [name, value] : { std::pair{ "loop0.growth", 0.1f }, // idle for ever
                                       { "loop3.phase", 1e30f },
                                       { "loop3.score", -1.0f },
                                       { "loop9.before", 1e30f } }) {
        phase_bank phases(2, 0.7f);
        tensor_file file;
        archive::saving(file, "it")("phases", phases);
        for (auto& each : file.tensors)
            if (each.name == std::string("it.phases.") + name)
                std::memcpy(each.bytes.data(), &value, sizeof value);
        BOOST_CHECK_THROW(archive::restoring(file, "it")("phases", phases),
                          model_file_error);
    }
}

BOOST_AUTO_TEST_CASE(a_stream_that_starts_anew_keeps_the_taps_and_no_sample)
{
    settings.batch = 64;
    settings.decisions = decision_kind::network; // symbol for symbol
    adaptive_equalizer equalizer(initial, 4, settings);
    equalizer.start();
    decide(equalizer, 0, 20 * batch);
    equalizer.freeze(true);
    const decisions expected = decide(equalizer, 20 * batch, batch);
    equalizer.stop();
    equalizer.start();
    decide(equalizer, 0, 1); // elsewhere
    equalizer.stop();
    equalizer.start();
    const decisions found = decide(equalizer, 20 * batch, batch);
    // The samples before the first symbol were filtered with older taps at first.
    BOOST_TEST(std::equal(
        found.labels.begin() + 16, found.labels.end(), expected.labels.begin() + 16));
    BOOST_TEST(std::equal(found.posteriors.begin() + 64,
                          found.posteriors.end(),
                          expected.posteriors.begin() + 64));
}

BOOST_AUTO_TEST_CASE(
    there_is_none_when_off_or_with_separate_vectors_or_without_a_waveform)
{
    const std::size_t reach = 4 * settings.front_filter_length / 2;
    BOOST_TEST(adaptive_equalizer(initial, 4, settings).dimension() == 44 + 2 * reach);
    BOOST_TEST(!adaptive_equalizer(initial, 44, settings).has_front_filter());
    BOOST_TEST(!adaptive_equalizer(make_receiver(), 4, settings).has_front_filter());
    settings.front_filter = false;
    BOOST_TEST(!adaptive_equalizer(initial, 4, settings).has_front_filter());
    settings.front_filter = true;
    settings.mode = adaptation_mode::off;
    BOOST_TEST(adaptive_equalizer(initial, 4, settings).dimension() == 44u);
}

BOOST_AUTO_TEST_CASE(frozen_it_stays_as_it_is_and_a_reset_forgets_it)
{
    adaptive_equalizer equalizer(initial, 4, settings);
    equalizer.start();
    decide(equalizer, 0, 10 * batch);
    const auto taps = equalizer.taps();
    equalizer.freeze(true);
    decide(equalizer, 10 * batch, 10 * batch);
    BOOST_TEST((equalizer.taps() == taps));
    equalizer.request_reset();
    while (equalizer.front_status().memory)
        decide(equalizer, 20 * batch, batch);
    BOOST_TEST(equalizer.taps()[equalizer.taps().size() / 2] == 1.0f);
}

BOOST_AUTO_TEST_SUITE_END()
