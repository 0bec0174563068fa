/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/ambiguity.h"

#include "core/signal/known_symbols.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {
constexpr float sure = 16;      // a false alarm in 10^7 known symbols
constexpr float memory = 256;   // averaging time of the variance, known symbols
constexpr float least = 1e-3f;  // variance: below it a single symbol could decide
constexpr float most = 1000;    // largest sum
constexpr float most_ratio = 2; // of one symbol: a few wrong ones cannot decide
} // namespace

ambiguity::ambiguity(const constellation& symbols, float variance)
    : d_points(symbols.unit_points()),
      d_trained(std::max(variance, least)),
      d_variance(d_trained)
{
    const std::size_t turns = symbols.symmetries().size();
    for (int later = -around; later <= around; ++later)
        for (std::size_t turned = 0; turned < turns; ++turned)
            if (const displacement by{ later, turned }; !by.none()) {
                const double angle = symmetry_angle(turns, turned);
                d_tested.push_back({ by, std::complex<float>(std::polar(1.0, angle)) });
            }
}

void ambiguity::reset()
{
    for (auto& each : d_tested)
        each.sum = 0;
    d_variance = d_trained;
    d_found = {};
}

void ambiguity::take(std::uint8_t known,
                     const std::complex<float>* estimate,
                     const std::uint8_t* decided)
{
    const auto seen = [&](int at) {
        return std::isnan(estimate[at].real()) ? d_points[decided[at]] : estimate[at];
    };
    const std::complex<float> point = d_points[known];
    const float v = d_variance;
    const auto speaks_for = [=](std::complex<float> z, std::complex<float> wanted) {
        const float ratio = known_ratio(z, wanted, v);
        return std::log((1 - false_part) * std::exp(ratio) + false_part);
    };
    const float against = speaks_for(seen(0), point);
    if (!std::isfinite(against))
        return;
    float best = sure;
    for (auto& each : d_tested) {
        const float ratio = speaks_for(seen(each.by.later), each.turn * point);
        if (!std::isfinite(ratio))
            continue;
        each.sum += std::clamp(ratio - against, -most_ratio, most_ratio);
        each.sum = std::clamp(each.sum, 0.0f, most);
        if (each.sum > best) {
            best = each.sum;
            d_found = each.by;
        }
    }
    const float square = std::min(std::norm(seen(0) - point), 2 + v);
    d_variance = std::max(d_variance + (square - d_variance) / memory, d_trained);
}

void ambiguity::state(archive& members)
{
    members("variance", d_variance, d_trained, 1e3f);
    std::vector<float> sums;
    for (const auto& each : d_tested)
        sums.push_back(each.sum);
    members.numbers("sums", sums.data(), { sums.size() }, 0.0f, most);
    for (std::size_t k = 0; k < sums.size(); ++k)
        if (d_tested[k].sum != sums[k]) // no write while saving: readers may run
            d_tested[k].sum = sums[k];
}

} // namespace gr::adann::core
