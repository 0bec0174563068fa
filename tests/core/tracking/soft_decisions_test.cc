/* Posterior means of symbols, and what least squares aim at, against closed forms and told symbols.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/soft_decisions.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <random>

using namespace gr::adann::core;

namespace {

constexpr std::size_t reach = 1, margin = 4 * reach;

//! QPSK, two complex samples a symbol, of which the neighbours' pulses are part.
struct qpsk_link {
    explicit qpsk_link(float deviation) : noise(deviation), waveform(made(deviation)) {}

    static expected_waveform made(float noise)
    {
        const constellation qpsk("qpsk");
        expected_waveform waveform(qpsk, 2, true, reach, 0);
        const std::complex<float> pulse[3][2] = { { { 0.1f, 0.05f }, { 0.3f, 0 } },
                                                  { { 0.6f, -0.1f }, { 1, 0 } },
                                                  { { 0.4f, 0.2f }, {} } };
        std::vector<float> affine(waveform.rows() * waveform.stride());
        for (std::size_t place = 0; place < 3; ++place)
            for (std::size_t i = 0; i < 2; ++i) {
                const auto re = pulse[place][i], im = re * std::complex<float>(0, 1);
                float* const row = &affine[(1 + 2 * place) * waveform.stride() + 2 * i];
                row[0] = re.real(), row[1] = re.imag();
                row[waveform.stride()] = im.real(),
                row[waveform.stride() + 1] = im.imag();
            }
        waveform.set(affine, std::vector<float>(waveform.table().size()), noise);
        return waveform;
    }

    //! Decides by a slicer of each symbol's second sample.
    void receive(std::size_t n,
                 float part = 0,
                 const std::uint8_t* other = nullptr,
                 float turn = 0)
    {
        std::uniform_int_distribution<int> any(0, 3);
        std::normal_distribution<float> normal(0, noise);
        sent.resize(n + 2 * margin);
        for (auto& label : sent)
            label = static_cast<std::uint8_t>(any(random));
        samples.resize((n + 2 * reach) * waveform.stride());
        waveform.expect(&sent[margin - reach], n + 2 * reach, samples.data());
        for (float& each : samples)
            each += normal(random);
        for (std::size_t i = 0; turn != 0 && i < samples.size(); i += 2) {
            const auto y =
                std::complex<float>(samples[i], samples[i + 1]) * std::polar(1.0f, turn);
            samples[i] = y.real(), samples[i + 1] = y.imag();
        }
        if (other) {
            std::vector<float> more(samples.size());
            waveform.expect(&other[margin - reach], n + 2 * reach, more.data());
            for (std::size_t i = 0; i < samples.size(); ++i)
                samples[i] += part * more[i];
        }
        decided = sent;
        for (std::size_t k = 0; k < n + 2 * reach; ++k) {
            const float* const y = &samples[k * waveform.stride() + 2];
            std::size_t best = 0;
            for (std::size_t m = 1; m < 4; ++m)
                if (std::norm(std::complex<float>(y[0], y[1]) - qpsk.points()[m]) <
                    std::norm(std::complex<float>(y[0], y[1]) - qpsk.points()[best]))
                    best = m;
            decided[margin - reach + k] = static_cast<std::uint8_t>(best);
        }
        found.assign(n + 2 * margin, {}); // the waveform is linear
        soft.find(&decided[margin], samples.data(), n, 1, label_powers, &found[margin]);
    }

    float noise;
    std::mt19937 random{ 5 };
    const constellation qpsk{ "qpsk" };
    expected_waveform waveform;
    std::vector<std::uint8_t> sent, decided;
    std::vector<float> samples;
    std::vector<soft_decision> found;
    soft_decisions soft{ waveform, qpsk };
    label_noise label_powers{ qpsk.size() };
};

} // namespace

BOOST_AUTO_TEST_SUITE(soft_deciding)

/* In noise of one side of the carrier, as of a neighbouring channel, right decisions' estimates have the error that was
 * computed. The mean of 20,000 squares, independent in every third symbol, scatters by 0.012. */
BOOST_AUTO_TEST_CASE(estimates_know_on_which_side_the_noise_is)
{
    constexpr std::size_t n = 20'000;
    constexpr float deviation = 0.3f; // of a float of what is filtered
    const constellation qpsk("qpsk");
    for (const float side : { -0.9f, 0.9f }) {
        const std::complex<float> pulse(0, side);
        const expected_waveform white = qpsk_link::made(deviation);
        expected_waveform waveform(qpsk, 2, true, reach, 0);
        const float power = 2 * deviation * deviation;
        // E[v̄(i + d) v(i)] of v(i) = n(i) + j·side·n(i - 1): at d = 1 the conjugate of j·side
        std::vector<float> correlation(2 * waveform.lags());
        const std::size_t middle = waveform.lags() / 2;
        correlation[2 * middle] = power * (1 + std::norm(pulse));
        correlation[2 * (middle + 1) + 1] = -power * side;
        correlation[2 * (middle - 1) + 1] = power * side;
        waveform.set(white.affine(),
                     white.table(),
                     deviation * std::sqrt(1 + std::norm(pulse)),
                     correlation);
        const soft_decisions soft(waveform, qpsk);
        std::mt19937 random(9);
        std::normal_distribution<float> normal(0, deviation);
        std::vector<std::uint8_t> labels(n + 2 * margin);
        for (auto& label : labels)
            label = random() % 4;
        std::vector<float> samples((n + soft.window()) * waveform.stride());
        waveform.expect(
            &labels[margin - soft.window()], n + soft.window(), samples.data());
        std::complex<float> before;
        for (std::size_t i = 0; i < samples.size(); i += 2) {
            const std::complex<float> drawn(normal(random), normal(random));
            const auto noise = drawn + pulse * before;
            before = drawn;
            samples[i] += noise.real(), samples[i + 1] += noise.imag();
        }
        label_noise powers(qpsk.size());
        std::vector<soft_decision> found(n);
        soft.find(&labels[margin], samples.data(), n, 1, powers, found.data());
        // Interference counts as noise: its part is the estimates' response to the points around.
        double mean = 0;
        for (std::size_t k = 0; k + reach < n; ++k)
            mean += std::norm(found[k].received) / static_cast<double>(n - reach);
        BOOST_TEST(mean == soft.variance(), boost::test_tools::tolerance(0.06));
    }
}

// Without interference the posterior mean of QPSK is a hyperbolic tangent in each dimension.
BOOST_AUTO_TEST_CASE(posterior_means_are_those_of_the_closed_form)
{
    const constellation qpsk("qpsk");
    expected_waveform waveform(qpsk, 1, true, 0, 0);
    constexpr float deviation = 0.5f; // of a float
    waveform.set({ 0, 0, 1, 0, 0, 1 }, { 0, 0 }, deviation);
    const soft_decisions soft(waveform, qpsk);
    BOOST_TEST(soft.variance() == 2 * deviation * deviation,
               boost::test_tools::tolerance(1e-4f));
    const float a = std::sqrt(0.5f);
    for (const float re : { -1.3f, -0.4f, 0.0f, 0.2f, 0.9f })
        for (const float im : { -0.7f, 0.1f, 1.1f }) {
            const std::uint8_t label = 2;
            const auto point = qpsk.points()[label] / std::abs(qpsk.points()[label]);
            const float received[] = { re, im };
            soft_decision found;
            label_noise label_powers(qpsk.size());
            soft.find(&label, received, 1, 1, label_powers, &found);
            const auto tanh = [&](float y) {
                return a * std::tanh(y * a / (deviation * deviation));
            };
            const std::complex<float> mean(tanh(re), tanh(im));
            BOOST_TEST(std::abs(point + found.mean - mean) < 1e-4f);
            BOOST_TEST(std::abs(found.variance - (1 - std::norm(mean))) < 1e-4f);
        }
}

// Two levels whose noise has powers of 0.5 and 1.5, over the mean: by Bayes' rule.
BOOST_AUTO_TEST_CASE(posterior_means_know_the_noise_of_each_point)
{
    const constellation pam2("pam2");
    expected_waveform waveform(pam2, 1, false, 0, 0);
    constexpr float deviation = 0.5f;
    waveform.set({ 0, 1 }, { 0 }, deviation);
    const soft_decisions soft(waveform, pam2);
    label_noise noise(2);
    for (std::size_t i = 0; i < 1'000'000; ++i)
        noise.add(i % 2, 1, i % 2 ? 1.5f : 0.5f);
    noise.find();
    const auto points = pam2.unit_points();
    for (const float y : { -1.6f, -0.3f, 0.0f, 0.2f, 0.5f, 1.1f })
        for (const std::uint8_t label : { 0, 1 }) {
            soft_decision found;
            label_noise known = noise;
            soft.find(&label, &y, 1, 1, known, &found);
            float density[2];
            for (std::size_t m = 0; m < 2; ++m) {
                const float variance = deviation * deviation * noise.factors()[m];
                const float off = y - points[m].real();
                density[m] = std::exp(-off * off / (2 * variance)) / std::sqrt(variance);
            }
            const float mean =
                (density[0] * points[0].real() + density[1] * points[1].real()) /
                (density[0] + density[1]);
            BOOST_TEST(found.mean.real() + points[label].real() == mean,
                       boost::test_tools::tolerance(2e-3f));
        }
}

// E[x̄ (mean - sent)] = 0 for all samples x, where hard decisions are wrong in one of five, and likewise of
// what is aimed at: 50,000 symbols, five standard deviations of a complex mean, so wrongly in one of 10^10
// sets.
BOOST_AUTO_TEST_CASE(what_is_aimed_at_is_wrong_by_nothing_that_samples_explain)
{
    qpsk_link it(0.45f);
    constexpr std::size_t n = 50'000;
    it.receive(n);
    const auto unit = [&](std::uint8_t label) {
        return it.qpsk.points()[label] / std::abs(it.qpsk.points()[label]);
    };
    std::size_t errors = 0;
    double hard_worst = 0;
    const float slope = it.soft.slope(&it.found[margin], n, 1);
    for (std::ptrdiff_t lag = -2; lag <= 3; ++lag) {
        std::complex<double> hard = 0, soft = 0, aimed = 0;
        double squares = 0, aimed_squares = 0;
        for (std::size_t k = 2; k + 3 < n; ++k) {
            const std::size_t i =
                (k + reach) * 4 + 2 * static_cast<std::size_t>(lag + 2) - 4;
            const std::complex<double> x(it.samples[i], -it.samples[i + 1]);
            const std::uint8_t decided = it.decided[margin + k],
                               sent = it.sent[margin + k];
            const std::complex<double> off(unit(decided) - unit(sent));
            const auto wrong = off + std::complex<double>(it.found[margin + k].mean);
            errors += lag == 0 && decided != sent;
            hard += x * off;
            soft += x * wrong;
            squares += std::norm(x * wrong);
            const soft_decision& found = it.found[margin + k];
            const auto aim_wrong =
                off +
                std::complex<double>((found.mean - slope * found.linear) / (1 - slope));
            aimed += x * aim_wrong;
            aimed_squares += std::norm(x * aim_wrong);
        }
        BOOST_TEST(std::abs(soft) < 5 * std::sqrt(squares));
        BOOST_TEST(std::abs(aimed) < 5 * std::sqrt(aimed_squares));
        hard_worst = std::max(hard_worst, std::abs(hard) / std::sqrt(squares));
    }
    BOOST_TEST(errors > n / 7);
    BOOST_TEST(hard_worst > 20); // which the test would see
}

// Taps that let something in that has nothing to do with the symbols, as one that came before: means
// follow it in part, what is aimed at does not.
BOOST_AUTO_TEST_CASE(what_is_aimed_at_does_not_follow_the_taps)
{
    constexpr std::size_t n = 200'000;
    constexpr float part = 0.2f;
    qpsk_link it(0.45f), other(0.45f);
    other.random.seed(6);
    other.receive(n);
    it.receive(n, part, other.sent.data());
    std::vector<float> foreign(n * it.waveform.stride());
    it.waveform.expect(&other.sent[margin], n, foreign.data());
    const auto along = [&](float slope) { // of what is aimed at, in parts of the taps'
        std::vector<float> target(n * it.waveform.stride());
        it.waveform.expect(&it.decided[margin], n, target.data());
        it.soft.aim(&it.found[margin], n, slope, target.data());
        double sum = 0, power = 0;
        for (std::size_t i = 0; i < target.size(); ++i) {
            sum += double{ target[i] } * foreign[i];
            power += double{ foreign[i] } * foreign[i];
        }
        return sum / power / part;
    };
    // What has nothing to do with the symbols adds to the noise.
    const float excess = it.soft.excess(&it.found[margin], n);
    BOOST_TEST(excess > 1);
    const float slope = it.soft.slope(&it.found[margin], n, 1);
    BOOST_TEST(slope > 0.2f);
    BOOST_TEST(along(0) > 0.7 * slope / (1 + it.soft.variance()));
    BOOST_TEST(std::abs(along(slope)) < slope / 4);
}

// A turn shows in what is aimed at as it is, to a tenth, where one decision of five is wrong, and by a third
// less or more in means alone: of 400,000 symbols the phase deviates by some 0.002.
BOOST_AUTO_TEST_CASE(a_turn_is_measured_as_it_is)
{
    constexpr std::size_t n = 400'000;
    constexpr float by = 0.05f;
    qpsk_link it(0.45f);
    it.receive(n, 0, nullptr, by);
    const auto turned = [&](float slope) {
        std::vector<float> target(n * it.waveform.stride());
        it.waveform.expect(&it.decided[margin], n, target.data());
        it.soft.aim(&it.found[margin], n, slope, target.data());
        std::complex<double> sum = 0;
        for (std::size_t i = 0; i < target.size(); i += 2) {
            const float* const y = &it.samples[reach * it.waveform.stride() + i];
            sum += std::complex<double>(target[i], -target[i + 1]) *
                   std::complex<double>(y[0], y[1]);
        }
        return std::arg(sum);
    };
    const float slope = it.soft.turning(&it.found[margin], n);
    BOOST_TEST(slope > 0.3f);
    BOOST_TEST(turned(slope) == by, boost::test_tools::tolerance(0.1));
    BOOST_TEST(turned(0) < 0.7 * by);
}

// In the mean over 50,000 symbols, within five standard deviations: a |z - P|² deviates by half its mean.
BOOST_AUTO_TEST_CASE(the_noise_is_found_with_decisions_wrong)
{
    for (const float noise : { 0.2f, 0.45f }) {
        constexpr std::size_t n = 50'000;
        qpsk_link it(noise);
        it.receive(n);
        BOOST_TEST(it.soft.excess(&it.found[margin], n) == 1,
                   boost::test_tools::tolerance(0.02f));
    }
}

BOOST_AUTO_TEST_CASE(sure_decisions_stay_as_they_are)
{
    qpsk_link it(0.02f);
    it.receive(1000);
    std::vector<float> target(1000 * it.waveform.stride());
    it.waveform.expect(&it.decided[margin], 1000, target.data());
    const auto before = target;
    it.soft.aim(&it.found[margin], 1000, 0, target.data());
    BOOST_TEST((target == before));
    BOOST_TEST(it.soft.slope(&it.found[margin], 1000, 1) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
