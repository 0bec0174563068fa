/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/expected_waveform.h"

#include "core/common/checks.h"
#include "core/common/split_mix.h"
#include "core/signal/windows.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace gr::adann::core {

expected_waveform::shape expected_waveform::shape_of(const constellation& symbols,
                                                     unsigned sps,
                                                     bool complex,
                                                     unsigned affine_reach,
                                                     unsigned context)
{
    const unsigned reach = affine_reach;
    check_range("waveform reach", reach, 0u, most_reach);
    check_range("waveform context", context, 0u, 2 * reach + 1);
    std::size_t patterns = 1;
    for (unsigned i = 0; i < context; ++i)
        if ((patterns *= symbols.size()) > most_patterns)
            refuse("waveform context",
                   context,
                   "at most " + std::to_string(most_patterns) + " patterns of " +
                       symbols.name());
    if (symbols.is_complex() && !complex)
        refuse("constellation", symbols.name(), "a real one for float samples");
    return { 1 + (2 * reach + 1) * (symbols.is_complex() ? 2 : 1),
             patterns,
             window_geometry(sps, 0, complex).stride() };
}

expected_waveform::expected_waveform(const constellation& symbols,
                                     unsigned sps,
                                     bool complex,
                                     unsigned affine_reach,
                                     unsigned context,
                                     unsigned memory)
    : d_shape(shape_of(symbols, sps, complex, affine_reach, context)),
      d_complex(complex),
      d_dimensions(symbols.is_complex() ? 2 : 1),
      d_classes(symbols.size()),
      d_reach(affine_reach),
      d_context(context),
      d_polynomial(sps, complex, memory)
{
    for (const auto& point : symbols.unit_points()) {
        d_points.push_back(point.real());
        if (d_dimensions == 2)
            d_points.push_back(point.imag());
    }
    d_probabilities.assign(d_classes, 1 / static_cast<float>(d_classes));
    d_affine.resize(rows() * stride());
    d_table.resize(patterns() * stride());
    d_near = d_table;
    d_far.resize((2 * d_reach + 1 - context) * d_classes * stride());
}

void expected_waveform::set(std::vector<float> affine,
                            std::vector<float> table,
                            float noise,
                            std::vector<float> correlation,
                            std::vector<float> polynomial)
{
    const std::size_t planes = d_complex ? 2 : 1;
    if (correlation.empty()) {
        correlation.resize(lags() * planes);
        correlation[lags() / 2 * planes] = noise * noise * static_cast<float>(planes);
    }
    if (correlation.size() != lags() * planes)
        refuse("waveform noise correlation",
               correlation.size(),
               std::to_string(lags() * planes));
    if (affine.size() != d_affine.size())
        refuse("waveform affine", affine.size(), std::to_string(d_affine.size()));
    if (table.size() != d_table.size())
        refuse("waveform table", table.size(), std::to_string(d_table.size()));
    if (!all_usable(affine.data(), affine.size()) ||
        !all_usable(table.data(), table.size()) ||
        !all_usable(correlation.data(), correlation.size()))
        refuse("a value of the waveform",
               "not finite, or too large",
               "up to " + std::to_string(static_cast<int>(largest_sample)));
    if (!(noise > 0 && noise <= largest_sample))
        refuse("waveform noise",
               noise,
               "above 0 to " + std::to_string(static_cast<int>(largest_sample)));
    if (polynomial.empty())
        polynomial.resize(d_polynomial.coefficients().size());
    d_polynomial.set(polynomial);
    d_affine = std::move(affine);
    d_table = std::move(table);
    d_noise = noise;
    d_correlation = std::move(correlation);

    sum_near();
    std::fill(d_far.begin(), d_far.end(), 0.0f);
    const std::size_t first = d_reach - d_context / 2; // of a pattern
    float* sum = d_far.data();
    for (std::size_t place = 0; place <= 2 * d_reach; ++place)
        if (place < first || place >= first + d_context)
            for (std::size_t label = 0; label < d_classes; ++label, sum += stride())
                add_affine(place, label, sum);
}

void expected_waveform::set_nonlinear(const std::vector<float>& table,
                                      const std::vector<float>& polynomial)
{
    if (table.size() != d_table.size())
        refuse("waveform table", table.size(), std::to_string(d_table.size()));
    d_polynomial.set(polynomial);
    std::copy(table.begin(), table.end(), d_table.begin());
    if (!d_polynomial.memory())
        sum_near();
}

// To `sum` the affine part of a symbol, the `place`-th of those in reach.
void expected_waveform::add_affine(std::size_t place, std::size_t label, float* sum) const
{
    for (std::size_t d = 0; d < d_dimensions; ++d)
        for (std::size_t j = 0; j < stride(); ++j)
            sum[j] += d_points[label * d_dimensions + d] *
                      d_affine[(1 + place * d_dimensions + d) * stride() + j];
}

void expected_waveform::sum_near()
{
    const std::size_t first = d_reach - d_context / 2; // of a pattern
    if (d_polynomial.memory())
        std::fill(d_near.begin(), d_near.end(), 0.0f);
    else
        std::copy(d_table.begin(), d_table.end(), d_near.begin());
    for (std::size_t pattern = 0; pattern < patterns(); ++pattern) {
        float* sum = &d_near[pattern * stride()];
        for (std::size_t j = 0; j < stride(); ++j)
            sum[j] += d_affine[j];
        std::size_t labels = pattern; // the latest counts least
        for (std::size_t k = d_context; k-- > 0; labels /= d_classes)
            add_affine(first + k, labels % d_classes, sum);
    }
}

std::size_t expected_waveform::pattern(const std::uint8_t* label) const
{
    const std::uint8_t* const first = label - d_context / 2;
    std::size_t found = 0;
    for (std::size_t k = 0; k < d_context; ++k)
        found = found * d_classes + first[k];
    return found;
}

// `width` is the stride, which a compiler that knows it turns into vectors; 0 for others.
template <std::size_t width>
void expected_waveform::sum(const std::uint8_t* labels,
                            std::size_t count,
                            float* samples) const
{
    const std::size_t stride = width ? width : d_shape.stride;
    const std::size_t before = d_reach - d_context / 2;
    const std::size_t behind = 2 * d_reach + 1 - before - d_context;
    const std::uint8_t* window = labels - d_reach; // of the first symbol
    std::size_t pattern = 0;
    for (std::size_t k = 0; k + 1 < d_context; ++k)
        pattern = pattern * d_classes + window[before + k];
    const std::size_t oldest = d_context ? patterns() / d_classes : 0;

    for (std::size_t i = 0; i < count; ++i, ++window, samples += stride) {
        if (d_context)
            pattern = pattern * d_classes + window[before + d_context - 1];
        float local[width ? width : 1];
        float* total = width ? local : samples;
        std::copy_n(&d_near[pattern * stride], stride, total);
        const float* far = d_far.data();
        const auto add = [&](std::uint8_t label) {
            const float* row = far + label * stride;
            for (std::size_t j = 0; j < stride; ++j)
                total[j] += row[j];
            far += d_classes * stride;
        };
        for (std::size_t k = 0; k < before; ++k)
            add(window[k]);
        for (std::size_t k = 0; k < behind; ++k)
            add(window[before + d_context + k]);
        if constexpr (width != 0)
            std::copy_n(local, width, samples);
        pattern -= oldest * window[before];
    }
}

void expected_waveform::add_up(const std::uint8_t* labels,
                               std::size_t count,
                               float* samples) const
{
    switch (stride()) {
    case 2:
        return sum<2>(labels, count, samples);
    case 4:
        return sum<4>(labels, count, samples);
    case 8:
        return sum<8>(labels, count, samples);
    default:
        return sum<0>(labels, count, samples);
    }
}

void expected_waveform::expect_affine(const std::uint8_t* labels,
                                      std::size_t count,
                                      float* samples) const
{
    if (!d_polynomial.memory())
        throw std::logic_error("an affine part that is not apart from its table");
    add_up(labels, count, samples);
}

// Calls use(first symbol, symbols, their affine part) for all, some at a time. The part has reach() symbols more around.
template <typename Use>
void expected_waveform::with_affine(const std::uint8_t* labels,
                                    std::size_t count,
                                    Use use) const
{
    constexpr std::size_t most_floats = 1024;
    float affine[most_floats];
    const std::size_t around = d_polynomial.reach();
    const std::size_t most = most_floats / stride() - 2 * around; // symbols
    for (std::size_t first = 0; first < count; first += most) {
        const std::size_t n = std::min(most, count - first);
        add_up(labels + first - around, n + 2 * around, affine);
        use(first, n, affine + around * stride());
    }
}

void expected_waveform::expect(const std::uint8_t* labels,
                               std::size_t count,
                               float* samples) const
{
    if (!d_polynomial.memory())
        return add_up(labels, count, samples);
    with_affine(
        labels, count, [&](std::size_t first, std::size_t n, const float* affine) {
            float* const sum = samples + first * stride();
            std::copy_n(affine, n * stride(), sum);
            d_polynomial.add(affine, n, sum);
        });
    add_table(labels, count, samples);
}

void expected_waveform::expect_nonlinear(const std::uint8_t* labels,
                                         std::size_t count,
                                         float* samples) const
{
    for (std::size_t i = 0; i < count; ++i)
        std::copy_n(d_affine.begin(), stride(), samples + i * stride());
    if (d_polynomial.memory())
        with_affine(
            labels, count, [&](std::size_t first, std::size_t n, const float* affine) {
                d_polynomial.add(affine, n, samples + first * stride());
            });
    add_table(labels, count, samples);
}

void expected_waveform::add_table(const std::uint8_t* labels,
                                  std::size_t count,
                                  float* samples) const
{
    for (std::size_t i = 0; i < count; ++i, samples += stride()) {
        const float* const row = &d_table[pattern(labels + i) * stride()];
        for (std::size_t j = 0; j < stride(); ++j)
            samples[j] += row[j];
    }
}

bool expected_waveform::has_equal_probabilities() const
{
    return std::adjacent_find(d_probabilities.begin(),
                              d_probabilities.end(),
                              std::not_equal_to<>()) == d_probabilities.end();
}

void expected_waveform::set_probabilities(std::vector<float> probabilities)
{
    constexpr double rounding = 1e-3;
    if (probabilities.size() != d_classes)
        refuse("label probabilities", probabilities.size(), std::to_string(d_classes));
    double sum = 0;
    for (const float each : probabilities) {
        check_range("a label's probability", each, 0.0f, 1.0f);
        sum += each;
    }
    check_range("sum of label probabilities", sum, 1 - rounding, 1 + rounding);
    if (std::count_if(probabilities.begin(), probabilities.end(), [](float each) {
            return each > 0;
        }) < 2)
        refuse("label probabilities", "of one label alone", "two labels or more");
    d_probabilities = std::move(probabilities);
}

std::vector<float> expected_waveform::drawn() const
{
    std::vector<std::uint8_t> labels(drawn_symbols + 2 * reach());
    std::uint64_t random = 1;
    if (has_equal_probabilities()) {
        for (auto& label : labels)
            label = static_cast<std::uint8_t>((split_mix(random) >> 32) % d_classes);
    } else {
        std::vector<double> up_to(d_classes); // and with a label
        std::partial_sum(d_probabilities.begin(), d_probabilities.end(), up_to.begin());
        for (auto& label : labels) {
            const double at =
                std::ldexp(static_cast<double>(split_mix(random) >> 11), -53) *
                up_to.back();
            label = static_cast<std::uint8_t>(
                std::upper_bound(up_to.begin(), up_to.end() - 1, at) - up_to.begin());
        }
    }
    std::vector<float> samples(drawn_symbols * stride());
    expect(&labels[reach()], drawn_symbols, samples.data());
    return samples;
}

float expected_waveform::power() const
{
    double sum = 0, samples = 0;
    for (const float value : drawn()) {
        sum += double{ value } * value;
        samples += d_complex ? 0.5 : 1;
    }
    return static_cast<float>(sum / samples);
}

float expected_waveform::peak() const
{
    const auto samples = drawn();
    float most = 0;
    for (std::size_t i = 0; i < samples.size(); i += d_complex ? 2 : 1)
        most = std::max(most,
                        samples[i] * samples[i] +
                            (d_complex ? samples[i + 1] * samples[i + 1] : 0.0f));
    return most;
}

double expected_waveform::residual(const std::uint8_t* labels,
                                   const float* samples,
                                   std::size_t count) const
{
    float expected[1024];
    const std::size_t most = std::size(expected) / stride();
    double total = 0;
    for (std::size_t first = 0; first < count; first += most) {
        const std::size_t n = std::min(most, count - first);
        expect(labels + first, n, expected);
        float part = 0;
        for (std::size_t j = 0; j < n * stride(); ++j) {
            const float difference = samples[first * stride() + j] - expected[j];
            part += difference * difference;
        }
        total += part;
    }
    return total / static_cast<double>(count * stride());
}

bool expected_waveform::operator==(const expected_waveform& other) const
{
    return d_complex == other.d_complex && d_points == other.d_points &&
           stride() == other.stride() && d_reach == other.d_reach &&
           d_context == other.d_context && d_affine == other.d_affine &&
           d_polynomial.coefficients() == other.d_polynomial.coefficients() &&
           d_table == other.d_table && d_noise == other.d_noise &&
           d_correlation == other.d_correlation &&
           d_probabilities == other.d_probabilities;
}

} // namespace gr::adann::core
