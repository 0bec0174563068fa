/* Trials of blind starts beside one that decides.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/start_trials.h"
#include "receivers.h"

#include <boost/test/unit_test.hpp>

using namespace gr::adann::core;

namespace {

constexpr std::size_t batch = 512, sps = 4;

// followed_signal(), PAM4 behind an echo; its windows are of 44 samples.
struct signal {
    explicit signal(std::size_t symbols) : samples(followed_signal(sps * symbols + 44))
    {
        std::mt19937 random(1); // followed_signal()'s
        for (std::size_t i = 0; i < symbols + 11; ++i) {
            const unsigned rank = random() & 3;
            sent.push_back(rank ^ (rank >> 1));
        }
    }
    feature_view batch_at(std::size_t first) const
    {
        return { &samples[sps * first], sps, 44, batch };
    }
    std::vector<float> samples;
    std::vector<std::uint8_t> sent; // that of window i is the label 5 behind it
};

struct outcome {
    bool found = false;
    std::string told;
    std::size_t tried = 0, first = 0, last = 0; // symbols, and when
};

//! \param wrong part of the labels in use, drawn at random
outcome run(const signal& of, double wrong, float residual, std::size_t symbols)
{
    start_trials trials(blind_start("pam4", sps, 5, false, 1));
    std::mt19937 random(3);
    std::bernoulli_distribution is_wrong(wrong);
    outcome what;
    for (std::size_t at = 0; at < symbols && !what.found; at += batch) {
        if (!trials.tries()) {
            trials.pass(batch, !trials.explains(residual));
            continue;
        }
        std::vector<std::uint8_t> labels(of.sent.begin() + at + 5,
                                         of.sent.begin() + at + 5 + batch);
        for (auto& label : labels)
            if (is_wrong(random))
                label = (label + 1 + random() % 3) & 3;
        what.first = what.tried ? what.first : at;
        what.last = at + batch;
        what.tried += batch;
        what.told =
            trials.take(of.batch_at(at), labels.data(), true, [] { return true; });
        what.found = trials.done();
    }
    return what;
}

} // namespace

BOOST_AUTO_TEST_SUITE(trials_of_starts)

BOOST_AUTO_TEST_CASE(a_trial_that_was_given_up_begins_again_after_a_pause)
{
    const signal link(60'000);
    start_trials trials(blind_start("pam4", sps, 5, false, 1));
    const std::vector<std::uint8_t> labels(batch);
    std::size_t passed = 0;
    for (std::size_t again = 0; again < 3; ++again, passed = 0) {
        for (; !trials.tries(); passed += batch)
            trials.pass(batch, true);
        BOOST_TEST(passed == blind_start::first_look);
        trials.take(link.batch_at(0), labels.data(), true, [] { return true; });
        BOOST_TEST(trials.tries());
        trials.give_up();
        BOOST_TEST(!trials.tries());
    }
}

BOOST_AUTO_TEST_CASE(labels_that_explain_less_are_left)
{
    const signal link(60'000);
    for (const double wrong : { 0.17, 0.5, 1.0 }) {
        const outcome what = run(link, wrong, 1, 50'000);
        BOOST_TEST(what.found);
        BOOST_TEST(what.first == blind_start::first_look);
        BOOST_TEST(what.tried == blind_start::symbols);
        BOOST_TEST(what.told.find("started again, the residual of its labels") == 0,
                   what.told);
    }
}

BOOST_AUTO_TEST_CASE(labels_that_are_right_are_kept_and_tried_more_and_more_rarely)
{
    const signal link(150'000);
    for (const double wrong : { 0.0, 0.005 }) {
        const outcome what = run(link, wrong, 1, 140'000);
        BOOST_TEST(!what.found);
        // Left alone for 4096 symbols, and after each look for 4096, 8192, 16384, 32768.
        BOOST_TEST(what.tried == 5 * blind_start::first_look);
    }
}

BOOST_AUTO_TEST_CASE(nothing_is_tried_while_the_residual_explains_the_signal)
{
    const signal link(30'000);
    // PAM4's levels are 0.89 apart, in units of the rms: 3.1 deviations of -16.8 dB to each side.
    BOOST_TEST(run(link, 1, 0.0205f, 30'000).tried == 0);
    BOOST_TEST(run(link, 1, 0.0212f, 30'000).tried > 0);
    BOOST_TEST(run(link, 1, std::nanf(""), 30'000).tried > 0);
}

BOOST_AUTO_TEST_SUITE_END()
