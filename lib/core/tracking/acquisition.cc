/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/acquisition.h"

#include "core/common/cholesky.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {

constexpr std::size_t tried = 17;         // frequencies
constexpr double widest = 2 * M_PI / 256; // between them, radians a symbol
constexpr double finer = 8;
constexpr double load = 0.01; // of R's diagonal

} // namespace

acquisition::acquisition(const normal_equations& shape, std::size_t sps)
    : d_sps(sps),
      d_unknowns(shape.unknowns()),
      d_pitch(shape.pitch()),
      d_complex(shape.is_complex()),
      d_matrix(d_unknowns * d_unknowns),
      d_factor(d_matrix.size()),
      d_wanted(d_unknowns * tried),
      d_solved(d_wanted.size()),
      d_explained(tried),
      d_taps(shape.vector_floats())
{
}

float acquisition::find(const normal_equations& sums,
                        const signal_planes& x,
                        const signal_planes& wanted,
                        std::size_t n,
                        bool turns)
{
    sums.matrix(load, d_matrix);
    double growth = 0;
    if (d_complex && turns)
        for (double apart : { widest, widest / finer }) {
            apart /= static_cast<double>(d_sps);
            solve_for(x, wanted, n, growth, apart, tried);
            growth = best(growth, apart);
        }
    solve_for(x, wanted, n, growth, 0, 1);

    number turn = 1;
    if (const number middle = d_solved[(d_unknowns - 1) / 2];
        d_complex && turns && std::abs(middle) > 0)
        turn = std::polar(1.0, -std::arg(middle));
    for (std::size_t k = 0; k < d_unknowns; ++k) {
        const number tap = turn * d_solved[k];
        d_taps[k] = static_cast<float>(tap.real());
        if (d_complex)
            d_taps[d_pitch + k] = static_cast<float>(tap.imag());
    }
    d_phase = static_cast<float>(std::arg(turn));
    d_growth = static_cast<float>(growth);

    double residual = -d_explained[0];
    for (std::size_t i = 0; i < n; ++i)
        residual += std::norm(number(wanted.re[i], d_complex ? wanted.im[i] : 0.0f));
    if (n <= d_unknowns)
        return std::numeric_limits<float>::infinity();
    const double free = 1 - static_cast<double>(d_unknowns) / static_cast<double>(n);
    return static_cast<float>(residual / static_cast<double>(n) / (free * free));
}

// Taps for `count` frequencies around `growth`, with a spacing of `apart`.
void acquisition::solve_for(const signal_planes& x,
                            const signal_planes& wanted,
                            std::size_t n,
                            double growth,
                            double apart,
                            std::size_t count)
{
    std::fill(d_wanted.begin(), d_wanted.end(), 0);
    const std::size_t middle = n / 2, central = count / 2;
    for (std::size_t c = 0; c < count; ++c) {
        const double by =
            growth + apart * (static_cast<double>(c) - static_cast<double>(central));
        const number turn = std::polar(1.0, by);
        number now = std::polar(1.0, -by * static_cast<double>(middle));
        for (std::size_t i = 0; i < n; ++i, now *= turn) {
            const number z = now * number(wanted.re[i], d_complex ? wanted.im[i] : 0.0f);
            for (std::size_t k = 0; k < d_unknowns; ++k)
                d_wanted[k * count + c] += std::conj(sample(x, i, k)) * z;
        }
    }
    d_solved = d_wanted;
    d_factor = d_matrix;
    if (!solve(d_factor, d_unknowns, d_solved, count))
        std::fill(d_solved.begin(), d_solved.end(), 0);
    for (std::size_t c = 0; c < count; ++c) {
        d_explained[c] = 0;
        for (std::size_t k = 0; k < d_unknowns; ++k)
            d_explained[c] +=
                std::real(std::conj(d_wanted[k * count + c]) * d_solved[k * count + c]);
    }
}

// A window's sample, or 1 for the last unknown, the offset.
acquisition::number
acquisition::sample(const signal_planes& x, std::size_t i, std::size_t k) const
{
    if (k + 1 == d_unknowns)
        return 1;
    return { x.re[i + k], d_complex ? x.im[i + k] : 0.0f };
}

// The frequency at the maximum of the parabola through the best one and its neighbours.
double acquisition::best(double growth, double apart) const
{
    const std::size_t top = std::clamp<std::size_t>(
        std::max_element(d_explained.begin(), d_explained.end()) - d_explained.begin(),
        1,
        tried - 2);
    const double before = d_explained[top - 1], after = d_explained[top + 1];
    const double bend = before - 2 * d_explained[top] + after;
    const double offset =
        bend < 0 ? std::clamp((before - after) / bend / 2, -1.0, 1.0) : 0;
    constexpr std::size_t central = tried / 2;
    return growth +
           apart * (static_cast<double>(top) - static_cast<double>(central) + offset);
}

} // namespace gr::adann::core
