/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/symbol_labels.h"

#include "core/signal/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

symbol_labels::symbol_labels(std::size_t symbols, std::size_t classes)
    : d_classes(classes),
      d_labels(symbols),
      d_known(symbols, not_known),
      d_decided(symbols),
      d_estimates(symbols),
      d_decisions(symbols)
{
}

void symbol_labels::set(std::size_t symbol,
                        const std::uint8_t* labels,
                        std::size_t n,
                        const std::uint8_t* known)
{
    if (known)
        std::copy_n(known, n, d_known.begin() + symbol);
    else
        std::fill_n(d_known.begin() + symbol, n, not_known);
    relabel(symbol, labels, n);
}

void symbol_labels::relabel(std::size_t symbol, const std::uint8_t* labels, std::size_t n)
{
    std::copy_n(labels, n, d_labels.begin() + symbol);
    std::copy_n(labels, n, d_decided.begin() + symbol);
    std::fill_n(d_decisions.begin() + symbol, n, soft_decision{});
    std::fill_n(d_estimates.begin() + symbol,
                n,
                std::complex<float>(std::numeric_limits<float>::quiet_NaN()));
    for (std::size_t k = symbol; k < symbol + n; ++k)
        if (is_label_known(k))
            d_labels[k] = d_known[k];
}

void symbol_labels::replace(std::size_t symbol,
                            std::size_t end,
                            const std::uint8_t* labels)
{
    for (std::size_t k = symbol; k < end; ++k, ++labels)
        if (!is_label_known(k))
            d_labels[k] = d_decided[k] = *labels;
}

void symbol_labels::move_back(std::size_t symbols)
{
    const auto move = [symbols](auto& values) {
        std::copy(values.begin() + symbols, values.end(), values.begin());
    };
    move(d_labels);
    move(d_known);
    move(d_decided);
    move(d_estimates);
    move(d_decisions);
}

std::size_t symbol_labels::count_unknown(std::size_t symbol, std::size_t n) const
{
    std::size_t found = 0;
    for (std::size_t k = symbol; k < symbol + n; ++k)
        found += !is_label_known(k);
    return found;
}

std::size_t symbol_labels::count_uncertain(std::size_t symbol, std::size_t n) const
{
    std::size_t found = 0;
    for (std::size_t k = symbol; k < symbol + n; ++k)
        found += !is_label_known(k) && !std::isnan(d_estimates[k].real());
    return found;
}

void symbol_labels::state(archive& members, std::size_t first, std::size_t n)
{
    const auto last = static_cast<std::uint8_t>(d_classes - 1);
    members.numbers("labels", &d_labels[first], { n }, std::uint8_t{ 0 }, last);
    members.numbers("decided", &d_decided[first], { n }, std::uint8_t{ 0 }, last);
    members.numbers("truth", &d_known[first], { n });
    static_assert(sizeof(std::complex<float>) == 2 * sizeof(float));
    members.numbers("estimates",
                    reinterpret_cast<float*>(&d_estimates[first]),
                    { n, 2 },
                    archive::any);
    static_assert(sizeof(soft_decision) == 8 * sizeof(float));
    members.numbers("decisions",
                    reinterpret_cast<float*>(&d_decisions[first]),
                    { n, 8 },
                    -largest_sample,
                    largest_sample);
}

} // namespace gr::adann::core
