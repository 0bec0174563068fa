/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/pattern_bias.h"

#include "core/adaptation/time_constants.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {

constexpr std::uint64_t round = statistics_memory; // symbols
constexpr double sure = 4; // standard deviations of a part, which is tested repeatedly
constexpr std::size_t most_labels = 5, most_patterns = 4096;

std::size_t power_of(std::size_t base, std::size_t exponent)
{
    return exponent ? base * power_of(base, exponent - 1) : 1;
}

std::size_t labels_of_a_pattern(std::size_t classes)
{
    std::size_t labels = 1;
    while (labels < most_labels && power_of(classes, labels + 1) <= most_patterns)
        ++labels;
    return labels;
}

} // namespace

pattern_bias::pattern_bias(std::size_t classes, std::size_t dimensions)
    : d_classes(classes),
      d_dimensions(dimensions),
      d_context(labels_of_a_pattern(classes)),
      d_counts(power_of(classes, d_context)),
      d_sums(d_counts.size() * dimensions),
      d_squares(d_sums.size())
{
}

void pattern_bias::start_round()
{
    std::fill(d_counts.begin(), d_counts.end(), 0.0f);
    std::fill(d_sums.begin(), d_sums.end(), 0.0f);
    std::fill(d_squares.begin(), d_squares.end(), 0.0f);
    d_symbols = 0;
}

void pattern_bias::reset()
{
    start_round();
    d_known = false;
    d_part = 0;
}

void pattern_bias::add(const std::uint8_t* label, const float* residual)
{
    const std::uint8_t* each = label - d_context / 2; // the earliest of the pattern
    std::size_t pattern = 0;
    for (std::size_t k = 0; k < d_context; ++k)
        pattern = pattern * d_classes + each[k];
    ++d_counts[pattern];
    for (std::size_t d = 0; d < d_dimensions; ++d) {
        d_sums[pattern * d_dimensions + d] += residual[d];
        d_squares[pattern * d_dimensions + d] += residual[d] * residual[d];
    }
    if (++d_symbols == round)
        end_round();
}

void pattern_bias::end_round()
{
    d_part = find_common().part;
    d_known = true;
    start_round();
}

// The common part in the round so far. For noise alone the sum of a pattern's products, over n - 1,
// has a variance of 2 n / (n - 1), in units of the noise's power.
pattern_bias::common_part pattern_bias::find_common() const
{
    double common = 0, symbols = 0, variance = 0, squares = 0;
    for (std::size_t pattern = 0; pattern < d_counts.size(); ++pattern) {
        const double n = d_counts[pattern];
        if (n > 1) {
            symbols += n;
            variance += 2 * n / (n - 1);
        }
        for (std::size_t d = 0; d < d_dimensions; ++d) {
            const double sum = d_sums[pattern * d_dimensions + d];
            const double square = d_squares[pattern * d_dimensions + d];
            squares += square;
            if (n > 1)
                common += (sum * sum - square) / (n - 1);
        }
    }
    if (!(symbols > 0 && squares > 0))
        return {};
    const double power = squares / static_cast<double>(d_symbols);
    return { std::clamp(common / symbols / power, 0.0, 1.0),
             std::sqrt(variance / static_cast<double>(d_dimensions)) / symbols };
}

double pattern_bias::part() const
{
    const common_part present = find_common();
    return std::max(d_part, present.part - sure * present.deviation);
}

void pattern_bias::state(archive& members)
{
    const float most = std::numeric_limits<float>::max();
    members("counts", d_counts, 0.0f, static_cast<float>(round));
    members("sums", d_sums);
    members("squares", d_squares, 0.0f, most);
    members("symbols", d_symbols, std::uint64_t{ 0 }, round);
    members("known", d_known);
    members("part", d_part, 0.0, 1.0);
}

} // namespace gr::adann::core
