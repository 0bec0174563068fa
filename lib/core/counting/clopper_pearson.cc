/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/counting/clopper_pearson.h"

#include <boost/math/distributions/binomial.hpp>
#include <stdexcept>
#include <string>

namespace gr::adann::core {

interval clopper_pearson(std::uint64_t errors, std::uint64_t trials, double confidence)
{
    if (errors > trials)
        throw std::invalid_argument("errors is " + std::to_string(errors) +
                                    ", allowed: 0 to trials = " + std::to_string(trials));
    if (!(confidence > 0 && confidence < 1))
        throw std::invalid_argument("confidence is " + std::to_string(confidence) +
                                    ", allowed: above 0 and below 1");
    if (trials == 0)
        return { 0, 1 };
    using binomial = boost::math::binomial_distribution<double>;
    const double tail = (1 - confidence) / 2;
    const auto n = static_cast<double>(trials);
    const auto k = static_cast<double>(errors);
    return { binomial::find_lower_bound_on_p(n, k, tail),
             binomial::find_upper_bound_on_p(n, k, tail) };
}

} // namespace gr::adann::core
