/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/start_message.h"

#include "core/tracking/carrier_line.h"

#include <cmath>
#include <cstdio>

namespace gr::adann::core {

std::string formatted(const char* format, double value)
{
    char buffer[300];
    std::snprintf(buffer, sizeof buffer, format, value);
    return buffer;
}

std::string carrier_advice(double frequency)
{
    const double turns = std::abs(frequency);
    if (turns <= carrier_line::fastest)
        return "";
    return formatted("; the carrier turns by %.3g cycles a symbol", turns) +
           formatted(
               ", beyond %.3g labels may be wrong: put AdaNN Carrier Recovery before this block",
               carrier_line::fastest);
}

std::string start_message(const std::string& begins,
                          double carrier_frequency,
                          double error,
                          const char* decides,
                          bool knows_rotation)
{
    return begins + (carrier_frequency != 0 ? ", its carrier removed" : "") +
           formatted(", modulation error ratio of the linear equalizer %.1f dB; ",
                     -10 * std::log10(error)) +
           decides +
           (knows_rotation
                ? ""
                : "; labels are right up to a symmetry of the constellation and a whole delay") +
           carrier_advice(carrier_frequency);
}

} // namespace gr::adann::core
