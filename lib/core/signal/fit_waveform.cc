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

// A larger table is taken if it lowers the squared error by so many standard errors,
constexpr double least_gain = 3;
// and a longer reach, which costs latency, if it does by this part.
constexpr double least_gain_of_reach = 1e-2;

// Labelled symbols, those of them whose samples and neighbours are known.
struct record {
    const float* samples;
    const std::uint8_t* labels;
    std::size_t stride;
    std::vector<std::size_t> used;
};

// The least squares of the affine part, for the longest reach: it holds all shorter ones.
class normal_equations
{
public:
    normal_equations(const constellation& symbols,
                     const record& given,
                     const expected_waveform& longest)
        : d_rows(longest.rows()),
          d_stride(given.stride),
          d_dimensions(symbols.is_complex() ? 2 : 1),
          d_used(given.used.size()),
          d_gram(d_rows * d_rows),
          d_moments(d_rows * d_stride)
    {
        double power = 0;
        for (const auto& point : symbols.points())
            power += std::norm(point) / static_cast<double>(symbols.size());
        std::vector<double> a(d_rows, 1.0);
        for (const std::size_t i : given.used) {
            const std::uint8_t* label = given.labels + i - longest.reach();
            for (std::size_t row = 1; row < d_rows; row += d_dimensions, ++label) {
                const auto point = symbols.points()[*label];
                a[row] = point.real() / std::sqrt(power);
                if (d_dimensions == 2)
                    a[row + 1] = point.imag() / std::sqrt(power);
            }
            add(a, given.samples + i * d_stride);
        }
        // As one symbol more that says "zero": what the labels do not determine is small.
        for (std::size_t row = 0; row < d_rows; ++row)
            d_gram[row * d_rows + row] += 1;
    }

    struct solution {
        std::vector<double> affine; // as expected_waveform::affine()
        double error;               // squared, of a degree of freedom
    };
    solution solve_for(std::size_t reach) const
    {
        const std::size_t n = 1 + (2 * reach + 1) * d_dimensions;
        const std::size_t skipped = (d_rows - n) / 2; // on each side
        const auto full = [&](std::size_t row) { return row ? row + skipped : 0; };
        std::vector<double> gram(n * n), moments(n * d_stride);
        for (std::size_t row = 0; row < n; ++row) {
            for (std::size_t column = 0; column <= row; ++column)
                gram[row * n + column] = d_gram[full(row) * d_rows + full(column)];
            std::copy_n(
                &d_moments[full(row) * d_stride], d_stride, &moments[row * d_stride]);
        }
        solution found{ moments, d_squares };
        if (!solve(gram, n, found.affine, d_stride))
            throw std::logic_error("fit_waveform: no positive definite covariance");
        for (std::size_t k = 0; k < moments.size(); ++k)
            found.error -= moments[k] * found.affine[k];
        found.error /= static_cast<double>((d_used - n) * d_stride);
        return found;
    }

private:
    void add(const std::vector<double>& a, const float* x)
    {
        for (std::size_t row = 0; row < d_rows; ++row) {
            for (std::size_t column = 0; column <= row; ++column)
                d_gram[row * d_rows + column] += a[row] * a[column];
            for (std::size_t j = 0; j < d_stride; ++j)
                d_moments[row * d_stride + j] += a[row] * x[j];
        }
        for (std::size_t j = 0; j < d_stride; ++j)
            d_squares += double(x[j]) * x[j];
    }

    std::size_t d_rows, d_stride, d_dimensions, d_used;
    std::vector<double> d_gram, d_moments;
    double d_squares = 0;
};

// The affine part of the shortest reach that is nearly as good as the best one.
expected_waveform fit_affine(const constellation& symbols,
                             unsigned sps,
                             bool complex,
                             const record& given,
                             unsigned most_reach)
{
    const normal_equations equations(
        symbols, given, { symbols, sps, complex, most_reach, 0 });
    std::vector<normal_equations::solution> solutions;
    double least = std::numeric_limits<double>::infinity();
    for (unsigned reach = 0; reach <= most_reach; ++reach) {
        solutions.push_back(equations.solve_for(reach));
        least = std::min(least, solutions.back().error);
    }
    unsigned reach = 0;
    while ((1 - least_gain_of_reach) * solutions[reach].error > least)
        ++reach;
    expected_waveform fitted(symbols, sps, complex, reach, 0);
    const auto& affine = solutions[reach].affine;
    fitted.set({ affine.begin(), affine.end() }, fitted.table(), 1);
    return fitted;
}

struct pattern_table {
    unsigned context = 0;
    // Where each symbol is left out of its own table: the sum of the squares that it
    // leaves, and of those of what the table says.
    double error = std::numeric_limits<double>::infinity(), predicted = 0;
    std::vector<float> values;
};

/* Adds the N symbols of a pattern, of which the table without symbol i says p = (S -
 * r)/(N - 1 + k), and leaves r - p. */
void add_left_out(
    pattern_table& total, double n, double squares, double square_of_sum, double k)
{
    const double b = 1 / (n - 1 + k);
    total.predicted += b * b * ((n - 2) * square_of_sum + squares);
    total.error +=
        (1 + b) * (1 + b) * squares + (n * b - 2 * (1 + b)) * b * square_of_sum;
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
    double best_k = 1;
    for (double k = 0.5; k <= 4096; k *= 2) {
        pattern_table tried{ unsigned(shape.context()), 0, 0, {} };
        for (std::size_t pattern = 0; pattern < patterns; ++pattern) {
            double square_of_sum = 0;
            for (std::size_t j = 0; j < stride; ++j)
                square_of_sum += sums[pattern * stride + j] * sums[pattern * stride + j];
            if (counts[pattern] > 0)
                add_left_out(tried, counts[pattern], squares[pattern], square_of_sum, k);
        }
        if (tried.error < best.error) {
            best = tried;
            best_k = k;
        }
    }
    best.values.resize(patterns * stride);
    for (std::size_t each = 0; each < best.values.size(); ++each)
        best.values[each] = sums[each] / (counts[each / stride] + best_k);
    return best;
}

// What the samples have in common with what the waveform leaves of them, over all pairs used.
std::vector<float> noise_correlation(const expected_waveform& fitted, const record& given)
{
    const std::size_t planes = fitted.is_complex() ? 2 : 1, stride = given.stride;
    const std::size_t first = given.used.front();
    const std::size_t symbols = given.used.back() + 1 - first;
    // Those that are not used are zero, and not counted.
    std::vector<float> left(symbols * stride), samples(left), counts(symbols);
    for (const std::size_t symbol : given.used) {
        float* const rest = &left[(symbol - first) * stride];
        float* const own = &samples[(symbol - first) * stride];
        std::copy_n(given.samples + symbol * stride, stride, own);
        fitted.expect(given.labels + symbol, 1, rest);
        for (std::size_t j = 0; j < stride; ++j)
            rest[j] = own[j] - rest[j];
        counts[symbol - first] = 1;
    }
    const std::size_t n = symbols * fitted.sps();
    const std::size_t reach = expected_waveform::noise_reach * fitted.sps();
    std::vector<float> found;
    for (std::size_t k = 0; k <= 2 * reach; ++k) {
        double re = 0, im = 0, pairs = 0;
        const std::size_t later = k > reach ? k - reach : 0; // by which x is behind v
        const std::size_t sooner = k < reach ? reach - k : 0;
        for (std::size_t i = sooner; i + later < n; ++i) {
            const std::size_t j = i + later - sooner;
            const float *v = &left[i * planes], *x = &samples[j * planes];
            re += double(x[0]) * v[0];
            if (planes == 2) {
                re += double(x[1]) * v[1];
                im += double(x[0]) * v[1] - double(x[1]) * v[0];
            }
            pairs += counts[i / fitted.sps()] * counts[j / fitted.sps()];
        }
        pairs = std::max(pairs, 1.0);
        found.push_back(static_cast<float>(re / pairs));
        if (planes == 2)
            found.push_back(static_cast<float>(im / pairs));
    }
    return found;
}

} // namespace

expected_waveform fit_waveform(const constellation& symbols,
                               unsigned sps,
                               bool complex,
                               const float* samples,
                               const std::uint8_t* labels,
                               std::size_t count,
                               unsigned most_reach)
{
    const expected_waveform longest(symbols, sps, complex, most_reach, 0);
    const std::size_t stride = longest.stride();
    for (std::size_t i = 0; i < count; ++i)
        check_range<std::size_t>("a label", labels[i], 0, symbols.size() - 1);
    record given{ samples, labels, stride, {} };
    for (std::size_t i = most_reach; i + most_reach < count; ++i)
        if (all_usable(samples + i * stride, stride))
            given.used.push_back(i);
    const std::size_t used = given.used.size();
    if (used < 2 * longest.rows())
        refuse("labelled symbols with usable samples and neighbours",
               used,
               "at least " + std::to_string(2 * longest.rows()));

    const expected_waveform affine = fit_affine(symbols, sps, complex, given, most_reach);
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
    const unsigned reach = affine.reach();
    for (unsigned context = 1; context <= 2 * reach + 1; ++context) {
        patterns *= symbols.size();
        if (patterns > std::min(used, expected_waveform::most_patterns))
            break;
        pattern_table table = fit_table(
            given, rest, { symbols, sps, complex, reach, context }, symbols.size());
        // What it gains is 2 rp - p²: of noise alone the sum varies by 2σ √(Σ p²).
        const double variance = best.error / static_cast<double>(used * stride);
        if (best.error - table.error >
            least_gain * 2 * std::sqrt(variance * table.predicted))
            best = std::move(table);
    }
    // The affine part was fitted to the same symbols: so many degrees of freedom less.
    const double degrees = static_cast<double>((used - affine.rows()) * stride);
    expected_waveform fitted(symbols, sps, complex, reach, best.context);
    // Never zero, which noise that scales with it would need.
    const auto noise =
        std::max(static_cast<float>(std::sqrt(best.error / degrees)), 1e-6f);
    fitted.set(affine.affine(), best.values, noise);
    fitted.set(affine.affine(), best.values, noise, noise_correlation(fitted, given));
    return fitted;
}

} // namespace gr::adann::core
