/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/blind_decisions.h"
#include "core/signal/linear_equalizer.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

using namespace gr::adann::core;
using complex = std::complex<double>;

namespace {

constexpr std::size_t count = 16384;
constexpr double noise = 0.1; // rms
const window_geometry window(1, 3, true);
// The channel has a zero at -0.4 e^{-i}: its equalizer 0.4^k e^{-ik} (-1)^k.
const complex echo = std::polar(0.4, 1.0);

struct received {
    std::vector<std::uint8_t> labels;
    std::vector<float> samples;
    feature_view view() const { return { samples.data(), 2, window.dimension(), count }; }
};

received receive(const constellation& symbols, double gain, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    double power = 0;
    for (const auto& point : symbols.points())
        power += std::norm(point) / static_cast<double>(symbols.size());
    received all;
    complex before = 0;
    std::vector<complex> samples;
    for (std::size_t i = 0; i < count + 6; ++i) {
        const auto label = static_cast<std::uint8_t>(random() % symbols.size());
        const complex sent = complex(symbols.points()[label]) / std::sqrt(power);
        const complex added =
            complex(normal(random), normal(random)) * noise / std::sqrt(2);
        const complex sample =
            std::polar(1.0, 0.7) * (gain * (sent + echo * before) + added);
        all.samples.insert(
            all.samples.end(),
            { static_cast<float>(sample.real()), static_cast<float>(sample.imag()) });
        before = sent;
        if (i >= 3 && i < count + 3)
            all.labels.push_back(label);
    }
    return all;
}

// The least mean squared error of 7 taps around the symbol: 1 - r* R^-1 r, by conjugate gradients.
double wiener()
{
    complex covariance[7][7], x[7], rest[7], step[7];
    for (int i = 0; i < 7; ++i)
        for (int j = 0; j < 7; ++j)
            covariance[i][j] = i == j       ? 1 + std::norm(echo) + noise * noise
                               : i == j + 1 ? echo
                               : j == i + 1 ? std::conj(echo)
                                            : 0;
    complex wanted[7] = { 0, 0, 0, 1, echo, 0, 0 };
    double error = 1, size = 0;
    for (int i = 0; i < 7; ++i) {
        x[i] = 0;
        rest[i] = step[i] = wanted[i];
        size += std::norm(rest[i]);
    }
    for (int turn = 0; turn < 30 && size > 1e-20; ++turn) {
        complex moved[7];
        double along = 0, next = 0;
        for (int i = 0; i < 7; ++i) {
            moved[i] = 0;
            for (int j = 0; j < 7; ++j)
                moved[i] += covariance[i][j] * step[j];
            along += (std::conj(step[i]) * moved[i]).real();
        }
        for (int i = 0; i < 7; ++i) {
            x[i] += size / along * step[i];
            rest[i] -= size / along * moved[i];
            next += std::norm(rest[i]);
        }
        for (int i = 0; i < 7; ++i)
            step[i] = rest[i] + next / size * step[i];
        size = next;
    }
    for (int i = 0; i < 7; ++i)
        error -= (std::conj(wanted[i]) * x[i]).real();
    return error;
}

} // namespace

BOOST_AUTO_TEST_SUITE(linear_equalizers)

BOOST_AUTO_TEST_CASE(known_labels_give_the_wiener_solution)
{
    const constellation symbols("16qam");
    const auto signal = receive(symbols, 1, 1);
    const auto fitted = trained_equalizer(signal.view(), symbols, signal.labels.data());
    BOOST_TEST(fitted.taps.size() == 2 * window.dimension());
    // 16384 squared errors of a circular normal variable: a deviation of 0.8 %.
    BOOST_TEST(fitted.error == wiener(), boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(without_labels_it_is_as_good_up_to_a_symmetry)
{
    for (const auto* name : { "qpsk", "8psk", "16qam", "16apsk", "32qam", "64qam" }) {
        const constellation symbols(name);
        const auto signal = receive(symbols, 1, 2);
        const auto found = blind_equalizer(signal.view(), symbols, window);
        const auto known =
            trained_equalizer(signal.view(), symbols, signal.labels.data());
        // Wrong decisions make its own error look smaller; a wrong solution leaves much more.
        BOOST_TEST(found.error < 1.1 * known.error, name << " " << found.error);
        BOOST_TEST(found.error > 0.5 * known.error, name << " " << found.error);
    }
}

// The outputs Σ w x + c are the same for x + d if c is less by Σ w d.
BOOST_AUTO_TEST_CASE(a_constant_of_the_samples_changes_nothing_but_the_constants)
{
    const complex added(0.8, -0.6);
    for (const auto* name : { "pam4", "qpsk", "16qam", "64qam" }) {
        const constellation symbols(name);
        const auto without = receive(symbols, 1, 4);
        auto with = without;
        for (std::size_t i = 0; i < with.samples.size(); i += 2) {
            with.samples[i] += static_cast<float>(added.real());
            with.samples[i + 1] += static_cast<float>(added.imag());
        }
        for (const bool is_known : { false, true }) {
            const auto fit = [&](const received& signal) {
                return is_known ? trained_equalizer(
                                      signal.view(), symbols, signal.labels.data())
                                : blind_equalizer(signal.view(), symbols, window);
            };
            const auto before = fit(without), now = fit(with);
            BOOST_TEST(now.error == before.error, boost::test_tools::tolerance(1e-4));
            for (std::size_t row = 0; row < symbols.dimensions(); ++row) {
                double sum = now.constants[row];
                for (std::size_t k = 0; k < window.dimension(); ++k)
                    sum += now.taps[row * window.dimension() + k] *
                           (k % 2 ? added.imag() : added.real());
                BOOST_TEST(std::abs(sum - before.constants[row]) < 1e-3);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(real_points_are_found_in_complex_samples_of_any_phase)
{
    const constellation symbols("pam4");
    const auto signal = receive(symbols, 1, 3);
    const auto found = blind_equalizer(signal.view(), symbols, window);
    const auto known = trained_equalizer(signal.view(), symbols, signal.labels.data());
    BOOST_TEST(found.taps.size() == window.dimension());
    BOOST_TEST(found.error < 1.1 * known.error);
}

// 512 windows of 7 taps: the labels that were sent, turned by a symmetry.
BOOST_AUTO_TEST_CASE(decisions_of_few_windows_are_right_up_to_a_symmetry)
{
    constexpr std::size_t few = 512;
    for (const auto* name : { "bpsk", "qpsk", "8psk", "16qam" }) {
        const constellation symbols(name);
        const auto signal = receive(symbols, 1, 6);
        blind_decisions decides(symbols, 7, 2, few);
        for (const std::size_t first : { 0u, 4000u }) {
            const auto* labels = decides.find(signal.view().from(first, few));
            BOOST_REQUIRE(labels);
            std::size_t most = 0;
            for (const auto& symmetry : symbols.symmetries()) {
                std::size_t alike = 0;
                for (std::size_t i = 0; i < few; ++i)
                    alike += symmetry[labels[i]] == signal.labels[first + i];
                most = std::max(most, alike);
            }
            BOOST_TEST(most > few - 8, name << " " << most);
        }
        // Noise looks like 16QAM in one of six looks.
        unsigned found = 0;
        for (unsigned seed = 4; seed < 44; ++seed)
            found +=
                decides.find(receive(symbols, 0, seed).view().from(0, few)) != nullptr;
        BOOST_TEST(found <= 20u);
    }
}

BOOST_AUTO_TEST_CASE(noise_and_silence_are_no_constellation)
{
    const constellation symbols("qpsk");
    const auto hears_nothing = [&](const received& signal) {
        blind_equalizer(signal.view(), symbols, window);
    };
    BOOST_CHECK_THROW(hears_nothing(receive(symbols, 0, 4)), eye_closed);
    auto silent = receive(symbols, 1, 5);
    std::fill(silent.samples.begin(), silent.samples.end(), 0.0f);
    BOOST_CHECK_THROW(hears_nothing(silent), eye_closed);
}

BOOST_AUTO_TEST_SUITE_END()
