/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/linear_network.h"

#include "core/adaptation/start_message.h"
#include "core/common/checks.h"
#include "core/network/decider.h"
#include "core/training/initialize.h"

#include <cmath>
#include <numeric>

namespace gr::adann::core {

namespace {

const std::vector<std::size_t> hidden{ 10, 10, 10, 10 };

model untrained(const std::string& name, unsigned sps, unsigned half_window, bool complex)
{
    const constellation symbols(name);
    const window_geometry window(sps, half_window, complex);
    check_range<std::size_t>(
        "samples of a window", window.samples(), 1, linear_network::most_samples);
    std::vector<std::size_t> sizes{ window.dimension() };
    sizes.insert(sizes.end(), hidden.begin(), hidden.end());
    sizes.push_back(symbols.size());
    if (symbols.is_complex() && !complex)
        refuse("constellation",
               "'" + symbols.name() + "', which needs complex samples",
               "one of real points, such as pam4");
    if (symbols.is_offset() && sps % 2)
        refuse("sps", sps, "even numbers, for oqpsk");
    return { network(sizes), sps, half_window, complex, name, "" };
}

} // namespace

linear_network::linear_network(const std::string& constellation,
                               unsigned sps,
                               unsigned half_window,
                               bool complex,
                               std::uint64_t seed)
    : d_model(untrained(constellation, sps, half_window, complex)),
      d_points(d_model.symbols.unit_points()),
      d_seed(seed)
{
    const std::size_t dimension = d_model.window.dimension();
    const std::size_t floats = d_model.window.floats_per_sample();
    const std::size_t rows = d_model.symbols.dimensions();
    linear_equalizer slicer{ std::vector<double>(rows * dimension),
                             std::vector<double>(rows),
                             0.1 };
    for (std::size_t row = 0; row < rows; ++row)
        slicer.taps[row * dimension + d_model.window.samples_before() * floats + row] = 1;
    set(slicer);
}

void linear_network::set(const linear_equalizer& fitted)
{
    d_fitted = fitted;
    initialize_linear(d_model.net, d_seed, d_model.symbols, fitted);
    d_model.training = formatted("linear equalizer, modulation error ratio %.1f dB",
                                 -10 * std::log10(fitted.error));
}

std::size_t linear_network::taps_of_a_row() const
{
    const bool joint = d_model.symbols.is_complex() && !d_model.symbols.is_offset();
    return joint ? d_model.window.samples() : d_model.window.dimension();
}

std::vector<std::uint8_t> linear_network::decide(const feature_view& windows) const
{
    std::vector<std::uint8_t> labels(windows.count);
    decider(d_model.net).decide(prepared_network(d_model.net), windows, labels.data());
    return labels;
}

std::vector<std::complex<double>>
linear_network::outputs(const feature_view& windows) const
{
    const std::vector<double>& taps = d_fitted.taps;
    const auto& constants = d_fitted.constants;
    std::vector<std::complex<double>> found(
        windows.count,
        { constants.front(), constants.size() > 1 ? constants.back() : 0 });
    for (std::size_t i = 0; i < windows.count; ++i)
        for (std::size_t k = 0; k < windows.dimension; k += 2)
            found[i] += std::complex<double>(taps[k], -taps[k + 1]) *
                        std::complex<double>(windows[i][k], windows[i][k + 1]);
    return found;
}

double linear_network::squared_error(const float* window, std::uint8_t label) const
{
    const std::size_t dimension = d_model.window.dimension();
    const auto& point = d_points[label];
    double sum = 0;
    for (std::size_t row = 0; row < d_model.symbols.dimensions(); ++row)
        sum += std::pow(std::inner_product(window,
                                           window + dimension,
                                           &d_fitted.taps[row * dimension],
                                           d_fitted.constants[row] -
                                               (row ? point.imag() : point.real())),
                        2);
    return sum;
}

} // namespace gr::adann::core
