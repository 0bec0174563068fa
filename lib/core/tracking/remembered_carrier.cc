/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/remembered_carrier.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {
constexpr double significant = 16; // squared deviations
constexpr double least_symbols =
    256; // that show a frequency by the phases before and after them
} // namespace

void remembered_carrier::follow(double at, double phase, double frequency)
{
    d_latest = { at, phase };
    const double symbols = at - d_begin.at;
    if (!d_has_carrier) {
        d_has_carrier = true;
        d_frequency = frequency;
    } else if (symbols < step) {
        return;
    } else {
        const double advance = phase - d_begin.phase;
        const double error =
            std::remainder(advance - 2 * M_PI * d_frequency * symbols, 2 * M_PI);
        const bool has_changed =
            d_steps == most_steps && error * error > significant * d_squared_error;
        d_steps = has_changed ? 1 : std::min(d_steps + 1, most_steps);
        const auto averaged = static_cast<double>(d_steps);
        d_frequency += error / (2 * M_PI * symbols * averaged);
        if (d_steps > 1)
            d_squared_error += (error * error - d_squared_error) / (averaged - 1);
        if (has_changed) // in the middle of the step: the next one replaces it
            d_steps = 0;
    }
    d_begin = d_latest;
}

double remembered_carrier::frequency_by(double at, double phase) const
{
    if (since(at) < least_symbols || since(at) > extrapolated_for)
        return d_frequency;
    const double error = std::remainder(phase - phase_at(at), 2 * M_PI);
    const double averaged = step * static_cast<double>(d_steps);
    return d_frequency + error / (2 * M_PI * (since(at) + averaged));
}

void remembered_carrier::resume(double at, double phase, double frequency)
{
    d_latest = d_begin = { at, phase };
    d_frequency = frequency;
    d_has_carrier = true;
}

double remembered_carrier::phase_at(double at) const
{
    return d_latest.phase +
           2 * M_PI * d_frequency * std::min(since(at), extrapolated_for);
}

void remembered_carrier::state(archive& members)
{
    members("at", d_latest.at);
    members("phase", d_latest.phase);
    members("frequency", d_frequency);
    members("begin_at", d_begin.at);
    members("begin_phase", d_begin.phase);
    members("squared_error", d_squared_error);
    members("has_carrier", d_has_carrier);
    members("steps", d_steps, std::size_t{ 0 }, most_steps);
}

} // namespace gr::adann::core
