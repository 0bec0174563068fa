/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/label_variety.h"

#include "core/signal/constellation.h"

#include <bitset>
#include <cmath>

namespace gr::adann::core {

label_variety::label_variety(const std::vector<float>& probabilities, std::size_t symbols)
    : d_classes(probabilities.size()), d_symbols(symbols)
{
    // A pair occurs about as often as a Poisson variable.
    const auto pairs = static_cast<double>(symbols - 1);
    double expected = 0;
    for (const float a : probabilities)
        for (const float b : probabilities)
            expected -= std::expm1(-pairs * double{ a } * double{ b });
    d_least = static_cast<std::size_t>(std::ceil(expected / 2));
}

bool label_variety::is_enough(const std::uint8_t* labels) const
{
    std::bitset<constellation::most_points * constellation::most_points> seen;
    std::size_t found = 0;
    for (std::size_t i = 0; i + 1 < d_symbols; ++i) {
        auto pair = seen[labels[i] * d_classes + labels[i + 1]];
        found += pair ? 0 : 1;
        pair = true;
    }
    return found >= d_least;
}

} // namespace gr::adann::core
