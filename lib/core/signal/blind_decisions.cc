/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/blind_decisions.h"

#include "core/signal/linear_fit.h"

namespace gr::adann::core {

using linear::fit, linear::least_kurtosis;

struct blind_decisions::search {
    virtual ~search() = default;
    virtual const std::uint8_t* find(const feature_view& view) = 0;
};

template <typename T>
struct blind_decisions::search_of : search {
    search_of(const constellation& symbols,
              std::size_t samples,
              std::size_t planes,
              std::size_t most)
        : fitting(symbols, samples * planes, most),
          symmetries(symbols.symmetries().size())
    {
        // Where points are real and samples complex, I and Q are inputs of their own.
        const std::size_t of_sample = symbols.is_complex() ? 1 : planes;
        for (std::size_t p = 0; p < of_sample; ++p)
            starts.push_back(samples / 2 * of_sample + p);
    }
    const std::uint8_t* find(const feature_view& view) override
    {
        fitting.load(view);
        double kurtosis;
        if (!fitting.extreme(starts, kurtosis) || !(kurtosis > least_kurtosis))
            return nullptr;
        fitting.turn(symmetries);
        return fitting.follow_decisions() ? fitting.labels() : nullptr;
    }

    fit<T> fitting;
    std::vector<std::size_t> starts;
    std::size_t symmetries;
};

blind_decisions::blind_decisions(const constellation& symbols,
                                 std::size_t samples,
                                 std::size_t planes,
                                 std::size_t most)
{
    if (symbols.is_complex())
        d_search = std::make_unique<search_of<std::complex<double>>>(
            symbols, samples, planes, most);
    else
        d_search = std::make_unique<search_of<double>>(symbols, samples, planes, most);
}

blind_decisions::~blind_decisions() = default;

const std::uint8_t* blind_decisions::find(const feature_view& view)
{
    return d_search->find(view);
}

} // namespace gr::adann::core
