/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/fit_waveform.h"

#include "core/common/checks.h"
#include "core/signal/fit_polynomial.h"
#include "core/signal/impulse_detector.h"
#include "core/signal/linear_regression.h"
#include "core/signal/median.h"
#include "core/signal/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gr::adann::core {

namespace {

// A larger table is taken if it lowers the squared error by so many standard errors,
constexpr double least_gain = 3;
// and a longer reach, which costs latency, if it does by this part.
constexpr double least_gain_of_reach = 1e-2;
// A polynomial is taken if its residual is so much less than a table's alone.
constexpr double least_gain_of_polynomial = 1e-2;
// Of so many symbols, a residual so many times the median's is a disturbance: of Gaussian noise, at one real sample a
// symbol, it is in one of three million cases. Residuals below such a part of the power are rounding.
constexpr std::size_t stretch = 16;
constexpr double disturbed = 4;
constexpr double rounding = 1e-6;

// A record of labelled symbols, and those of them whose samples and neighbours can be used.
struct record {
    const float* samples;
    const std::uint8_t* labels;
    std::size_t stride;
    std::vector<std::size_t> used;
};

// Sums for the least squares of the affine part of the longest reach, which
// include those of shorter ones.
linear_regression observe_affine(const constellation& symbols,
                                 const record& given,
                                 const expected_waveform& longest)
{
    const std::size_t dimensions = symbols.dimensions();
    const double rms = std::sqrt(double{ symbols.power() });
    linear_regression sums(longest.rows(), given.stride);
    std::vector<double> a(longest.rows(), 1.0);
    for (const std::size_t i : given.used) {
        const std::uint8_t* label = given.labels + i - longest.reach();
        for (std::size_t row = 1; row < a.size(); row += dimensions, ++label) {
            const auto point = symbols.points()[*label];
            a[row] = point.real() / rms;
            if (dimensions == 2)
                a[row + 1] = point.imag() / rms;
        }
        sums.add(a.data(), given.samples + i * given.stride);
    }
    return sums;
}

// The affine part of the shortest reach that is nearly as good as the best one.
expected_waveform fit_affine(const constellation& symbols,
                             unsigned sps,
                             bool complex,
                             const record& given,
                             unsigned most_reach)
{
    const auto sums =
        observe_affine(symbols, given, { symbols, sps, complex, most_reach, 0 });
    std::vector<std::vector<double>> found;
    std::vector<double> errors; // squared residual per degree of freedom
    double least = std::numeric_limits<double>::infinity();
    for (unsigned reach = 0; reach <= most_reach; ++reach) {
        std::vector<std::size_t> rows{ 0 };
        const std::size_t n = (2 * reach + 1) * symbols.dimensions();
        for (std::size_t k = 0; k < n; ++k)
            rows.push_back(1 + (sums.unknowns() - 1 - n) / 2 + k);
        auto solution = sums.solve_for(rows);
        errors.push_back(solution.residual /
                         static_cast<double>(sums.observations() - rows.size()));
        found.push_back(std::move(solution.values));
        least = std::min(least, errors.back());
    }
    unsigned reach = 0;
    while ((1 - least_gain_of_reach) * errors[reach] > least)
        ++reach;
    expected_waveform fitted(symbols, sps, complex, reach, 0);
    fitted.set({ found[reach].begin(), found[reach].end() }, fitted.table(), 1);
    return fitted;
}

struct pattern_table {
    unsigned context = 0;
    // With each symbol left out of its own table: Σ of squared residuals, and
    // of the table's squared predictions.
    double error = std::numeric_limits<double>::infinity(), predicted = 0;
    std::vector<float> values;
};

/* Adds the N symbols of a pattern. For symbol i, with residual r before the table, the table
 * without it predicts p = (S - r)/(N - 1 + k), and the residual is r - p. */
void add_left_out(
    pattern_table& total, double n, double squares, double square_of_sum, double k)
{
    const double b = 1 / (n - 1 + k);
    total.predicted += b * b * ((n - 2) * square_of_sum + squares);
    total.error +=
        (1 + b) * (1 + b) * squares + (n * b - 2 * (1 + b)) * b * square_of_sum;
}

// \param rest residual of the affine part
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

// The residual of a waveform, of the samples that are used.
std::vector<float> what_is_left(const expected_waveform& waveform, const record& given)
{
    const std::size_t stride = given.stride;
    std::vector<float> rest(given.used.size() * stride);
    for (std::size_t u = 0; u < given.used.size();) {
        std::size_t n = 1; // one after the other
        while (u + n < given.used.size() && given.used[u + n] == given.used[u] + n)
            ++n;
        waveform.expect(given.labels + given.used[u], n, &rest[u * stride]);
        const float* const own = given.samples + given.used[u] * stride;
        for (std::size_t j = 0; j < n * stride; ++j)
            rest[u * stride + j] = own[j] - rest[u * stride + j];
        u += n;
    }
    return rest;
}

// \param rest residual of `without`, a waveform without a table
pattern_table choose_table(const constellation& symbols,
                           const expected_waveform& without,
                           const record& given,
                           const std::vector<float>& rest)
{
    pattern_table best;
    best.values.resize(given.stride);
    best.error = 0;
    for (const float r : rest)
        best.error += double(r) * r;
    std::size_t patterns = 1;
    const auto reach = static_cast<unsigned>(without.affine_reach());
    for (unsigned context = 1; context <= 2 * reach + 1; ++context) {
        patterns *= symbols.size();
        if (patterns > std::min(given.used.size(), expected_waveform::most_patterns))
            break;
        const expected_waveform shape(symbols,
                                      static_cast<unsigned>(without.sps()),
                                      without.is_complex(),
                                      reach,
                                      context);
        pattern_table table = fit_table(given, rest, shape, symbols.size());
        // A symbol's gain is 2 rp - p²: for noise alone the sum has a deviation of 2σ √(Σ p²).
        const double variance = best.error / static_cast<double>(rest.size());
        if (best.error - table.error >
            least_gain * 2 * std::sqrt(variance * table.predicted))
            best = std::move(table);
    }
    return best;
}

// The correlation of the samples with the waveform's residual, over all pairs used.
std::vector<float> noise_correlation(const expected_waveform& fitted, const record& given)
{
    const std::size_t planes = fitted.is_complex() ? 2 : 1, stride = given.stride;
    const std::size_t first = given.used.front();
    const std::size_t symbols = given.used.back() + 1 - first;
    // Symbols that are not used are zero, and not counted.
    std::vector<float> residuals(symbols * stride), samples(residuals), counts(symbols);
    const auto rest = what_is_left(fitted, given);
    for (std::size_t u = 0; u < given.used.size(); ++u) {
        const std::size_t symbol = given.used[u];
        std::copy_n(
            given.samples + symbol * stride, stride, &samples[(symbol - first) * stride]);
        std::copy_n(&rest[u * stride], stride, &residuals[(symbol - first) * stride]);
        counts[symbol - first] = 1;
    }
    const std::size_t n = symbols * fitted.sps();
    const std::size_t reach = expected_waveform::noise_reach * fitted.sps();
    std::vector<float> found;
    for (std::size_t k = 0; k <= 2 * reach; ++k) {
        double re = 0, im = 0, pairs = 0;
        const std::size_t later = k > reach ? k - reach : 0; // by which x is later than v
        const std::size_t sooner = k < reach ? reach - k : 0;
        for (std::size_t i = sooner; i + later < n; ++i) {
            const std::size_t j = i + later - sooner;
            const float *v = &residuals[i * planes], *x = &samples[j * planes];
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

// The waveform of the symbols that are used.
expected_waveform fit_used(const constellation& symbols,
                           unsigned sps,
                           bool complex,
                           const record& given,
                           unsigned most_reach)
{
    const expected_waveform affine = fit_affine(symbols, sps, complex, given, most_reach);
    pattern_table table =
        choose_table(symbols, affine, given, what_is_left(affine, given));
    memory_polynomial polynomial =
        fit_polynomial(affine, given.samples, given.labels, given.used);
    if (polynomial.memory()) {
        expected_waveform both(
            symbols, sps, complex, affine.affine_reach(), 0, polynomial.memory());
        both.set(affine.affine(), both.table(), 1, {}, polynomial.coefficients());
        pattern_table other =
            choose_table(symbols, both, given, what_is_left(both, given));
        if (other.error >= (1 - least_gain_of_polynomial) * table.error) {
            polynomial = { sps, complex, 0 };
        } else if (other.context > 0) {
            table = std::move(other);
        } else { // not significant now, but the transmitter may change
            std::fill(table.values.begin(), table.values.end(), 0.0f);
            table.error = other.error;
        }
    }
    expected_waveform fitted(
        symbols, sps, complex, affine.affine_reach(), table.context, polynomial.memory());
    const auto set = [&](float noise, std::vector<float> correlation) {
        fitted.set(affine.affine(),
                   table.values,
                   noise,
                   std::move(correlation),
                   polynomial.coefficients());
    };
    // The affine part and the polynomial were fitted to the same symbols,
    // which reduces the degrees of freedom.
    const double degrees =
        static_cast<double>((given.used.size() - affine.rows()) * given.stride) -
        static_cast<double>(polynomial.coefficients().size());
    // Above zero, as automatic settings scale with it.
    const auto noise = std::max(
        static_cast<float>(std::sqrt(table.error / std::max(degrees, 1.0))), 1e-6f);
    set(noise, {});
    set(noise, noise_correlation(fitted, given));
    return fitted;
}

/* Those of the symbols used in whose stretch the residual is as of most: others came with interference that comes and
 * goes, as pulses of a radar. They say little of the waveform, and noise that counts them is many times that of the rest. */
std::vector<std::size_t> undisturbed(const expected_waveform& fitted, const record& given)
{
    const auto rest = what_is_left(fitted, given);
    const std::size_t stretches = std::max<std::size_t>(given.used.size() / stretch, 1);
    const auto stretch_of = [&](std::size_t u) {
        return std::min(u / stretch, stretches - 1);
    };
    std::vector<double> powers(stretches), counts(stretches);
    for (std::size_t u = 0; u < given.used.size(); ++u) {
        const float* const own = &rest[u * given.stride];
        powers[stretch_of(u)] += std::inner_product(own, own + given.stride, own, 0.0);
        counts[stretch_of(u)] += static_cast<double>(given.stride);
    }
    for (std::size_t s = 0; s < stretches; ++s)
        powers[s] /= counts[s];
    std::vector<double> sorted = powers;
    const double most = disturbed * std::max(median(sorted.begin(), sorted.end()),
                                             rounding * double{ fitted.power() });
    std::vector<std::size_t> found;
    for (std::size_t u = 0; u < given.used.size(); ++u)
        if (powers[stretch_of(u)] <= most)
            found.push_back(given.used[u]);
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
    const std::size_t around = most_reach + memory_polynomial::most_symbols;
    impulse_detector impulses(sps);
    const std::size_t planes = complex ? 2 : 1;
    for (std::size_t i = 0; i + around < count; ++i) {
        const float* const own = samples + i * stride;
        bool has_impulse = false;
        for (std::size_t j = 0; j < stride; j += planes)
            has_impulse |= impulses.take(
                std::inner_product(own + j, own + j + planes, own + j, 0.0f));
        if (i >= around && !has_impulse && all_usable(own, stride))
            given.used.push_back(i);
    }
    const std::size_t least = 2 * longest.rows();
    if (given.used.size() < least)
        refuse("labelled symbols with usable samples and neighbours",
               given.used.size(),
               "at least " + std::to_string(least));

    expected_waveform fitted = fit_used(symbols, sps, complex, given, most_reach);
    auto calm = undisturbed(fitted, given);
    if (calm.size() == given.used.size() || calm.size() < least)
        return fitted;
    given.used = std::move(calm);
    return fit_used(symbols, sps, complex, given, most_reach);
}

} // namespace gr::adann::core
