/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/residual_drift.h"

#include <cmath>

namespace gr::adann::core {

namespace {
constexpr double sure = 4; // standard deviations of a mean product
} // namespace

residual_drift::residual_drift(std::size_t sps, std::size_t planes)
    : d_samples(stretch * sps), d_planes(planes)
{
}

void residual_drift::reset() { d_products = d_squares = d_pairs = 0; }

void residual_drift::fade(double keep)
{
    d_products *= keep;
    d_squares *= keep;
    d_pairs *= keep;
}

void residual_drift::add(const float* residual, std::size_t n)
{
    std::array<double, 2> before{};
    for (std::size_t k = 0; k < n / stretch; ++k) {
        std::array<double, 2> now{};
        for (std::size_t i = 0; i < d_samples; ++i)
            for (std::size_t p = 0; p < d_planes; ++p)
                now[p] += *residual++;
        for (std::size_t p = 0; k && p < d_planes; ++p) {
            d_products += before[p] * now[p];
            d_squares += (before[p] * before[p] + now[p] * now[p]) / 2;
        }
        d_pairs += k > 0;
        before = now;
    }
    if (!std::isfinite(d_products + d_squares)) // later sums would not be finite either
        reset();
}

double residual_drift::power() const
{
    if (!(d_pairs > 0))
        return 0;
    // Deviation for independent neighbours, whose squares are equally distributed over the planes.
    const double deviation =
        d_squares / std::sqrt(d_pairs * static_cast<double>(d_planes));
    const auto samples = static_cast<double>(d_samples);
    return d_products > sure * deviation ? d_products / d_pairs / (samples * samples) : 0;
}

void residual_drift::state(archive& members)
{
    constexpr double most = 1e15;
    members("products", d_products, -most, most);
    members("squares", d_squares, 0.0, most);
    members("pairs", d_pairs, 0.0, 1e9);
}

} // namespace gr::adann::core
