/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/counting/clopper_pearson.h"

#include "core/common/checks.h"

#include <boost/math/distributions/binomial.hpp>
#include <string>

namespace gr::adann::core {

interval clopper_pearson(std::uint64_t errors, std::uint64_t trials, double confidence)
{
    if (errors > trials)
        refuse("errors", errors, "0 to trials = " + std::to_string(trials));
    if (!(confidence > 0 && confidence < 1))
        refuse("confidence", confidence, "above 0 and below 1");
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
