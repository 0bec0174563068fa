/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/following_waveform.h"

#include "core/adaptation/time_constants.h"
#include "core/signal/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {
constexpr std::size_t least_round = statistics_memory;
constexpr std::size_t each_pattern = 4; // times that it comes in a round, on average
} // namespace

following_waveform::following_waveform(const expected_waveform& trained)
    : d_trained(trained),
      d_now(trained),
      d_round(std::max(least_round, each_pattern * trained.patterns())),
      d_polynomial(trained, d_round),
      d_is_polynomial_round(d_polynomial.possible()),
      d_counts(trained.patterns()),
      d_sums(trained.table().size()),
      d_squares(trained.patterns()),
      d_table(trained.table()),
      d_coefficients(trained.polynomial().coefficients())
{
}

void following_waveform::start_round()
{
    d_symbols = 0;
    d_polynomial.start_round();
    std::fill(d_counts.begin(), d_counts.end(), 0.0f);
    std::fill(d_sums.begin(), d_sums.end(), 0.0f);
    std::fill(d_squares.begin(), d_squares.end(), 0.0f);
}

void following_waveform::reset()
{
    start_round();
    d_is_polynomial_round = d_polynomial.possible();
    d_table = d_trained.table();
    d_coefficients = d_trained.polynomial().coefficients();
    set();
}

void following_waveform::set()
{
    d_now.set_nonlinear(d_table, d_coefficients);
    ++d_number;
}

void following_waveform::add(const std::uint8_t* labels,
                             const float* rest,
                             std::size_t count)
{
    if (d_is_polynomial_round)
        d_polynomial.add(d_now, labels, rest, count);
    else
        add_to_sums(labels, rest, count);
    d_symbols += count;
    if (d_symbols >= d_round)
        end_round();
}

void following_waveform::add_to_sums(const std::uint8_t* labels,
                                     const float* rest,
                                     std::size_t count)
{
    const std::size_t stride = d_now.stride();
    for (std::size_t i = 0; i < count; ++i, rest += stride) {
        const std::size_t pattern = d_now.pattern(labels + i);
        float* const sums = &d_sums[pattern * stride];
        float square = 0;
        for (std::size_t j = 0; j < stride; ++j) {
            sums[j] += rest[j];
            square += rest[j] * rest[j];
        }
        d_squares[pattern] += square;
        ++d_counts[pattern];
    }
}

void following_waveform::end_round()
{
    d_table = d_now.table();
    d_coefficients = d_now.polynomial().coefficients();
    const bool found =
        d_is_polynomial_round ? d_polynomial.add_to(d_coefficients) : follow_table();
    if (found && all_usable(d_table.data(), d_table.size()) &&
        all_usable(d_coefficients.data(), d_coefficients.size()))
        set();
    d_is_polynomial_round = !d_is_polynomial_round && d_polynomial.possible();
    start_round();
}

bool following_waveform::follow_table()
{
    // Σ n |mean|² of the true means, and Σ |residual - mean|² of the means found.
    double changed = 0, around = 0, symbols = 0, freedom = 0;
    const std::size_t stride = d_now.stride();
    for (std::size_t pattern = 0; pattern < d_counts.size(); ++pattern) {
        const double n = d_counts[pattern];
        if (n < 2)
            continue;
        double square = 0; // of the sum of residuals
        for (std::size_t j = 0; j < stride; ++j)
            square +=
                double{ d_sums[pattern * stride + j] } * d_sums[pattern * stride + j];
        changed += (square - d_squares[pattern]) / (n - 1);
        around += d_squares[pattern] - square / n;
        symbols += n;
        freedom += n - 1;
    }
    const double change = changed / std::max(symbols, 1.0);
    const double noise = std::max(around, 0.0) / std::max(freedom, 1.0);
    if (!(change > 0 && std::isfinite(change) && std::isfinite(noise)))
        return false;
    for (std::size_t pattern = 0; pattern < d_counts.size(); ++pattern) {
        if (d_counts[pattern] == 0)
            continue;
        const auto part =
            static_cast<float>(change / (d_counts[pattern] * change + noise));
        for (std::size_t j = 0; j < stride; ++j)
            d_table[pattern * stride + j] += part * d_sums[pattern * stride + j];
    }
    return true;
}

void following_waveform::state(archive& members)
{
    d_table = d_now.table();
    d_coefficients = d_now.polynomial().coefficients();
    members("table", d_table, -largest_sample, largest_sample);
    members("coefficients", d_coefficients, -largest_sample, largest_sample);
    d_now.set_nonlinear(d_table, d_coefficients);
    members("number", d_number);
    members("symbols", d_symbols);
    if (d_polynomial.possible()) {
        members("bend", d_polynomial);
        members("bends", d_is_polynomial_round);
    }
    members("counts", d_counts, 0.0f, static_cast<float>(d_round));
    members("sums", d_sums);
    members("squares", d_squares, 0.0f, std::numeric_limits<float>::max());
}

} // namespace gr::adann::core
