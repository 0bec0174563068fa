/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/fit_waveform.h"

#include "core/common/checks.h"
#include "core/common/cholesky.h"
#include "core/signal/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

namespace {

// A larger table is taken if it lowers the mean squared error by more than this part.
constexpr double least_gain = 1e-3;

// Labelled symbols and where their neighbours end.
struct record {
    const float* samples;
    const std::uint8_t* labels;
    std::size_t stride;
    std::vector<std::size_t> used; // symbols
};

std::vector<float> fit_affine(const constellation& symbols,
                              const record& given,
                              const expected_waveform& shape)
{
    const std::size_t rows = shape.rows(), stride = given.stride;
    const std::size_t dimensions = symbols.is_complex() ? 2 : 1;
    double power = 0;
    for (const auto& point : symbols.points())
        power += std::norm(point) / static_cast<double>(symbols.size());
    std::vector<double> gram(rows * rows), moments(rows * stride), a(rows, 1.0);
    for (const std::size_t i : given.used) {
        const std::uint8_t* label = given.labels + i - shape.reach();
        for (std::size_t row = 1; row < rows; row += dimensions, ++label) {
            const std::complex<double> point(symbols.points()[*label]);
            a[row] = point.real() / std::sqrt(power);
            if (dimensions == 2)
                a[row + 1] = point.imag() / std::sqrt(power);
        }
        const float* x = given.samples + i * stride;
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t column = 0; column <= row; ++column)
                gram[row * rows + column] += a[row] * a[column];
            for (std::size_t j = 0; j < stride; ++j)
                moments[row * stride + j] += a[row] * x[j];
        }
    }
    // As one symbol more that says "zero": what the labels do not determine stays small.
    for (std::size_t row = 0; row < rows; ++row)
        gram[row * rows + row] += 1;
    if (!solve(gram, rows, moments, stride))
        throw std::logic_error("fit_waveform: no positive definite covariance");
    return { moments.begin(), moments.end() };
}

struct pattern_table {
    unsigned context = 0;
    double error = std::numeric_limits<double>::infinity(); // leave-one-out, squared, sum
    std::vector<float> values;
};

/* Sum over the N symbols of a pattern of |r - (S - r)/(N - 1 + k)|², what each leaves if
 * the table is made without it. */
double left_out(double n, double squares, double square_of_sum, double k)
{
    const double b = 1 / (n - 1 + k);
    return (1 + b) * (1 + b) * squares + (n * b - 2 * (1 + b)) * b * square_of_sum;
}

// \param rest what the affine part leaves of the samples
pattern_table fit_table(const record& given,
                        const std::vector<float>& rest,
                        const expected_waveform& shape,
                        std::size_t classes)
{
    const std::size_t stride = given.stride, patterns = shape.patterns();
    std::vector<double> sums(patterns * stride), squares(patterns), counts(patterns);
    for (std::size_t u = 0; u < given.used.size(); ++u) {
        const std::uint8_t* label =
            given.labels + given.used[u] - shape.context() / 2; // the earliest
        std::size_t pattern = 0;
        for (std::size_t k = 0; k < shape.context(); ++k)
            pattern = pattern * classes + label[k];
        for (std::size_t j = 0; j < stride; ++j) {
            const double r = rest[u * stride + j];
            sums[pattern * stride + j] += r;
            squares[pattern] += r * r;
        }
        ++counts[pattern];
    }

    pattern_table best;
    best.context = shape.context();
    double best_k = 1;
    for (double k = 0.5; k <= 4096; k *= 2) {
        double error = 0;
        for (std::size_t pattern = 0; pattern < patterns; ++pattern) {
            double square_of_sum = 0;
            for (std::size_t j = 0; j < stride; ++j)
                square_of_sum += sums[pattern * stride + j] * sums[pattern * stride + j];
            if (counts[pattern] > 0)
                error += left_out(counts[pattern], squares[pattern], square_of_sum, k);
        }
        if (error < best.error) {
            best.error = error;
            best_k = k;
        }
    }
    best.values.resize(patterns * stride);
    for (std::size_t each = 0; each < best.values.size(); ++each)
        best.values[each] = sums[each] / (counts[each / stride] + best_k);
    return best;
}

} // namespace

expected_waveform fit_waveform(const constellation& symbols,
                               unsigned sps,
                               bool complex,
                               const float* samples,
                               const std::uint8_t* labels,
                               std::size_t count,
                               unsigned reach)
{
    expected_waveform affine(symbols, sps, complex, reach, 0);
    const std::size_t stride = affine.stride();
    for (std::size_t i = 0; i < count; ++i)
        check_range<std::size_t>("a label", labels[i], 0, symbols.size() - 1);
    record given{ samples, labels, stride, {} };
    for (std::size_t i = reach; i + reach < count; ++i)
        if (all_usable(samples + i * stride, stride))
            given.used.push_back(i);
    const std::size_t used = given.used.size();
    if (used < 2 * affine.rows())
        refuse("labelled symbols with usable samples and their neighbours",
               used,
               "at least " + std::to_string(2 * affine.rows()));

    affine.set(fit_affine(symbols, given, affine), affine.table(), 1);
    std::vector<float> rest(used * stride);
    pattern_table best;
    best.values.resize(stride);
    best.error = 0;
    for (std::size_t u = 0; u < used; ++u) {
        float* r = &rest[u * stride];
        affine.expect(labels + given.used[u], 1, r);
        for (std::size_t j = 0; j < stride; ++j) {
            r[j] = samples[given.used[u] * stride + j] - r[j];
            best.error += double(r[j]) * r[j];
        }
    }
    std::size_t patterns = 1;
    for (unsigned context = 1; context <= 2 * reach + 1; ++context) {
        patterns *= symbols.size();
        if (patterns > std::min(used, expected_waveform::most_patterns))
            break;
        pattern_table table =
            fit_table(given,
                      rest,
                      expected_waveform(symbols, sps, complex, reach, context),
                      symbols.size());
        if (table.error < (1 - least_gain) * best.error)
            best = std::move(table);
    }
    // The affine part was fitted to the same symbols: so many degrees of freedom less.
    const double degrees = static_cast<double>((used - affine.rows()) * stride);
    expected_waveform fitted(symbols, sps, complex, reach, best.context);
    // Not zero: a noise without noise.
    const auto noise =
        std::max(static_cast<float>(std::sqrt(best.error / degrees)), 1e-6f);
    fitted.set(affine.affine(), std::move(best.values), noise);
    return fitted;
}

} // namespace gr::adann::core
