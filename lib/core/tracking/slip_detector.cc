/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/slip_detector.h"

#include "core/signal/rotate.h"

#include <cmath>

namespace gr::adann::core {

double slip_detector::find(double difference, bool is_steady)
{
    const double slipped = d_symmetry * std::nearbyint(difference / d_symmetry);
    const double error = difference - slipped;
    const bool predicted = predicts(error) || is_steady;
    return predicted && std::abs(error) < d_symmetry / 4 &&
                   std::abs(std::remainder(slipped, whole_turn)) > d_symmetry / 2
               ? slipped
               : 0;
}

/* Whether lines predict the phase well enough to detect a slip, which is a step of one symmetry:
 * the rms error over the latest eight checks is below a sixteenth of that, or less after fewer
 * checks. Under phase noise it is not. */
bool slip_detector::predicts(double error)
{
    d_squared_error.add(error * error, checks);
    const std::size_t n = d_squared_error.count;
    return n > 2 && d_squared_error.mean < d_symmetry * d_symmetry / (256 * checks / n);
}

void slip_detector::state(archive& members)
{
    members("squared_error", d_squared_error.mean, 0.0, 100.0);
    members("predicted", d_squared_error.count, std::size_t{ 0 }, checks);
}

} // namespace gr::adann::core
