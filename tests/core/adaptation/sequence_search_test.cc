/* Labels that only change together.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/sequence_search.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <random>

using namespace gr::adann::core;

namespace {

/* Duobinary PAM2: a sample is the sum of its symbol's point and of the one before. Where labels alternate, inverting a
 * run of them changes the samples at its two ends only, however long it is. */
struct duobinary {
    static constexpr std::size_t symbols = 96, first = 44, run = 6, reach = 2;

    duobinary() : waveform(made(pam2)), descent(pam2, waveform)
    {
        std::mt19937 random(3);
        for (auto& label : sent)
            label = random() % 2;
        for (std::size_t i = 0; i < run + 2; ++i)
            sent[first - 1 + i] = i % 2;
        std::normal_distribution<float> noise(0, 0.1f);
        samples = expected(sent);
        for (float& sample : samples)
            sample += noise(random);
        labels = sent;
        for (std::size_t i = first; i < first + run; ++i)
            labels[i] ^= 1;
        white = rest(labels);

        refinement signal(waveform);
        signal.known = true;
        signal.number = 1;
        signal.taps[signal.taps.size() / 2 - 1] = signal.whitening[0] = 1;
        signal.power = signal.power_along = 0.4f; // a single change is 1e-4 as likely
        descent.use(signal);
    }
    static expected_waveform made(const constellation& symbols)
    {
        expected_waveform found(symbols, 1, false, reach, reach);
        std::vector<float> affine(found.affine().size());
        affine[1 + reach - 1] = affine[1 + reach] = 1; // after the constant
        found.set(affine, std::vector<float>(found.table().size()), 0.1f, {});
        return found;
    }
    std::vector<float> expected(const std::vector<std::uint8_t>& of) const
    {
        std::vector<float> found(symbols);
        const auto point = [&](std::size_t i) {
            return pam2.unit_points()[of[i]].real();
        };
        for (std::size_t i = 1; i < symbols; ++i)
            found[i] = point(i) + point(i - 1);
        return found;
    }
    std::vector<float> rest(const std::vector<std::uint8_t>& of) const
    {
        auto found = expected(of);
        std::transform(
            samples.begin(), samples.end(), found.begin(), found.begin(), std::minus<>());
        return found;
    }
    label_descent::stretch all()
    {
        return { labels.data(), symbols, white.data(), 0, symbols };
    }

    const constellation pam2{ "pam2" };
    expected_waveform waveform;
    label_descent descent;
    std::vector<std::uint8_t> sent = std::vector<std::uint8_t>(symbols), labels;
    std::vector<float> samples, white;
};

} // namespace

BOOST_AUTO_TEST_SUITE(searching_sequences)

BOOST_AUTO_TEST_CASE(a_run_that_no_single_label_and_no_pair_mends_is_found)
{
    duobinary link;
    const std::size_t begin = 16, end = 80; // whole responses
    for (std::size_t i = begin; i < end; ++i)
        link.descent.visit(link.all(), i);
    // A single label moves an end of the run at best.
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < link.symbols; ++i)
        wrong += link.labels[i] != link.sent[i];
    BOOST_TEST(wrong >= link.run - 2);

    sequence_search search(link.pam2);
    search.use(link.descent);
    BOOST_TEST(search.is_coupled());
    std::size_t from = 0, to = 0;
    const auto changed =
        search.visit(link.descent, link.all(), 16, [&](auto one, auto other) {
            from = one;
            to = other;
        });
    BOOST_TEST(changed == wrong);
    BOOST_TEST(to - from + 1 == wrong);
    BOOST_TEST(link.labels == link.sent, boost::test_tools::per_element());
    const auto right = link.rest(link.sent);
    for (std::size_t i = begin; i < end; ++i)
        BOOST_TEST(std::abs(link.white[i] - right[i]) < 1e-4f);
    BOOST_TEST(search.visit(link.descent, link.all(), 16, [](auto, auto) {}) == 0u);
}

// Without interference the nearest points are the likeliest. Only the likeliest path is followed there, whose
// probability is 1 but for rounding.
BOOST_AUTO_TEST_CASE(wrong_labels_in_a_row_are_found_without_interference)
{
    const constellation qpsk("qpsk");
    constexpr std::size_t symbols = 96, reach = 2, first = 40;
    expected_waveform waveform(qpsk, 1, true, reach, 0);
    std::vector<float> affine(waveform.affine().size());
    affine[2 + 2 * 2 * reach] = affine[2 + 2 * 2 * reach + 3] =
        1; // I and Q of the symbol's own point
    waveform.set(affine, std::vector<float>(waveform.table().size()), 0.1f, {});
    label_descent descent(qpsk, waveform);
    refinement signal(waveform);
    signal.known = true;
    signal.number = 1;
    signal.taps[signal.taps.size() / 2 - 1] = signal.whitening[0] = 1;
    signal.power = signal.power_along = 0.18f;
    descent.use(signal);
    sequence_search search(qpsk);
    search.use(descent);
    BOOST_TEST(!search.is_coupled());
    std::mt19937 random(5);
    std::normal_distribution<float> noise(0, 0.3f);
    for (unsigned draw = 0; draw < 200; ++draw) {
        std::vector<std::uint8_t> nearest(symbols), labels;
        std::vector<std::complex<float>> samples(symbols);
        for (std::size_t i = 0; i < symbols; ++i) {
            samples[i] = qpsk.unit_points()[random() % 4] +
                         std::complex<float>(noise(random), noise(random));
            const auto& points = qpsk.unit_points();
            const auto nearer = [&](auto one, auto other) {
                return std::abs(one - samples[i]) < std::abs(other - samples[i]);
            };
            nearest[i] = static_cast<std::uint8_t>(
                std::min_element(points.begin(), points.end(), nearer) - points.begin());
        }
        labels = nearest;
        for (std::size_t i = first; i < first + 3; ++i)
            labels[i] = qpsk.neighbours(labels[i])[random() % 2];
        std::vector<float> white;
        for (std::size_t i = 0; i < symbols; ++i) {
            const auto rest = samples[i] - qpsk.unit_points()[labels[i]];
            white.insert(white.end(), { rest.real(), rest.imag() });
        }
        search.visit(descent,
                     { labels.data(), symbols, white.data(), 0, symbols },
                     16,
                     [](auto, auto) {});
        BOOST_TEST(labels == nearest, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_sequence_that_gains_nothing_changes_nothing)
{
    duobinary link;
    link.labels = link.sent;
    link.white = link.rest(link.sent);
    const auto labels = link.labels;
    const auto white = link.white;
    std::vector<label_descent::choice> choices;
    for (std::size_t i = duobinary::first; i < duobinary::first + duobinary::run; ++i)
        choices.push_back({ i, static_cast<std::uint8_t>(link.sent[i] ^ 1) });
    BOOST_TEST(!link.descent.try_sequence(link.all(), choices.data(), choices.size()));
    BOOST_TEST(link.labels == labels, boost::test_tools::per_element());
    BOOST_TEST(link.white == white, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
