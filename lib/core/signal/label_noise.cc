/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/label_noise.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gr::adann::core {

namespace {
// Symbols; and the part of those so far, as probabilities found with other factors are to be forgotten.
constexpr double remembered = 1 << 16, latest = 0.5;
constexpr float prior = 64; // symbols of each label, of the mean noise
// Scatter of the factors, squared, that may be one of the model's errors: by patterns of labels, and not noise. A PAM4
// link that had 0.24 so (optical modes with different delays) got 1.15 times the errors by these factors. And the
// variance of a factor, times its symbols, of a real residual, with a margin of two.
constexpr float negligible = 0.3f * 0.3f, uncertain = 4;
constexpr float least_share = 0.5f;
} // namespace

label_noise::label_noise(std::size_t classes, float least)
    : d_least(least),
      d_energies(classes),
      d_counts(classes),
      d_factors(classes, 1.0f),
      d_logarithms(classes)
{
}

void label_noise::find()
{
    const auto sum = [](const std::vector<float>& each) {
        return std::accumulate(each.begin(), each.end(), 0.0f);
    };
    const float all = sum(d_counts), mean = sum(d_energies) / all;
    if (!(mean > 0))
        return;
    const std::size_t classes = d_counts.size();
    d_symbols += all - d_kept;
    const double most = std::min(remembered, latest * d_symbols);
    const float keep = std::min(1.0f, static_cast<float>(most) / all);
    d_kept = keep * all;
    float scatter = 0, least = all;
    for (std::size_t label = 0; label < classes; ++label) {
        float& factor = d_factors[label] = std::max(
            d_least, (d_energies[label] / mean + prior) / (d_counts[label] + prior));
        least = std::min(least, d_counts[label]);
        scatter += d_counts[label] / all * (factor - 1) * (factor - 1);
        d_energies[label] *= keep;
        d_counts[label] *= keep;
    }
    const float shared = all / static_cast<float>(classes);
    if (scatter < negligible + uncertain / shared || least < least_share * shared)
        forget_factors();
    else
        use_factors();
}

void label_noise::use_factors()
{
    for (std::size_t label = 0; label < d_factors.size(); ++label)
        d_logarithms[label] = std::log(d_factors[label]);
    const auto [least, most] = std::minmax_element(d_factors.begin(), d_factors.end());
    d_largest = *most;
    d_smallest = *least;
    d_span = std::log(*most / *least);
}

void label_noise::forget_factors()
{
    std::fill(d_factors.begin(), d_factors.end(), 1.0f);
    std::fill(d_logarithms.begin(), d_logarithms.end(), 0.0f);
    d_largest = d_smallest = 1;
    d_span = 0;
}

void label_noise::reset()
{
    std::fill(d_energies.begin(), d_energies.end(), 0.0f);
    std::fill(d_counts.begin(), d_counts.end(), 0.0f);
    d_symbols = d_kept = 0;
    forget_factors();
}

void label_noise::state(archive& members)
{
    constexpr float largest = 1e9f;
    members("energies", d_energies, 0.0f, largest);
    members("counts", d_counts, 0.0f, largest);
    members("symbols", d_symbols, 0.0, 1e18);
    members("kept", d_kept, 0.0, 1e9);
    const std::vector<float> before = d_factors;
    members("factors", d_factors, 1e-6f, largest);
    if (d_factors != before) // no write while saving: readers may run
        use_factors();
}

} // namespace gr::adann::core
