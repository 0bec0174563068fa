/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/burst_symbols.h"

#include "core/common/checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {
constexpr double most_slope = 0.9; // a larger one would amplify the noise too much
constexpr float impossible = 30;   // log-likelihood ratio beyond which a posterior is 0
} // namespace

burst_symbols::burst_symbols(const constellation& points, bool complex, std::size_t most)
    : d_complex(complex),
      d_known(most),
      d_usable(most),
      d_estimates(most),
      d_targets(most),
      d_weights(most),
      d_posteriors(most * points.size())
{
    for (const auto point : points.unit_points())
        d_points.push_back(point);
}

stretch burst_symbols::seed(const std::uint8_t* known, std::size_t n, std::size_t classes)
{
    std::vector<stretch> runs;
    for (std::size_t i = 0; i < n; ++i) {
        if (!is_known(known[i], classes))
            continue;
        if (runs.empty() || runs.back().end < i)
            runs.push_back({ i, i });
        runs.back().end = i + 1;
    }
    stretch best{ 0, 0 };
    for (const auto& run : runs)
        if (run.size() > best.size())
            best = run;
    if (best.size() >= least_known)
        return best;
    best = { 0, most_apart + 1 };
    std::size_t has = 0;
    for (std::size_t first = 0, end = 0; end < runs.size();) {
        has += runs[end++].size();
        for (; has >= least_known; has -= runs[first++].size()) {
            const stretch joined{ runs[first].first, runs[end - 1].end };
            if (joined.size() < best.size())
                best = joined;
        }
    }
    return best.size() > most_apart ? stretch{ 0, 0 } : best;
}

void burst_symbols::check_seed(const std::string& name,
                               const std::uint8_t* known,
                               std::size_t n,
                               std::size_t classes)
{
    if (seed(known, n, classes).size())
        return;
    const auto count = std::count_if(known, known + n, [classes](std::uint8_t label) {
        return is_known(label, classes);
    });
    refuse(name + "' known ones",
           count,
           std::to_string(least_known) + " or more within " + std::to_string(most_apart) +
               " symbols");
}

void burst_symbols::load(const std::uint8_t* known,
                         const std::vector<char>& usable,
                         std::size_t n)
{
    d_count = n;
    std::copy_n(known, n, d_known.begin());
    std::copy_n(usable.begin(), n, d_usable.begin());
}

void burst_symbols::start(double noise)
{
    for (std::size_t i = 0; i < d_count; ++i) {
        d_targets[i] = is_label_known(i) ? known_point(i) : 0;
        d_weights[i] = is_label_known(i) && d_usable[i];
    }
    d_noise = noise;
}

void burst_symbols::take(stretch over, double least_noise)
{
    double slope = 0;
    for (int round = 0; round < 2; ++round) { // posteriors and noise depend on each other
        double squares = 0, scatter = 0, unknown = 0, usable = 0;
        for (std::size_t i = over.first; i < over.end; ++i) {
            double around = 0;
            const number mean = find_posteriors(i, around);
            if (is_label_known(i)) {
                squares += d_usable[i] * std::norm(d_estimates[i] - known_point(i));
            } else {
                d_targets[i] = mean;
                squares += d_usable[i] * around;
                scatter += d_usable[i] * (around - std::norm(d_estimates[i] - mean));
                unknown += d_usable[i];
            }
            usable += d_usable[i];
        }
        slope =
            unknown > 0 ? std::clamp(scatter / unknown / d_noise, 0.0, most_slope) : 0;
        d_noise = std::max(usable > 0 ? squares / usable : 0, least_noise);
    }
    for (std::size_t i = over.first; i < over.end; ++i)
        if (!is_label_known(i)) {
            d_targets[i] = (d_targets[i] - slope * d_estimates[i]) / (1 - slope);
            d_weights[i] = d_usable[i] * (1 - slope) * (1 - slope);
        }
}

// Returns the posterior mean. around: posterior mean of
// the squared distance of the estimate from the points.
burst_symbols::number burst_symbols::find_posteriors(std::size_t symbol, double& around)
{
    const number y = d_estimates[symbol];
    float* const p = &d_posteriors[symbol * classes()];
    double least = std::numeric_limits<double>::infinity(), sum = 0;
    for (const auto& point : d_points)
        least = std::min(least, std::norm(y - point));
    const double scale = 1 / (d_noise * (d_complex ? 1 : 2));
    for (std::size_t l = 0; l < classes(); ++l) {
        const auto exponent =
            static_cast<float>((std::norm(y - d_points[l]) - least) * scale);
        p[l] = exponent < impossible ? std::exp(-exponent) : 0;
        sum += p[l];
    }
    number mean = 0;
    for (std::size_t l = 0; l < classes(); ++l) {
        p[l] /= static_cast<float>(sum);
        mean += static_cast<double>(p[l]) * d_points[l];
        around += p[l] * std::norm(y - d_points[l]);
    }
    return mean;
}

std::uint8_t burst_symbols::label(std::size_t symbol) const
{
    if (is_label_known(symbol))
        return d_known[symbol];
    const float* const p = &d_posteriors[symbol * classes()];
    return static_cast<std::uint8_t>(std::max_element(p, p + classes()) - p);
}

} // namespace gr::adann::core
