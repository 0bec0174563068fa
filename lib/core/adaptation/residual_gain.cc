/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/residual_gain.h"

#include "core/common/cholesky.h"
#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {
constexpr float most_amplitude = 1; // nepers
constexpr double deviations = 4;    // of a correlation by chance
} // namespace

void block_errors::add(float error)
{
    std::copy_backward(d_errors.begin(), d_errors.end() - 1, d_errors.end());
    d_errors[0] = error;
    d_count = std::min(d_count + 1, blocks);
}

void block_errors::start()
{
    d_errors = {};
    d_count = 0;
}

float block_errors::sum(const weights& parts, float mean) const
{
    float sum = 0;
    for (std::size_t back = 0; back < d_count; ++back)
        sum += parts[back] * (d_errors[back] - mean);
    return sum;
}

void residual_gains::start()
{
    d_phases.start();
    d_amplitudes.start();
}

std::complex<float> residual_gains::take(const float* expected,
                                         const float* received,
                                         std::size_t n,
                                         std::size_t floats,
                                         const weights& parts)
{
    double in_phase = 0, quadrature = 0;
    d_energy = 0;
    if (floats == 1)
        for (std::size_t i = 0; i < n; ++i) {
            in_phase += double{ received[i] } * expected[i];
            d_energy += double{ expected[i] } * expected[i];
        }
    else
        for (std::size_t i = 0; i < 2 * n; i += 2) {
            const double re = expected[i], im = expected[i + 1];
            in_phase += received[i] * re + received[i + 1] * im;
            quadrature += received[i + 1] * re - received[i] * im;
            d_energy += re * re + im * im;
        }
    const double size = floats == 1 ? in_phase : std::hypot(in_phase, quadrature);
    const bool is_usable = std::isfinite(in_phase) && std::isfinite(quadrature);
    d_phases.add(is_usable && floats == 2
                     ? static_cast<float>(std::atan2(quadrature, in_phase))
                     : 0.0f);
    d_amplitudes.add(is_usable && size > 0 && d_energy > 0
                         ? std::clamp(static_cast<float>(std::log(size / d_energy)),
                                      -most_amplitude,
                                      most_amplitude)
                         : 0.0f);
    return std::polar(std::exp(-d_amplitudes.sum(parts.amplitude, parts.mean_amplitude)),
                      -d_phases.sum(parts.phase));
}

void multiply(float* samples,
              std::size_t n,
              std::size_t floats,
              std::complex<float> factor)
{
    if (floats == 1)
        for (std::size_t i = 0; i < n; ++i)
            samples[i] *= factor.real();
    else
        for (std::size_t i = 0; i < 2 * n; i += 2)
            rotate(samples[i], samples[i + 1], factor.real(), factor.imag());
}

void block_error_filter::add(const block_errors& errors, double noise)
{
    if (!(noise < 1)) // with so much noise a gain is not known
        return;
    for (std::size_t back = 0; back < errors.count(); ++back) {
        d_products[back] += double{ errors[0] } * errors[back];
        d_counts[back] += 1;
    }
    d_noise += noise;
    d_sum += errors[0];
}

void block_error_filter::fade(double keep)
{
    for (std::size_t back = 0; back < block_errors::blocks; ++back) {
        d_products[back] *= keep;
        d_counts[back] *= keep;
    }
    d_noise *= keep;
    d_sum *= keep;
}

block_errors::weights block_error_filter::solve()
{
    covariances found{};
    for (std::size_t back = 0; back < found.size(); ++back)
        found[back] = d_products[back] / std::max(d_counts[back], 1.0);
    return solve(found, found[0] - d_noise / std::max(d_counts[0], 1.0));
}

block_errors::weights block_error_filter::solve_common()
{
    covariances found{};
    for (std::size_t back = 0; back < found.size(); ++back)
        found[back] = d_products[back] / std::max(d_counts[back], 1.0) - mean() * mean();
    // The covariance of independent errors has a deviation of their variance over √n.
    if (!(found[1] * std::sqrt(d_counts[1]) > deviations * found[0]))
        return {};
    // Of the error without its noise: as a line through those of other blocks has it, or less.
    const double common = 2 * found[1] - found[2];
    return solve(found,
                 std::min(found[0] - d_noise / std::max(d_counts[0], 1.0), common));
}

// \param wanted variance of the error without its noise
block_errors::weights block_error_filter::solve(const covariances& measured,
                                                double wanted)
{
    const std::size_t n = measured.size();
    std::copy(measured.begin(), measured.end(), d_solution.begin());
    for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k <= j; ++k)
            d_matrix[j * n + k] = measured[j - k];
    d_solution[0] = wanted;
    block_errors::weights found{};
    if (d_solution[0] > 0 && core::solve(d_matrix, n, d_solution, 1))
        for (std::size_t back = 0; back < n; ++back)
            found[back] = static_cast<float>(std::clamp(d_solution[back], -1.0, 1.0));
    return found;
}

double block_error_filter::mean() const { return d_sum / std::max(d_counts[0], 1.0); }

void block_error_filter::reset()
{
    d_products = d_counts = {};
    d_noise = d_sum = 0;
}

void block_error_filter::state(archive& members)
{
    constexpr double most = 1e12;
    members.numbers("products", d_products.data(), { d_products.size() }, -most, most);
    members.numbers("counts", d_counts.data(), { d_counts.size() }, 0.0, most);
    members("noise", d_noise, 0.0, most);
    members("sum", d_sum, -most, most);
}

} // namespace gr::adann::core
