/* Whose decisions explain the samples, and when that is sure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/waveform_judge.h"
#include "nonlinear_link.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <random>

using namespace gr::adann::core;
using namespace nonlinear;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(judging_by_the_waveform)

/* Of 16 senders together. Where all labels are sent the wrong ones won no vote at all. Where two are, and the filter is
 * fitted to the wrong ones, that is 6 % of the right ones' votes with a deviation of 1.5 %, and 25 % of one sender's. */
BOOST_DATA_TEST_CASE(right_decisions_win_whoever_the_filter_was_fitted_to,
                     data::make(kinds) * data::make({ 2, 64 }),
                     kind,
                     most_values)
{
    constexpr std::size_t batches = 160; // of some 12 votes each
    constexpr unsigned senders = 16;
    for (const bool fitted_to_right : { true, false }) {
        waveform_judge::votes total;
        for (unsigned sender = 0; sender < senders; ++sender) {
            nonlinear_link received(kind.symbols, kind.sps, kind.is_complex, 3 + sender);
            const std::size_t values =
                std::min<std::size_t>(received.symbols.size(), most_values);
            received.send(batches * batch, values);
            const label_noise equal_noise(received.symbols.size());
            waveform_judge judge(received.trained, received.window, batch);
            waveform_judge::votes own;
            for (std::size_t first = 0; first < batches * batch; first += batch) {
                // Each 16th decision is wrong.
                std::vector<std::uint8_t> wrong(received.sent(first),
                                                received.sent(first) + batch);
                for (std::size_t i = 3; i < batch; i += 16)
                    wrong[i] = (wrong[i] + 1) % received.symbols.size();
                judge.look(received.view(first),
                           fitted_to_right ? received.sent(first) : wrong.data());
                const auto votes =
                    judge.compare(received.sent(first), wrong.data(), equal_noise);
                const auto same = judge.compare(wrong.data(), wrong.data(), equal_noise);
                BOOST_TEST(same.first + same.second == 0u);
                const auto reversed =
                    judge.compare(wrong.data(), received.sent(first), equal_noise);
                BOOST_TEST(reversed.first == votes.second);
                BOOST_TEST(reversed.second == votes.first);
                if (first < 7 * batch) // the filter is not known yet
                    BOOST_TEST(votes.first + votes.second == 0u);
                own.first += votes.first;
                own.second += votes.second;
            }
            BOOST_TEST(own.first + own.second > (batches - 7) * 12);
            BOOST_TEST(own.second < own.first);
            total.first += own.first;
            total.second += own.second;
        }
        BOOST_TEST(total.second * (most_values > 2 ? 100 : 5) <= total.first);
    }
}

BOOST_DATA_TEST_CASE(better_labels_take_the_place_of_those_looked_at,
                     data::make(kinds),
                     kind)
{
    nonlinear_link received(kind.symbols, kind.sps, kind.is_complex, 3);
    constexpr std::size_t batches = 20;
    received.send(batches * batch, received.symbols.size());
    waveform_judge told(received.trained, received.window, batch), judge(told),
        deaf(told);
    for (std::size_t first = 0; first < batches * batch; first += batch) {
        const std::uint8_t* sent = received.sent(first);
        std::vector<std::uint8_t> wrong(sent, sent + batch);
        for (std::size_t i = 3; i < batch; i += 16)
            wrong[i] = (wrong[i] + 1) % received.symbols.size();
        told.look(received.view(first), sent);
        judge.look(received.view(first), wrong.data());
        deaf.look(received.view(first), wrong.data());
        judge.relearn(sent);
        BOOST_TEST((judge.taps() == told.taps()));
        BOOST_TEST((deaf.taps() != told.taps()));
    }
}

BOOST_AUTO_TEST_CASE(the_noise_is_what_is_left_and_starts_with_the_models)
{
    nonlinear_link received("pam4", 2, false, 5);
    received.send(16 * batch, 4);
    waveform_judge judge(received.trained, received.window, batch);
    BOOST_TEST(judge.noise() == 0.1f);
    for (std::size_t first = 0; first < 16 * batch; first += batch)
        judge.look(received.view(first), received.sent(first));
    BOOST_TEST(judge.noise() == 0.05f, boost::test_tools::tolerance(0.1f));
    judge.reset();
    BOOST_TEST(judge.noise() == 0.1f);
}

BOOST_AUTO_TEST_CASE(a_signal_that_changes_is_noticed_and_learnt_anew)
{
    nonlinear_link received("pam4", 2, false, 5);
    received.send(48 * batch, 4);
    const std::size_t change = 24 * batch;
    for (std::size_t i = received.samples.size(); --i >= 2 * (change + received.margin);)
        received.samples[i] -= 0.4f * received.samples[i - 1];
    waveform_judge judge(received.trained, received.window, batch);
    for (std::size_t first = 0; first < 48 * batch; first += batch)
        BOOST_TEST(judge.look(received.view(first), received.sent(first)) ==
                   (first == change));
    BOOST_TEST(judge.noise() < 0.07f); // 0.05 from before, 0.02 from the echo
}

/* A residual of three times the power is another signal within 1024 symbols, whatever the batch; for 250 symbols it is
 * not, as an amplitude that changes. Powers of 64 symbols and more deviate by less than a sixth. */
BOOST_DATA_TEST_CASE(a_lasting_residual_is_another_signal,
                     data::make({ 64, 128, 256, 512 }),
                     symbols)
{
    const std::size_t own = symbols;
    for (const std::size_t lasts : { 250, 8192 }) {
        if (lasts == 250 && own < 256)
            continue; // of shorter batches only four are looked at
        nonlinear_link received("pam4", 2, false, 13);
        received.send(3 * 8192, 4);
        const std::size_t from = received.margin + 8192;
        std::mt19937 random(2);
        std::normal_distribution<float> more(0, 0.05f * std::sqrt(2.0f));
        for (std::size_t i = 2 * from; i < 2 * (from + lasts); ++i)
            received.samples[i] += more(random);
        waveform_judge judge(received.trained, received.window, own);
        std::size_t noticed = 0;
        for (std::size_t first = 0; first < 2 * 8192; first += own) {
            feature_view view = received.view(first);
            view.count = own;
            if (judge.look(view, received.sent(first)) && !noticed)
                noticed = first + own;
        }
        if (lasts == 250)
            BOOST_TEST(noticed == 0u);
        else
            BOOST_TEST((noticed > 8192 && noticed <= 8192 + 1024 + own));
    }
}

// Before 400 skipped batches, 12 times 8192 symbols, another channel: its sums count exp(-12) and less.
BOOST_AUTO_TEST_CASE(a_channel_before_skipped_batches_is_forgotten)
{
    nonlinear_link received("pam4", 2, false, 9);
    received.send(8 * batch, 4);
    const std::size_t changes = (received.margin + 6 * batch) * received.trained.stride();
    for (std::size_t i = changes; i-- > 1;)
        received.samples[i] += 0.2f * received.samples[i - 1];
    const auto taps = [&](std::size_t from, std::size_t apart) {
        waveform_judge judge(received.trained, received.window, batch);
        for (std::size_t k = from; k < 8; ++k)
            judge.look(
                received.view(k * batch), received.sent(k * batch), k == 6 ? apart : 1);
        return judge.taps();
    };
    const auto alone = taps(6, 1), paused = taps(0, 400), mixed = taps(0, 1);
    float difference = 0, without = 0;
    for (std::size_t k = 0; k < alone.size(); ++k) {
        difference = std::max(difference, std::abs(alone[k] - paused[k]));
        without = std::max(without, std::abs(alone[k] - mixed[k]));
    }
    BOOST_TEST(difference < 1e-3f);
    BOOST_TEST(without > 0.05f);
}

// A judge that is shown one batch in eight of a static link averages over as many symbols as one that sees all.
BOOST_AUTO_TEST_CASE(a_filter_is_fitted_to_as_many_symbols_of_one_batch_in_eight)
{
    nonlinear_link received("16qam", 2, true, 3);
    received.send(16 * batch, 16);
    waveform_judge all(received.trained, received.window, batch), few(all);
    for (std::size_t first = 0; first < 16 * batch; first += batch) {
        all.look(received.view(first), received.sent(first));
        few.look(received.view(first), received.sent(first), 8);
        BOOST_TEST(few.taps() == all.taps());
    }
}

// The filter has 7 taps and an offset. Fitted to 73 symbols, 28 of 1320 such batches seemed to be of another signal.
BOOST_AUTO_TEST_CASE(short_batches_with_many_skipped_between_are_one_signal)
{
    constexpr std::size_t few = 64, batches = 1320;
    nonlinear_link received("pam4", 1, false, 11);
    received.send(few * batches, 4);
    waveform_judge judge(received.trained, received.window, few);
    double noise = 0;
    for (std::size_t k = 0; k < batches; ++k) {
        feature_view view = received.view(k * few);
        view.count = few;
        BOOST_TEST(!judge.look(view, received.sent(k * few), 64));
        noise += judge.noise() / static_cast<double>(batches);
    }
    BOOST_TEST(noise == 0.05, boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(a_judge_goes_on_from_its_state_to_the_bit)
{
    nonlinear_link received("16qam", 2, true, 7);
    constexpr std::size_t stop = 50 * batch; // within the second round of the table
    received.send(2 * stop, 16);
    // Another sender's, so that each round changes it.
    expected_waveform other = received.trained;
    std::vector<float> table = other.table();
    for (std::size_t i = 0; i < table.size(); ++i)
        table[i] += i % 3 ? 0.1f : -0.1f;
    other.set_nonlinear(table, other.polynomial().coefficients());
    waveform_judge judge(other, received.window, batch), restored(judge);
    const auto look = [&](waveform_judge& by, std::size_t first) {
        by.look(received.view(first), received.sent(first));
        by.follow(received.sent(first));
    };
    for (std::size_t first = 0; first < stop; first += batch)
        look(judge, first);
    tensor_file file;
    archive::saving(file, "it")("judge", judge);
    archive::restoring(file, "it")("judge", restored);
    for (std::size_t first = stop; first < 2 * stop; first += batch)
        for (auto* each : { &judge, &restored })
            look(*each, first);
    BOOST_TEST(judge.noise() == restored.noise());
    BOOST_TEST((judge.waveform().now() == restored.waveform().now()));
    BOOST_TEST(judge.waveform().number() == 2u);
    BOOST_TEST(restored.waveform().number() == 2u);
}

BOOST_AUTO_TEST_CASE(a_judge_whose_numbers_left_the_floats_starts_over)
{
    nonlinear_link received("pam4", 2, false, 8);
    received.send(40 * batch, 4);
    waveform_judge judge(received.trained, received.window, batch);
    tensor_file file;
    archive::saving(file, "it")("judge", judge);
    for (auto& each : file.tensors)
        if (each.name == "it.judge.gram" || each.name == "it.judge.moments")
            for (std::size_t i = 0; i < each.bytes.size(); i += sizeof(double)) {
                const double huge = i % 3 ? 1e300 : -1e300;
                std::memcpy(&each.bytes[i], &huge, sizeof huge);
            }
    archive::restoring(file, "it")("judge", judge);
    for (std::size_t i = 0; i < 20; ++i)
        judge.look(received.view(i * batch), received.sent(i * batch));
    BOOST_TEST(judge.noise() < 1);
    for (auto& each : file.tensors)
        if (each.name == "it.judge.sums")
            std::memcpy(each.bytes.data(), "\0\0\0\0\0\0\xf0\xbf", sizeof(double)); // -1
    BOOST_CHECK_THROW(archive::restoring(file, "it")("judge", judge), model_file_error);
}

BOOST_AUTO_TEST_CASE(a_batch_that_is_too_short_is_refused)
{
    const nonlinear_link received("pam2", 2, false, 1);
    BOOST_TEST(waveform_judge::least_batch(received.trained) == 36u);
    BOOST_CHECK_EXCEPTION(
        waveform_judge(received.trained, received.window, 35),
        std::invalid_argument,
        [](const auto& e) { return std::string(e.what()).find("batch is 35") == 0; });
}

// Seeds are fixed. A right implementation has a mean of at least 10,000 by the theorem, and
// that of 100 runs, of which each is about exponential, below 7000 with a probability of
// 3e-4.
BOOST_AUTO_TEST_CASE(of_equals_none_is_surely_better_more_than_once_in_10000_votes)
{
    std::mt19937 random(1);
    double votes = 0;
    for (int run = 0; run < 100; ++run) {
        sequential_test test;
        for (; !test.sure(); ++votes) {
            const bool won = random() & 1;
            test.add(won, !won);
        }
    }
    BOOST_TEST(votes / 100 > 7000);
}

BOOST_AUTO_TEST_CASE(what_wins_four_of_five_votes_is_surely_better_after_some_fifty)
{
    std::mt19937 random(1);
    double votes = 0;
    for (int run = 0; run < 100; ++run) {
        sequential_test test;
        for (; !test.sure(); ++votes) {
            const bool won = random() % 5;
            test.add(won, !won);
        }
    }
    BOOST_TEST(votes / 100 < 60);
    sequential_test test;
    test.add(22, 0);
    BOOST_TEST(!test.sure());
    test.add(1, 0); // 1.5^23 > 10,000
    BOOST_TEST(test.sure());
    test.reset();
    BOOST_TEST(!test.sure());
}

BOOST_AUTO_TEST_SUITE_END()
