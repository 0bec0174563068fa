/* -*- c++ -*- */
/*
 * What linear equalizers are fitted by, to known symbols or to none: linear_equalizer.h.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/cholesky.h"
#include "core/common/complex.h"
#include "core/signal/linear_equalizer.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>
#include <utility>

namespace gr::adann::core::linear {

// Relative to the mean power: against rounding errors, and in the search for the extreme kurtosis
// against directions with hardly any power but an outlier, such as a record's edge.
constexpr double ridge = 1e-6, ridge_of_search = 1e-3;
constexpr int most_steps = 30;       // towards the extreme kurtosis
constexpr double still = 1e-5;       // relative change that ends the search
constexpr int rounds = 20;           // of decisions and least squares
constexpr int phases = 64;           // tried within one symmetry of the constellation
constexpr std::size_t turned = 4096; // windows that the phase is found from
constexpr double least_kurtosis =
    0.5; // least accepted part of the constellation's kurtosis

// T is the type of samples, taps and points: double or std::complex<double>. Only the constructor,
// outputs() and made() allocate.
template <typename T>
class fit
{
    static constexpr bool is_complex = !std::is_same_v<T, double>;
    static constexpr std::size_t floats = is_complex ? 2 : 1; // of an input

public:
    fit(const constellation& symbols, std::size_t dimension, std::size_t windows)
        : d_inputs(dimension / floats),
          d_windows(windows * d_inputs),
          d_mean(d_inputs),
          d_which(windows),
          d_covariance(d_inputs * d_inputs),
          d_work(d_covariance),
          d_y(windows),
          d_taps(d_inputs),
          d_best(d_inputs),
          d_labels(windows)
    {
        const double rms = std::sqrt(double{ symbols.power() });
        for (const auto& point : symbols.points()) {
            if constexpr (is_complex)
                d_points.push_back(std::complex<double>(point) / rms);
            else
                d_points.push_back(point.real() / rms);
        }
    }

    // Loads as many windows of the view as there is room for.
    void load(const feature_view& view)
    {
        d_count = std::min(view.count, d_which.size());
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
        std::fill(d_mean.begin(), d_mean.end(), T{});
        d_has_constant = false;
        find_covariance();
    }

    // Subtracts the mean from the windows loaded: the equalizer has a constant then.
    void remove_mean()
    {
        d_has_constant = true;
        for (std::size_t i = 0; i < d_count; ++i)
            for (std::size_t k = 0; k < d_inputs; ++k)
                d_mean[k] += d_windows[i * d_inputs + k];
        for (T& each : d_mean)
            each /= static_cast<double>(d_count);
        for (std::size_t i = 0; i < d_count; ++i)
            for (std::size_t k = 0; k < d_inputs; ++k)
                d_windows[i * d_inputs + k] -= d_mean[k];
        find_covariance();
    }

    // Taps of unit output power, and of the largest kurtosis found from one of the starts.
    // False if their matrix is singular.
    bool extreme(const std::vector<std::size_t>& starts, double& kurtosis)
    {
        kurtosis = -1;
        d_constant = 0;
        for (const auto start : starts) {
            std::fill(d_taps.begin(), d_taps.end(), T{});
            d_taps[start] = 1;
            double found = 0, before = -1;
            for (int step = 0; step < most_steps; ++step) {
                run();
                normalize();
                found = relative_kurtosis();
                if (std::abs(found - before) < still || step + 1 == most_steps)
                    break;
                before = found;
                // Less the fourth moment of a Gaussian variable of this covariance.
                correlate([&](std::size_t i) {
                    return (std::norm(d_y[i]) - of_noise) * d_y[i];
                });
                if (!solve_for(ridge_of_search))
                    return false;
            }
            if (found > kurtosis) {
                kurtosis = found;
                d_best = d_taps;
            }
        }
        d_taps = d_best;
        return true;
    }

    // Outputs of the taps for all windows of the view.
    std::vector<T> outputs(const feature_view& view) const
    {
        std::vector<T> all(view.count, constant());
        for (std::size_t i = 0; i < view.count; ++i)
            for (std::size_t k = 0; k < d_inputs; ++k) {
                const float* at = view[i] + k * floats;
                if constexpr (is_complex)
                    all[i] += times(d_taps[k], T(at[0], at[1]));
                else
                    all[i] += d_taps[k] * at[0];
            }
        return all;
    }

    // Rotates the loaded windows back; their covariance stays the same.
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

    // Rotates the taps to the phase with the smallest error of the decisions.
    void turn(std::size_t symmetries)
    {
        if constexpr (is_complex) {
            run();
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
            for (auto& tap : d_taps)
                tap *= best;
        }
    }

    // Least squares to the decisions; false if the matrix is singular.
    bool follow_decisions()
    {
        for (int round = 0; round < rounds; ++round) {
            run();
            bool changed = round == 0;
            for (std::size_t i = 0; i < d_count; ++i) {
                const std::uint8_t label = nearest(d_y[i]);
                changed |= label != std::exchange(d_labels[i], label);
            }
            if (!changed)
                break;
            if (!least_squares())
                return false;
        }
        return true;
    }

    // Least squares to known labels, with a constant after remove_mean().
    bool know(const std::uint8_t* labels)
    {
        for (std::size_t i = 0; i < d_count; ++i)
            d_labels[i] = labels[d_which[i]];
        return least_squares();
    }

    // Of the windows, before it was subtracted.
    const std::vector<T>& mean() const { return d_mean; }
    // Variance of the points decided or known: 1 if all are equally frequent.
    double spread() const
    {
        const T mean = mean_point();
        double sum = 0;
        for (std::size_t i = 0; i < d_count; ++i)
            sum += std::norm(d_points[d_labels[i]] - mean);
        return sum / static_cast<double>(d_count);
    }
    const std::uint8_t* labels() const { return d_labels.data(); }

    linear_equalizer made()
    {
        run();
        linear_equalizer result{ {}, {}, 0 };
        for (std::size_t i = 0; i < d_count; ++i)
            result.error +=
                std::norm(d_y[i] - d_points[d_labels[i]]) / static_cast<double>(d_count);
        if constexpr (is_complex) {
            for (const auto& tap : d_taps)
                result.taps.insert(result.taps.end(), { tap.real(), -tap.imag() });
            for (const auto& tap : d_taps)
                result.taps.insert(result.taps.end(), { tap.imag(), tap.real() });
            result.constants = { constant().real(), constant().imag() };
        } else {
            result.taps = d_taps;
            result.constants = { constant() };
        }
        return result;
    }

private:
    // The fourth moment of a Gaussian variable of power 1.
    static constexpr double of_noise = is_complex ? 2 : 3;

    // To be added to outputs of windows with their mean.
    T constant() const
    {
        T sum = d_constant;
        for (std::size_t k = 0; k < d_inputs; ++k)
            sum -= times(d_taps[k], d_mean[k]);
        return sum;
    }

    void find_covariance()
    {
        std::fill(d_covariance.begin(), d_covariance.end(), T{});
        for (std::size_t i = 0; i < d_count; ++i) {
            const T* x = &d_windows[i * d_inputs];
            for (std::size_t j = 0; j < d_inputs; ++j)
                for (std::size_t k = 0; k <= j; ++k)
                    d_covariance[j * d_inputs + k] += times(conjugate(x[j]), x[k]);
        }
        for (auto& each : d_covariance)
            each /= static_cast<double>(d_count);
    }

    void run()
    {
        for (std::size_t i = 0; i < d_count; ++i) {
            T y = d_constant;
            for (std::size_t k = 0; k < d_inputs; ++k)
                y += times(d_taps[k], d_windows[i * d_inputs + k]);
            d_y[i] = y;
        }
    }

    void normalize()
    {
        double power = 0;
        for (std::size_t i = 0; i < d_count; ++i)
            power += std::norm(d_y[i]) / static_cast<double>(d_count);
        const double by = power > 0 ? 1 / std::sqrt(power) : 0;
        for (auto& tap : d_taps)
            tap *= by;
        for (std::size_t i = 0; i < d_count; ++i)
            d_y[i] *= by;
    }

    // Kurtosis of the output relative to the constellation's: 1 for its points, 0 for noise.
    double relative_kurtosis() const
    {
        double moment = 0, of_points = 0;
        for (std::size_t i = 0; i < d_count; ++i)
            moment +=
                std::norm(d_y[i]) * std::norm(d_y[i]) / static_cast<double>(d_count);
        for (const auto& point : d_points)
            of_points += std::norm(point) * std::norm(point) /
                         static_cast<double>(d_points.size());
        return (of_noise - moment) / (of_noise - of_points);
    }

    // Replaces the taps by the correlation of the windows with the target.
    template <typename Wanted>
    void correlate(Wanted wanted)
    {
        std::fill(d_taps.begin(), d_taps.end(), T{});
        for (std::size_t i = 0; i < d_count; ++i) {
            const T value = wanted(i) / static_cast<double>(d_count);
            for (std::size_t k = 0; k < d_inputs; ++k)
                d_taps[k] += times(conjugate(d_windows[i * d_inputs + k]), value);
        }
    }

    // Solves for the taps from that correlation.
    bool solve_for(double added)
    {
        d_work = d_covariance;
        double power = 0;
        for (std::size_t k = 0; k < d_inputs; ++k)
            power += std::real(d_work[k * d_inputs + k]) / static_cast<double>(d_inputs);
        for (std::size_t k = 0; k < d_inputs; ++k)
            d_work[k * d_inputs + k] += added * power;
        return solve(d_work, d_inputs, d_taps, 1);
    }

    T mean_point() const
    {
        T sum{};
        for (std::size_t i = 0; i < d_count; ++i)
            sum += d_points[d_labels[i]];
        return sum / static_cast<double>(d_count);
    }

    bool least_squares()
    {
        d_constant = d_has_constant ? mean_point() : T{};
        correlate([&](std::size_t i) { return d_points[d_labels[i]] - d_constant; });
        return solve_for(ridge);
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

    std::size_t d_count = 0, d_inputs;
    std::vector<T> d_windows; // (count, inputs)
    std::vector<T> d_mean;    // subtracted from the windows, or 0
    bool d_has_constant = false;
    T d_constant{}; // mean of the points decided or known, if it has one
    std::vector<std::size_t> d_which;
    std::vector<T> d_points, d_covariance, d_work, d_y, d_taps, d_best;
    std::vector<std::uint8_t> d_labels;
};

} // namespace gr::adann::core::linear
