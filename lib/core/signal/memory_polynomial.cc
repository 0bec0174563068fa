/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/memory_polynomial.h"

#include "core/common/checks.h"
#include "core/signal/windows.h"

#include <algorithm>
#include <string>

namespace gr::adann::core {

namespace {

constexpr std::size_t block = 8 * simd::lanes; // samples that add() makes at a time
constexpr std::size_t most_around = 2 * memory_polynomial::most_symbols * 64;

} // namespace

memory_polynomial::memory_polynomial(unsigned sps, bool complex, unsigned memory)
    : d_sps(sps),
      d_memory(memory),
      d_complex(complex),
      d_reach((memory * spacing(sps) + sps - 1) / sps),
      d_coefficients(memory ? planes() * unknowns() : 0),
      d_kernels(&simd::active())
{
    check_range("waveform memory", memory, 0u, most_memory(sps));
}

void memory_polynomial::monomial(std::size_t which,
                                 const float* real,
                                 const float* imaginary,
                                 std::size_t count,
                                 float* values)
{
    const float *const i = real, *const q = imaginary;
    const auto make = [&](auto value) {
        for (std::size_t n = 0; n < count; ++n)
            values[n] = value(n);
    };
    if (!imaginary && which > 0)
        which = which == 1 ? 2 : 5; // of the complex ones without an imaginary part
    switch (which) {
    case 0:
        return make([=](std::size_t n) { return i[n]; });
    case 1:
        return make([=](std::size_t n) { return q[n]; });
    case 2:
        return make([=](std::size_t n) { return i[n] * i[n]; });
    case 3:
        return make([=](std::size_t n) { return i[n] * q[n]; });
    case 4:
        return make([=](std::size_t n) { return q[n] * q[n]; });
    case 5:
        return make([=](std::size_t n) { return i[n] * i[n] * i[n]; });
    case 6:
        return make([=](std::size_t n) { return i[n] * i[n] * q[n]; });
    case 7:
        return make([=](std::size_t n) { return i[n] * q[n] * q[n]; });
    case 8:
        return make([=](std::size_t n) { return q[n] * q[n] * q[n]; });
    default:
        const float* const part = which == 9 ? i : q;
        return make([=](std::size_t n) {
            const float power = i[n] * i[n] + q[n] * q[n];
            return power * power * part[n];
        });
    }
}

void memory_polynomial::set(const std::vector<float>& coefficients)
{
    if (coefficients.size() != d_coefficients.size())
        refuse("waveform polynomial",
               coefficients.size(),
               std::to_string(d_coefficients.size()));
    if (!all_usable(coefficients.data(), coefficients.size()))
        refuse("a value of the waveform's polynomial",
               "not finite, or too large",
               "up to " + std::to_string(static_cast<int>(largest_sample)));
    std::copy(coefficients.begin(), coefficients.end(), d_coefficients.begin());
}

void memory_polynomial::add(const float* samples, std::size_t count, float* sum) const
{
    if (!d_memory)
        return;
    const std::size_t n = count * d_sps;
    for (std::size_t first = 0; first < n; first += block)
        add_block(samples + first * planes(),
                  std::min(block, n - first),
                  sum + first * planes());
}

void memory_polynomial::add_block(const float* samples,
                                  std::size_t count,
                                  float* sum) const
{
    const std::size_t step = spacing(d_sps), around = d_memory * step;
    const std::size_t all = count + 2 * around;
    const std::size_t columns = simd::whole_lanes(count);
    // What the last vector reads beyond the samples is of no output that is wanted.
    float parts[2][block + most_around], values[block + most_around];
    float outputs[2][block];
    const float* const first = samples - around * planes();
    for (std::size_t plane = 0; plane < planes(); ++plane)
        for (std::size_t n = 0; n < all; ++n)
            parts[plane][n] = first[n * planes() + plane];
    std::fill(values + all, values + columns + 2 * around, 0.0f);
    for (std::size_t plane = 0; plane < planes(); ++plane)
        std::fill_n(outputs[plane], columns, d_coefficients[plane * unknowns()]);
    for (std::size_t which = 0; which < monomials(d_complex); ++which) {
        monomial(which, parts[0], d_complex ? parts[1] : nullptr, all, values);
        const float* const own = &d_coefficients[1 + which * taps()];
        const float* const rows[] = { own, own + (planes() - 1) * unknowns() };
        float* const sums[] = { outputs[0], outputs[1] };
        d_kernels->slide(rows, planes(), taps(), values, step, columns, 1, sums);
    }
    for (std::size_t plane = 0; plane < planes(); ++plane)
        for (std::size_t n = 0; n < count; ++n)
            sum[n * planes() + plane] += outputs[plane][n];
}

} // namespace gr::adann::core
