/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/label_probabilities.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

std::vector<float>
label_probabilities(const std::uint8_t* labels, std::size_t n, std::size_t classes)
{
    std::vector<std::size_t> counts(classes);
    for (std::size_t i = 0; i < n; ++i)
        ++counts[labels[i]];
    const double equal = static_cast<double>(n) / static_cast<double>(classes);
    double statistic = 0;
    for (const std::size_t count : counts) {
        const double more = static_cast<double>(count) - equal;
        statistic += more * more / equal;
    }
    const double degrees = static_cast<double>(classes - 1), t = -std::log(1e-6);
    std::vector<float> found(classes, 1 / static_cast<float>(classes));
    const bool is_one = *std::max_element(counts.begin(), counts.end()) == n;
    if (!is_one && statistic > degrees + 2 * std::sqrt(degrees * t) + 2 * t)
        for (std::size_t k = 0; k < classes; ++k)
            found[k] = static_cast<float>(static_cast<double>(counts[k]) /
                                          static_cast<double>(n));
    return found;
}

} // namespace gr::adann::core
