/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/residual_phase.h"

#include "core/common/cholesky.h"
#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

void residual_phases::start()
{
    d_phases = {};
    d_count = 0;
}

float residual_phases::take(const float* expected,
                            const float* received,
                            std::size_t n,
                            const weights& parts)
{
    double in_phase = 0, quadrature = 0;
    d_energy = 0;
    for (std::size_t i = 0; i < 2 * n; i += 2) {
        const double re = expected[i], im = expected[i + 1];
        in_phase += received[i] * re + received[i + 1] * im;
        quadrature += received[i + 1] * re - received[i] * im;
        d_energy += re * re + im * im;
    }
    std::copy_backward(d_phases.begin(), d_phases.end() - 1, d_phases.end());
    const bool is_usable = std::isfinite(in_phase) && std::isfinite(quadrature);
    d_phases[0] = is_usable ? static_cast<float>(std::atan2(quadrature, in_phase)) : 0.0f;
    d_count = std::min(d_count + 1, blocks);
    float phase = 0;
    for (std::size_t back = 0; back < blocks; ++back)
        phase += parts[back] * d_phases[back];
    return phase;
}

void turn_back(float* samples, std::size_t n, float phase)
{
    const float c = std::cos(phase), s = std::sin(phase);
    for (std::size_t i = 0; i < 2 * n; i += 2)
        rotate(samples[i], samples[i + 1], c, -s);
}

void residual_phase_filter::add(const residual_phases& phases, double noise)
{
    if (!(noise < 1)) // with so much noise a phase is not known
        return;
    for (std::size_t back = 0; back < phases.count(); ++back) {
        d_products[back] += double{ phases[0] } * phases[back];
        d_counts[back] += 1;
    }
    d_noise += noise;
}

void residual_phase_filter::fade(double keep)
{
    for (std::size_t back = 0; back < residual_phases::blocks; ++back) {
        d_products[back] *= keep;
        d_counts[back] *= keep;
    }
    d_noise *= keep;
}

residual_phases::weights residual_phase_filter::solve()
{
    const std::size_t n = d_counts.size();
    for (std::size_t back = 0; back < n; ++back)
        d_solution[back] = d_products[back] / std::max(d_counts[back], 1.0);
    for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k <= j; ++k)
            d_matrix[j * n + k] = d_solution[j - k];
    d_solution[0] -= d_noise / std::max(d_counts[0], 1.0);
    residual_phases::weights found{};
    if (d_solution[0] > 0 && core::solve(d_matrix, n, d_solution, 1))
        for (std::size_t back = 0; back < n; ++back)
            found[back] = static_cast<float>(std::clamp(d_solution[back], -1.0, 1.0));
    return found;
}

void residual_phase_filter::reset()
{
    d_products = d_counts = {};
    d_noise = 0;
}

void residual_phase_filter::state(archive& members)
{
    constexpr double most = 1e12;
    members.numbers("products", d_products.data(), { d_products.size() }, -most, most);
    members.numbers("counts", d_counts.data(), { d_counts.size() }, 0.0, most);
    members("noise", d_noise, 0.0, most);
}

} // namespace gr::adann::core
