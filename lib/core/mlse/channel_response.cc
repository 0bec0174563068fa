/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/mlse/channel_response.h"

#include "core/common/checks.h"
#include "core/common/cholesky.h"
#include "core/signal/windows.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

// The square of such a level, summed over a traceback, stays finite.
constexpr float largest_level = 1e8f;

std::complex<float> sample(const float* symbol, std::size_t phase, bool complex)
{
    return complex ? std::complex<float>(symbol[2 * phase], symbol[2 * phase + 1])
                   : symbol[phase];
}

using matrix = std::vector<std::complex<double>>;

} // namespace

bool usable(const float* samples, std::size_t floats)
{
    return all_usable(samples, floats, largest_level);
}

channel_model::channel_model(const constellation& alphabet_,
                             unsigned sps_,
                             unsigned memory_,
                             bool complex_)
    : alphabet(alphabet_), sps(sps_), memory(memory_), complex(complex_)
{
    check_range("sps", sps_, 1u, 64u);
    check_range("memory", memory_, 1u, 64u);
    if (alphabet.is_complex() && !complex)
        refuse("constellation",
               alphabet.name() + " with float samples",
               "real points such as pam4, or complex samples");
}

void channel_model::check(const response_taps& taps) const
{
    if (taps.size() != sps * memory)
        refuse("response",
               std::to_string(taps.size()) + " taps",
               "sps x memory = " + std::to_string(sps) + " x " + std::to_string(memory));
    for (const auto& tap : taps) {
        if (!(std::abs(tap) <= largest_level))
            refuse("a tap of the response", tap, "finite numbers up to 1e8");
        if (!complex && tap.imag() != 0)
            refuse("a tap of the response", tap, "real numbers for float samples");
    }
}

response_taps channel_model::linear_interpolation() const
{
    float power = 0;
    for (const auto& point : alphabet.points())
        power += std::norm(point) / alphabet.size();
    response_taps taps(sps * memory);
    const std::size_t middle = sps / 2;
    for (std::size_t p = 0; p < sps; ++p)
        for (std::size_t k = 0; k < memory; ++k) {
            // Distance from the sample to the middle of the tap's symbol, in symbols.
            const float distance =
                (float(p) - float(middle)) / sps - float(ahead()) + float(k);
            taps[p * memory + k] =
                std::max(0.0f, 1 - std::abs(distance)) / std::sqrt(power);
        }
    return taps;
}

response_taps channel_model::least_squares(const float* samples,
                                           const std::uint8_t* labels,
                                           std::size_t symbols) const
{
    for (std::size_t i = 0; i < symbols; ++i)
        check_range<unsigned>("a label", labels[i], 0, alphabet.size() - 1);
    matrix gram(memory * memory), moments(memory * sps);
    std::vector<std::complex<double>> a(memory);
    for (std::size_t i = memory - 1 - ahead(); i + ahead() < symbols; ++i) {
        const float* x = samples + i * floats();
        if (!usable(x, floats()))
            continue;
        for (std::size_t k = 0; k < memory; ++k)
            a[k] = alphabet.points()[labels[i + ahead() - k]];
        for (std::size_t row = 0; row < memory; ++row) {
            for (std::size_t column = 0; column <= row; ++column)
                gram[row * memory + column] += std::conj(a[row]) * a[column];
            for (std::size_t p = 0; p < sps; ++p)
                moments[row * sps + p] +=
                    std::conj(a[row]) * std::complex<double>(sample(x, p, complex));
        }
    }
    if (!solve(gram, memory, moments, sps))
        refuse("training",
               std::to_string(symbols) + " symbols",
               "enough, of enough variety, to determine " + std::to_string(memory) +
                   " taps");
    response_taps taps(sps * memory);
    for (std::size_t p = 0; p < sps; ++p)
        for (std::size_t k = 0; k < memory; ++k)
            taps[p * memory + k] = std::complex<float>(moments[k * sps + p]);
    return taps;
}

lms_tracker::lms_tracker(const channel_model& channel, const response_taps& taps)
    : d_channel(channel), d_taps(taps), d_symbols(channel.memory), d_errors(channel.sps)
{
}

void lms_tracker::update(const float* samples,
                         const std::uint8_t* newest,
                         float step,
                         bool decided)
{
    const std::size_t memory = d_channel.memory;
    float norm = 0, power = 0, expected_power = 0;
    for (std::size_t k = 0; k < memory; ++k) {
        d_symbols[k] = d_channel.alphabet.points()[*(newest - k)];
        norm += std::norm(d_symbols[k]);
    }
    for (std::size_t p = 0; p < d_channel.sps; ++p) {
        std::complex<float> expected = 0;
        for (std::size_t k = 0; k < memory; ++k)
            expected += d_taps[p * memory + k] * d_symbols[k];
        const auto x = sample(samples, p, d_channel.complex);
        d_errors[p] = x - expected;
        power += std::norm(x);
        expected_power += std::norm(expected);
    }
    d_power += (power - d_power) / 16;
    d_expected_power += (expected_power - d_expected_power) / 16;
    if (norm == 0 || (decided && d_power < 0.01f * d_expected_power))
        return;
    for (std::size_t p = 0; p < d_channel.sps; ++p)
        for (std::size_t k = 0; k < memory; ++k)
            d_taps[p * memory + k] += step / norm * d_errors[p] * std::conj(d_symbols[k]);
}

} // namespace gr::adann::core
