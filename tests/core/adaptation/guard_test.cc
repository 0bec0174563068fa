/* The error rate estimated without labels, and the guard that decides by it.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/guard.h"
#include "receivers.h"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <random>

using namespace gr::adann::core;

namespace {

// Random labels, and posteriors that give them all but `uncertainty`.
struct decisions {
    decisions(std::size_t n, std::size_t classes, float uncertainty, unsigned seed)
        : labels(n), posteriors(n * classes)
    {
        std::mt19937 random(seed);
        for (auto& label : labels)
            label = random() % classes;
        sharpen(uncertainty);
    }
    void sharpen(float uncertainty)
    {
        const std::size_t classes = posteriors.size() / labels.size();
        for (std::size_t t = 0; t < labels.size(); ++t)
            for (std::size_t j = 0; j < classes; ++j)
                posteriors[t * classes + j] =
                    j == labels[t] ? 1 - uncertainty : uncertainty / (classes - 1);
    }
    void give(error_estimate& to, std::size_t tile = 128) const
    {
        const std::size_t classes = posteriors.size() / labels.size();
        for (std::size_t t = 0; t + tile <= labels.size(); t += tile)
            to.add(&labels[t], &posteriors[t * classes], tile);
    }
    std::vector<std::uint8_t> labels;
    std::vector<float> posteriors;
};

} // namespace

BOOST_AUTO_TEST_SUITE(estimating_errors)

BOOST_AUTO_TEST_CASE(on_random_data_the_estimate_is_the_mean_uncertainty)
{
    // A ring has no parts, so that its patterns do not count.
    std::vector<std::complex<float>> ring;
    for (unsigned l = 0; l < 16; ++l)
        ring.push_back(std::polar(1.0f, 0.392699f * l));
    std::vector<constellation> all{ constellation(ring) };
    for (const auto& name : constellation::names())
        all.emplace_back(name);
    for (const auto& symbols : all) {
        const std::size_t classes = symbols.size();
        error_estimate estimate(symbols, true);
        BOOST_TEST(estimate.symbol_error_rate() == 1.0);
        BOOST_TEST((estimate.distrusted() == distrust::few_symbols));
        decisions(6 * 1024, classes, 0.01f, 5).give(estimate);
        BOOST_TEST(estimate.symbol_error_rate() == 0.01,
                   boost::test_tools::tolerance(1e-4));
        BOOST_TEST((estimate.distrusted() == distrust::none));
        decisions(6 * 1024, classes, 0.05f, 6).give(estimate);
        BOOST_TEST((estimate.distrusted() == distrust::many_errors));
    }
}

BOOST_AUTO_TEST_CASE(the_score_of_random_data_is_zero_on_average)
{
    // Its deviation with 192 degrees of freedom and n symbols is sqrt(192 / 2) / n, and
    // 1.16 times that because contexts overlap (400 simulated records). The mean of 50 is
    // within 5 of its own deviations but for 6e-7.
    const double deviation = 1.16 * std::sqrt(192 / 2.0) / 6144;
    double sum = 0;
    for (unsigned seed = 0; seed < 50; ++seed) {
        error_estimate estimate(constellation("pam4"), true);
        decisions(6144, 4, 0.0f, seed).give(estimate, 6144);
        sum += estimate.pattern_score();
    }
    BOOST_TEST(std::abs(sum / 50) < 5 * deviation / std::sqrt(50));
}

BOOST_AUTO_TEST_CASE(a_symbol_that_follows_from_its_neighbours_scores_ln_4)
{
    decisions stuck(6144, 4, 0.0f, 5);
    for (std::size_t t = 1; t < stuck.labels.size(); ++t)
        stuck.labels[t] = (stuck.labels[t - 1] + 1) % 4;
    stuck.sharpen(0);
    error_estimate estimate(constellation("pam4"), true),
        unscrambled(constellation("pam4"), false);
    stuck.give(estimate, 6144);
    stuck.give(unscrambled, 6144);
    BOOST_TEST(estimate.pattern_score() == std::log(4.0),
               boost::test_tools::tolerance(0.01));
    BOOST_TEST(estimate.symbol_error_rate() == 1.0);
    BOOST_TEST((estimate.distrusted() == distrust::patterns));
    BOOST_TEST(unscrambled.symbol_error_rate() == 0.0);
}

// Its symbols are fewer than they seem, and what is chance in them counts several times.
BOOST_AUTO_TEST_CASE(a_record_that_repeats_has_patterns_and_is_not_trusted)
{
    constexpr float uncertainty = 2.8e-4f;
    const decisions record(4096, 4, uncertainty, 9);
    error_estimate repeated(constellation("pam4"), true);
    for (unsigned times = 0; times < 8; ++times)
        record.give(repeated);
    BOOST_TEST(repeated.pattern_errors() > 10 * uncertainty);
    BOOST_TEST((repeated.distrusted() == distrust::patterns));
    BOOST_TEST(repeated.symbol_error_rate() - repeated.pattern_errors() == uncertainty,
               boost::test_tools::tolerance(0.001));

    error_estimate once(constellation("pam4"), true);
    decisions(4 * 8192, 4, uncertainty, 9).give(once);
    BOOST_TEST((once.distrusted() == distrust::none));
    BOOST_TEST(once.pattern_errors() == 0.0);
}

BOOST_AUTO_TEST_CASE(a_dead_branch_and_a_class_that_vanished_are_not_trusted)
{
    const constellation qam16("16qam");
    decisions sent(8192, 16, 0.001f, 3);
    error_estimate good(qam16, true);
    sent.give(good);
    BOOST_TEST((good.distrusted() == distrust::none));
    // Q shows what I does; then label 5 is decided as label 4.
    decisions dead = sent, vanished = sent;
    for (auto& label : dead.labels)
        label = label >> 2 << 2 | label >> 2;
    for (auto& label : vanished.labels)
        label = label == 5 ? 4 : label;
    for (auto* each : { &dead, &vanished }) {
        each->sharpen(0.001f);
        error_estimate estimate(qam16, true);
        each->give(estimate);
        BOOST_TEST((estimate.distrusted() == distrust::labels));
    }
}

BOOST_AUTO_TEST_CASE(noise_on_one_axis_alone_is_not_trusted)
{
    for (const bool both : { false, true }) {
        decisions d(8192, 4, 0.0f, 4);
        for (std::size_t t = 0; t < d.labels.size(); ++t) {
            // Each bit of QPSK is wrong with a probability of its own.
            const float wrong[2] = { 0.008f, both ? 0.008f : 0.0001f };
            for (std::size_t label = 0; label < 4; ++label) {
                const auto differ = label ^ d.labels[t];
                d.posteriors[4 * t + label] = (differ & 2 ? wrong[0] : 1 - wrong[0]) *
                                              (differ & 1 ? wrong[1] : 1 - wrong[1]);
            }
        }
        error_estimate estimate(constellation("qpsk"), true);
        d.give(estimate);
        BOOST_TEST((estimate.distrusted() == (both ? distrust::none : distrust::axes)));
    }
}

BOOST_AUTO_TEST_CASE(a_change_is_seen_and_the_past_forgotten)
{
    error_estimate estimate(constellation("pam4"), true);
    decisions(8192, 4, 0.05f, 1).give(estimate);
    BOOST_TEST(!estimate.changed());
    decisions(512, 4, 0.0005f, 2).give(estimate);
    BOOST_TEST(estimate.changed());
    estimate.keep_latest();
    BOOST_TEST(estimate.symbols() == 512);
    BOOST_TEST(estimate.symbol_error_rate() == 0.0005,
               boost::test_tools::tolerance(1e-3));
}

// What was decided before the signal was known again, nobody has estimated. In a third of the draws the estimate is
// not trusted at all: of 16 three are, but for once in 1e6.
BOOST_AUTO_TEST_CASE(behind_a_jump_refined_labels_are_trusted_once_all_latest_ones_were)
{
    constexpr std::size_t batch = 512, before = 60, all = 124; // batches
    constexpr std::size_t margin = 44;                         // of windows
    int trusted = 0;
    for (unsigned seed = 1; seed <= 16; ++seed) {
        std::mt19937 random(seed);
        std::normal_distribution<float> noise(0, 0.1f);
        std::vector<float> held(4 * batch * all + margin), samples(held);
        for (std::size_t i = 0; i < held.size(); ++i) {
            held[i] = i % 4 ? held[i - 1] : (2.0f * (random() & 3) - 3) / std::sqrt(5.0f);
            const float echo = i < 4 * batch * before ? 0.12f : -0.12f;
            samples[i] = held[i] + (i < 6 ? 0 : echo * held[i - 6]) + noise(random);
        }
        model sharp = make_followed_receiver();
        sharp.temperature = sharp.adapted_temperature = 0.1f;
        sharp.refined_errors_per_doubt = 1;
        guard watching(sharp, true, 1, batch);
        std::size_t changes = 0, since = 0; // symbols
        bool is_trusted = false;
        for (std::size_t i = 0; i < all; ++i) {
            watching.judge({ &samples[4 * batch * i], 4, margin, batch }, sharp.net);
            changes += watching.changed();
            since = watching.changed() ? 0 : since + batch;
            BOOST_TEST(watching.changed() == (i == before));
            const bool is_now = watching.refined_distrusted() == distrust::none;
            BOOST_TEST((since >= 16'384 || !is_now));
            // Half of the symbols are looked at, but for those near a batch's ends; which, is random.
            is_trusted = is_trusted || (i > before && since < 16'384 + 12'288 && is_now);
        }
        BOOST_TEST(changes == 1u);
        trusted += is_trusted;
    }
    BOOST_TEST(trusted >= 3);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(guarding_by_estimates, noisy_signal)

// The uncertainty of a slicer of noise is as its transitions are wide: 1 over the sharpness.
BOOST_AUTO_TEST_CASE(the_adaptive_network_decides_unless_it_errs_twice_as_often)
{
    for (const auto& [sharpness, decides] : { std::pair{ 80.0f, guard::adaptive },
                                              std::pair{ 30.0f, guard::adaptive },
                                              std::pair{ 10.0f, guard::offline } }) {
        const model offline = make_receiver(40), adapting = make_receiver(sharpness);
        guard watching(offline, true, 1);
        BOOST_TEST(watching.in_use() == guard::offline);
        for (int i = 0; i < 40; ++i)
            BOOST_TEST(!watching.judge(next(), adapting.net));
        BOOST_TEST(watching.in_use() == decides);
        if (decides == guard::adaptive)
            BOOST_TEST(&watching.choose(adapting.net) == &adapting.net);
    }
}

BOOST_AUTO_TEST_CASE(one_that_is_certain_of_patterns_that_cannot_be_does_not)
{
    const model offline = make_receiver(40), wrong = make_receiver(4000, 1.0f);
    guard watching(offline, true, 1);
    for (int i = 0; i < 100; ++i)
        BOOST_TEST(!watching.judge(next(), wrong.net));
    BOOST_TEST(watching.in_use() == guard::offline);
    BOOST_TEST(watching.choose(wrong.net).parameters() == offline.net.parameters(),
               boost::test_tools::per_element());
    BOOST_TEST(watching.estimate(guard::last_good).symbol_error_rate() ==
               watching.estimate(guard::offline).symbol_error_rate());
}

BOOST_AUTO_TEST_CASE(after_a_pause_nothing_is_known)
{
    const model offline = make_receiver(8), good = make_receiver(1000);
    guard watching(offline, true, 1);
    for (int i = 0; i < 100; ++i)
        watching.judge(next(), good.net);
    BOOST_TEST(watching.in_use() == guard::adaptive);
    watching.restart_estimates();
    BOOST_TEST(watching.in_use() == guard::last_good);
    for (const auto which : { guard::offline, guard::adaptive, guard::last_good })
        BOOST_TEST(watching.estimate(which).symbols() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

// Rectangles of four samples in noise: the network that adds no echo decides them well.
struct rectangles : noisy_signal {
    rectangles()
    {
        std::mt19937 random(2);
        for (std::size_t i = 0; i < samples.size(); i += 4) {
            const float level = (2.0f * (random() & 3) - 3) / std::sqrt(5.0f);
            for (std::size_t k = i; k < std::min(i + 4, samples.size()); ++k)
                samples[k] = level + 0.15f * samples[k];
        }
    }
    static network with_echo(float echo)
    {
        return make_receiver(8, echo, 2 / std::sqrt(5.0f)).net;
    }
    model offline = make_followed_receiver();
    const network good = with_echo(0), bad = with_echo(0.3f);
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(guarding_by_the_expected_waveform, rectangles)

BOOST_AUTO_TEST_CASE(what_explains_the_samples_decides_and_is_kept)
{
    offline.net = bad;
    guard watching(offline, true, 1, batch);
    for (int i = 0; i < 50; ++i)
        BOOST_TEST(!watching.judge(next(), good));
    BOOST_TEST(watching.in_use() == guard::adaptive);
    for (int i = 0; i < 20; ++i)
        watching.judge(next(), bad);
    BOOST_TEST(watching.in_use() == guard::last_good);
    watching.restart_estimates();
    BOOST_TEST(watching.in_use() == guard::last_good);
    BOOST_TEST(watching.choose(bad).parameters() == good.parameters(),
               boost::test_tools::per_element());
    watching.reset();
    BOOST_TEST(watching.in_use() == guard::offline);
}

// Of all symbols, also of those between the batches that are looked at.
BOOST_AUTO_TEST_CASE(that_the_signal_has_changed_lasts_65536_symbols)
{
    for (const std::size_t apart : { 1, 4, 10 }) {
        guard watching(offline, true, 1, batch);
        for (int pauses = 0; pauses < 2; ++pauses)
            watching.restart_estimates();
        for (int i = 0; i < 20; ++i)
            watching.judge(next(), offline.net, apart);
        tensor_file saved;
        archive to = archive::saving(saved, "all");
        to("guard", watching);
        double changes = 0;
        archive::restoring(saved, "all.guard")("changes", changes);
        BOOST_TEST(changes == 2 * std::exp(-20.0 * batch * apart / 65536),
                   boost::test_tools::tolerance(1e-9));
    }
}

// Of the estimate of the network's decisions and of that of refined ones.
BOOST_AUTO_TEST_CASE(the_first_condition_that_does_not_hold_is_named)
{
    using reasons = std::array<distrust, 2>;
    const auto all = [](distrust one) { return reasons{ one, one }; };
    offline.temperature = offline.adapted_temperature = 0.1f;
    offline.refined_errors_per_doubt = 1;
    const auto why = [&](int batches, int pauses = 0, const missed_errors& missed = {}) {
        guard watching(offline, true, 1, batch);
        for (int i = 0; i < pauses; ++i)
            watching.restart_estimates();
        for (count = 0; count < static_cast<std::size_t>(batches);)
            watching.judge(next(), offline.net);
        return reasons{ watching.distrusted(missed),
                        watching.refined_distrusted(missed) };
    };
    BOOST_TEST((why(2) == all(distrust::few_symbols)));
    BOOST_TEST((why(60) == all(distrust::none)));
    BOOST_TEST((why(30, 2) == all(distrust::changes)));
    BOOST_TEST((why(60, 0, { 0, 0.1 }) == all(distrust::cycle_slips)));
    BOOST_TEST((why(60, 0, { 0.1, 0 }) == all(distrust::scattered_noise)));
    offline.refined_errors_per_doubt = 4;
    BOOST_TEST((why(60) == reasons{ distrust::none, distrust::not_calibrated }));
    offline.refined_errors_per_doubt = 1;
    offline.calibrated = false;
    BOOST_TEST((why(60) == all(distrust::not_calibrated)));
    offline.calibrated = true;
    expected_waveform waveform = *offline.waveform;
    waveform.set(waveform.affine(), waveform.table(), 0.05f); // a third of the noise
    offline.set_waveform(waveform);
    BOOST_TEST((why(60) == all(distrust::large_residual)));
}

BOOST_AUTO_TEST_CASE(training_starts_over_from_what_explains_them_better)
{
    offline.net = good;
    guard watching(offline, true, 1, batch);
    std::size_t batches = 0;
    while (!watching.judge(next(), bad))
        BOOST_REQUIRE(++batches < 20);
    BOOST_TEST(watching.in_use() == guard::offline);
}

// Where a waveform leaves twice what it was trained to, as well.
BOOST_AUTO_TEST_CASE(and_so_it_is_where_the_waveform_does_not_explain_what_is_decided)
{
    expected_waveform waveform = *offline.waveform;
    waveform.set(waveform.affine(), waveform.table(), 0.05f); // a third of the noise
    offline.set_waveform(waveform);
    offline.net = bad;
    guard watching(offline, true, 1, batch);
    for (int i = 0; i < 50; ++i)
        watching.judge(next(), good);
    BOOST_TEST(!watching.explained());
    BOOST_TEST(watching.in_use() == guard::adaptive);
    BOOST_REQUIRE(watching.refined());
}

// Half the distance of PAM4's neighbours is 1/√5 of the rms: residuals count up to a noise of 0.8 of that.
BOOST_AUTO_TEST_CASE(residuals_show_nothing_where_the_training_was_noisy)
{
    expected_waveform waveform = *offline.waveform;
    const float half = std::sqrt(waveform.power() / 5);
    offline.net = bad;
    for (const float part : { 0.75f, 0.85f }) {
        waveform.set(waveform.affine(), waveform.table(), part * half);
        offline.set_waveform(waveform);
        guard watching(offline, true, 1, batch);
        for (int i = 0; i < 50; ++i)
            BOOST_TEST(!watching.judge(next(), good));
        BOOST_TEST(watching.in_use() == (part < 0.8f ? guard::adaptive : guard::offline));
    }
}

/* A sender whose highest level has come nearer, in so much noise that the residual is twice that of the
 * training from the beginning. Of 96,000 symbols a threshold in the middle of the present levels has 74 errors, and
 * labels by a waveform that did not follow had 490. */
BOOST_AUTO_TEST_CASE(a_waveform_follows_mostly_right_decisions_also_where_it_leaves_much)
{
    constexpr float deviation = 0.17f, highest = 0.95f;
    const auto points = offline.symbols.unit_points();
    gaussian_noise(3).fill(samples.data(), samples.size());
    std::mt19937 random(4);
    std::vector<std::uint8_t> sent(samples.size() / 4);
    for (std::size_t k = 0; k < sent.size(); ++k) {
        sent[k] = random() & 3;
        const float level = std::min(points[sent[k]].real(), highest);
        for (std::size_t i = 4 * k; i < 4 * k + 4; ++i)
            samples[i] = level + deviation * samples[i];
    }
    expected_waveform waveform(offline.symbols, 4, false, 1, 1); // with a table of levels
    waveform.set(offline.waveform->affine(),
                 std::vector<float>(waveform.table().size()),
                 deviation / 2);
    offline.set_waveform(waveform);
    offline.net = good;
    guard watching(offline, true, 1, batch);
    const auto errors =
        [&](int batches) { // of refined labels away from the batches' ends
            std::size_t wrong = 0;
            for (int i = 0; i < batches; ++i) {
                const std::size_t first =
                    batch * (count % 200) + 5; // the middle of its window
                watching.judge(next(), good);
                for (std::size_t k = 16; watching.refined() && k < batch - 16; ++k)
                    wrong += watching.refined()[k] != sent[first + k];
            }
            return wrong;
        };
    errors(160);
    BOOST_TEST(!watching.explained());
    const std::size_t wrong = errors(200);
    BOOST_TEST_MESSAGE("errors: " << wrong);
    BOOST_TEST(wrong < 300u);
}

BOOST_AUTO_TEST_SUITE_END()
