/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/linear_equalizer.h"

#include "core/common/cholesky.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <type_traits>

namespace gr::adann::core {

namespace {

constexpr std::size_t most_windows = 16384;
// Of the mean power. What is below is rounding; and in the search for the extreme a direction
// that has hardly any power but an outlier, such as a record's edge, would be one.
constexpr double ridge = 1e-6, ridge_of_search = 1e-3;
constexpr int most_steps = 30;       // towards the extreme kurtosis
constexpr double still = 1e-5;       // relative: that no longer changes
constexpr int rounds = 20;           // of decisions and least squares
constexpr int phases = 64;           // tried within one symmetry of the constellation
constexpr std::size_t turned = 4096; // windows that the phase is found from
constexpr double least_kurtosis = 0.5;

// std::complex's own looks for infinities.
double times(double a, double b) { return a * b; }
std::complex<double> times(std::complex<double> a, std::complex<double> b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}
double conjugate(double v) { return v; }
std::complex<double> conjugate(std::complex<double> v) { return std::conj(v); }

// T is what samples, taps and points are: double, or std::complex<double>.
template <typename T>
class fit
{
    static constexpr bool is_complex = !std::is_same_v<T, double>;
    static constexpr std::size_t floats = is_complex ? 2 : 1; // of an input

public:
    fit(const feature_view& view, const constellation& symbols)
        : d_count(std::min(view.count, most_windows)),
          d_inputs(view.dimension / floats),
          d_windows(d_count * d_inputs),
          d_which(d_count),
          d_y(d_count)
    {
        for (std::size_t i = 0; i < d_count; ++i) {
            d_which[i] = i * view.count / d_count;
            for (std::size_t k = 0; k < d_inputs; ++k) {
                const float* at = view[d_which[i]] + k * floats;
                if constexpr (is_complex)
                    d_windows[i * d_inputs + k] = { at[0], at[1] };
                else
                    d_windows[i * d_inputs + k] = at[0];
            }
        }
        double power = 0;
        for (const auto& point : symbols.points())
            power += std::norm(point) / static_cast<double>(symbols.size());
        for (const auto& point : symbols.points()) {
            if constexpr (is_complex)
                d_points.push_back(std::complex<double>(point) / std::sqrt(power));
            else
                d_points.push_back(point.real() / std::sqrt(power));
        }
        find_covariance();
    }

    // Of unit output power, and of the largest kurtosis found from one of the starts.
    std::vector<T> extreme(const std::vector<std::size_t>& starts, double& kurtosis)
    {
        std::vector<T> best;
        kurtosis = -1;
        for (const auto start : starts) {
            std::vector<T> taps(d_inputs);
            taps[start] = 1;
            double found = 0, before = -1;
            for (int step = 0; step < most_steps; ++step) {
                run(taps);
                normalize(taps);
                found = relative_kurtosis();
                if (std::abs(found - before) < still)
                    break;
                before = found;
                // Less what a normal variable of this covariance would have.
                taps = correlated([&](std::size_t i) {
                    return (std::norm(d_y[i]) - of_noise) * d_y[i];
                });
                solve_for(taps, ridge_of_search);
            }
            if (found > kurtosis) {
                kurtosis = found;
                best = taps;
            }
        }
        return best;
    }

    // What the taps give of all windows of the view that this was made of.
    std::vector<T> outputs(const feature_view& view, const std::vector<T>& taps) const
    {
        std::vector<T> all(view.count);
        for (std::size_t i = 0; i < view.count; ++i)
            for (std::size_t k = 0; k < d_inputs; ++k) {
                const float* at = view[i] + k * floats;
                if constexpr (is_complex)
                    all[i] += times(taps[k], T(at[0], at[1]));
                else
                    all[i] += taps[k] * at[0];
            }
        return all;
    }

    void turn_back(const carrier_track& carrier)
    {
        if constexpr (is_complex)
            for (std::size_t i = 0; !carrier.stands() && i < d_count; ++i) {
                const T by = std::polar(1.0, -double{ carrier.phase[d_which[i]] });
                for (std::size_t k = 0; k < d_inputs; ++k) {
                    T& x = d_windows[i * d_inputs + k];
                    x = times(x, by);
                }
            }
    }

    // Turned so that decisions are nearest.
    void turn(std::vector<T>& taps, std::size_t symmetries)
    {
        if constexpr (is_complex) {
            run(taps);
            T best = 1;
            double least = -1;
            for (int k = 0; k < phases; ++k) {
                const T by = std::polar(
                    1.0, 2 * M_PI * k / phases / static_cast<double>(symmetries));
                double error = 0;
                for (std::size_t i = 0; i < std::min(turned, d_count); ++i)
                    error += distance(times(d_y[i], by));
                if (least < 0 || error < least) {
                    least = error;
                    best = by;
                }
            }
            for (auto& tap : taps)
                tap *= best;
        }
    }

    linear_equalizer follow_decisions(std::vector<T> taps)
    {
        std::vector<std::uint8_t> labels(d_count), before;
        for (int round = 0; round < rounds; ++round) {
            run(taps);
            for (std::size_t i = 0; i < d_count; ++i)
                labels[i] = nearest(d_y[i]);
            if (labels == before)
                break;
            taps = least_squares([&](std::size_t i) { return labels[i]; });
            before = labels;
        }
        return made(taps, [&](std::size_t i) { return labels[i]; });
    }

    linear_equalizer known(const std::uint8_t* labels)
    {
        const auto label = [&](std::size_t i) { return labels[d_which[i]]; };
        return made(least_squares(label), label);
    }

private:
    // The fourth moment of a normal variable of power 1.
    static constexpr double of_noise = is_complex ? 2 : 3;

    void find_covariance()
    {
        d_covariance.assign(d_inputs * d_inputs, T{});
        for (std::size_t i = 0; i < d_count; ++i) {
            const T* x = &d_windows[i * d_inputs];
            for (std::size_t j = 0; j < d_inputs; ++j)
                for (std::size_t k = 0; k <= j; ++k)
                    d_covariance[j * d_inputs + k] += times(conjugate(x[j]), x[k]);
        }
        for (auto& each : d_covariance)
            each /= static_cast<double>(d_count);
    }

    void run(const std::vector<T>& taps)
    {
        for (std::size_t i = 0; i < d_count; ++i) {
            T y{};
            for (std::size_t k = 0; k < d_inputs; ++k)
                y += times(taps[k], d_windows[i * d_inputs + k]);
            d_y[i] = y;
        }
    }

    void normalize(std::vector<T>& taps)
    {
        double power = 0;
        for (const auto& y : d_y)
            power += std::norm(y) / static_cast<double>(d_count);
        const double by = power > 0 ? 1 / std::sqrt(power) : 0;
        for (auto& tap : taps)
            tap *= by;
        for (auto& y : d_y)
            y *= by;
    }

    // Of the output to the constellation's: 1 of its points, 0 of noise.
    double relative_kurtosis() const
    {
        double moment = 0, of_points = 0;
        for (const auto& y : d_y)
            moment += std::norm(y) * std::norm(y) / static_cast<double>(d_count);
        for (const auto& point : d_points)
            of_points += std::norm(point) * std::norm(point) /
                         static_cast<double>(d_points.size());
        return (of_noise - moment) / (of_noise - of_points);
    }

    template <typename Wanted>
    std::vector<T> correlated(Wanted wanted) const
    {
        std::vector<T> sums(d_inputs);
        for (std::size_t i = 0; i < d_count; ++i) {
            const T value = wanted(i) / static_cast<double>(d_count);
            for (std::size_t k = 0; k < d_inputs; ++k)
                sums[k] += times(conjugate(d_windows[i * d_inputs + k]), value);
        }
        return sums;
    }

    void solve_for(std::vector<T>& sums, double added) const
    {
        auto work = d_covariance;
        double power = 0;
        for (std::size_t k = 0; k < d_inputs; ++k)
            power += std::real(work[k * d_inputs + k]) / static_cast<double>(d_inputs);
        for (std::size_t k = 0; k < d_inputs; ++k)
            work[k * d_inputs + k] += added * power;
        if (!solve(work, d_inputs, sums, 1))
            throw eye_closed("the samples are all alike");
    }

    template <typename Label>
    std::vector<T> least_squares(Label label) const
    {
        auto taps = correlated([&](std::size_t i) { return d_points[label(i)]; });
        solve_for(taps, ridge);
        return taps;
    }

    double distance(T y) const
    {
        double least = std::norm(y - d_points[0]);
        for (const auto& point : d_points)
            least = std::min(least, std::norm(y - point));
        return least;
    }

    std::uint8_t nearest(T y) const
    {
        return static_cast<std::uint8_t>(std::min_element(d_points.begin(),
                                                          d_points.end(),
                                                          [y](T a, T b) {
                                                              return std::norm(y - a) <
                                                                     std::norm(y - b);
                                                          }) -
                                         d_points.begin());
    }

    template <typename Label>
    linear_equalizer made(const std::vector<T>& taps, Label label)
    {
        run(taps);
        linear_equalizer result{ {}, 0 };
        for (std::size_t i = 0; i < d_count; ++i)
            result.error +=
                std::norm(d_y[i] - d_points[label(i)]) / static_cast<double>(d_count);
        if constexpr (is_complex) {
            for (const auto& tap : taps)
                result.taps.insert(result.taps.end(), { tap.real(), -tap.imag() });
            for (const auto& tap : taps)
                result.taps.insert(result.taps.end(), { tap.imag(), tap.real() });
        } else {
            result.taps = taps;
        }
        return result;
    }

    std::size_t d_count, d_inputs;
    std::vector<T> d_windows; // (count, inputs)
    std::vector<std::size_t> d_which;
    std::vector<T> d_points, d_covariance, d_y;
};

template <typename T>
linear_equalizer blind(const feature_view& view,
                       const constellation& symbols,
                       const window_geometry& window,
                       carrier_track* carrier)
{
    fit<T> fitting(view, symbols);
    // From each sample of the symbol in the middle, of real points from I and from Q.
    const std::size_t floats_per_input = std::is_same_v<T, double> ? 1 : 2;
    const std::size_t of_symbol = window.stride() / floats_per_input;
    const std::size_t before =
        (window.dimension() - window.stride()) / 2 / floats_per_input;
    std::vector<std::size_t> starts;
    for (std::size_t k = 0; k < of_symbol; ++k)
        starts.push_back(before + k);
    double kurtosis;
    auto taps = fitting.extreme(starts, kurtosis);
    if (!(kurtosis > least_kurtosis)) {
        char text[200];
        std::snprintf(
            text,
            sizeof text,
            "no linear equalizer finds %s: the kurtosis behind the best one is %.2f of "
            "that of %s (needed: %.1f)",
            symbols.name().c_str(),
            std::max(kurtosis, 0.0),
            symbols.name().c_str(),
            least_kurtosis);
        throw eye_closed(text);
    }
    if constexpr (!std::is_same_v<T, double>)
        if (carrier)
            fitting.turn_back(*carrier =
                                  track_power(fitting.outputs(view, taps), symbols));
    fitting.turn(taps, symbols.symmetries().size());
    return fitting.follow_decisions(taps);
}

} // namespace

linear_equalizer blind_equalizer(const feature_view& view,
                                 const constellation& symbols,
                                 const window_geometry& window,
                                 carrier_track* carrier)
{
    return symbols.is_complex()
               ? blind<std::complex<double>>(view, symbols, window, carrier)
               : blind<double>(view, symbols, window, carrier);
}

linear_equalizer trained_equalizer(const feature_view& view,
                                   const constellation& symbols,
                                   const std::uint8_t* labels)
{
    return symbols.is_complex() ? fit<std::complex<double>>(view, symbols).known(labels)
                                : fit<double>(view, symbols).known(labels);
}

} // namespace gr::adann::core
