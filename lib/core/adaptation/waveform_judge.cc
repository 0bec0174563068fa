/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/waveform_judge.h"

#include "core/common/checks.h"
#include "core/common/cholesky.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

constexpr double memory = 2048;   // symbols: a jump is soon forgotten
constexpr double ridge = 1e-3;    // of the mean power of the unknowns
constexpr std::size_t around = 4; // symbols, on each side of a difference
constexpr double memory_of_noise = 2048;
constexpr double much_more = 2; // power, of a signal that has changed
constexpr double stake = 0.5;   // part of what a bet has

float conjugate(float v) { return v; }
std::complex<float> conjugate(std::complex<float> v) { return std::conj(v); }

} // namespace

std::size_t waveform_judge::least_batch(const expected_waveform& trained)
{
    return 4 * (trained.reach() + filter_reach + around);
}

waveform_judge::waveform_judge(const expected_waveform& trained,
                               const window_geometry& window,
                               std::size_t batch)
    : d_trained(trained),
      d_before((window.dimension() - window.stride()) / 2),
      d_batch(batch),
      d_reach(d_trained.reach()),
      d_taps(2 * filter_reach * d_trained.sps() + 1),
      d_samples(batch * d_trained.stride()),
      d_rest(d_samples.size()),
      d_expected(d_samples.size()),
      d_gram((d_taps + 1) * (d_taps + 1)),
      d_moments(d_taps + 1),
      d_filter(d_taps + 1),
      d_sums(2),
      d_work(d_gram.size()),
      d_solution(d_taps + 1),
      d_taps_in_use(d_taps + 1)
{
    check_range<std::size_t>(
        "batch", batch, least_batch(trained), std::size_t{ 1 } << 20);
    reset();
}

void waveform_judge::reset()
{
    std::fill(d_gram.begin(), d_gram.end(), 0.0);
    std::fill(d_moments.begin(), d_moments.end(), 0.0);
    std::fill(d_filter.begin(), d_filter.end(), 0.0);
    std::fill(d_sums.begin(), d_sums.end(), 0.0);
    d_symbols = 0;
    d_filter[d_taps / 2] = 1;
    std::copy(d_filter.begin(), d_filter.end(), d_taps_in_use.begin());
}

float waveform_judge::noise() const
{
    return d_sums[1] > 0 ? static_cast<float>(std::sqrt(d_sums[0] / d_sums[1]))
                         : d_trained.noise();
}

bool waveform_judge::look(const feature_view& batch, const std::uint8_t* labels)
{
    const std::size_t stride = d_trained.stride();
    for (std::size_t i = 0; i < d_batch; ++i)
        std::copy_n(batch[i] + d_before, stride, &d_samples[i * stride]);
    const std::size_t first = d_reach + filter_reach, last = d_batch - first;
    const auto count = static_cast<double>((last - first) * stride);
    const double before = noise();
    const bool changed =
        settled() && residual(labels, first, last) > much_more * count * before * before;
    if (changed)
        reset();
    d_symbols += d_batch;
    fade(d_gram, memory);
    fade(d_moments, memory);
    fade(d_sums, memory_of_noise);
    if (d_trained.is_complex())
        gather<std::complex<float>>(labels);
    else
        gather<float>(labels);
    solve_filter();
    d_sums[0] += residual(labels, first, last);
    d_sums[1] += count;
    if (!std::isfinite(d_sums[0])) // it would stay so
        reset();
    return changed;
}

template <typename values>
void waveform_judge::fade(values& sums, double symbols) const
{
    for (auto& sum : sums)
        sum *= std::exp(-static_cast<double>(d_batch) / symbols);
}

// The sums of least squares, of windows of `taps` expected samples. The first row is a
// correlation; each further one follows from the one before it and the ends.
template <typename sample>
void waveform_judge::gather(const std::uint8_t* labels)
{
    const std::size_t symbols = d_batch - 2 * d_reach, m = d_taps + 1;
    d_trained.expect(labels + d_reach, symbols, d_expected.data());
    const auto* z = reinterpret_cast<const sample*>(d_expected.data());
    const auto* x = reinterpret_cast<const sample*>(d_samples.data()) +
                    d_reach * d_trained.sps() + d_taps / 2;
    const std::size_t n = symbols * d_trained.sps() - d_taps + 1;
    const auto product = [n](const sample* a, const sample* b) {
        sample sum{};
        for (std::size_t i = 0; i < n; ++i)
            sum += times(conjugate(a[i]), b[i]);
        return std::complex<double>(sum);
    };
    // Only the lower half is read: row k, column j <= k is Σ conj(z[i + k]) z[i + j].
    for (std::size_t k = 0; k < d_taps; ++k) {
        auto sum = product(z + k, z);
        for (std::size_t j = 0; k + j < d_taps; ++j) {
            d_gram[(k + j) * m + j] += sum;
            sum += std::complex<double>(times(conjugate(z[n + k + j]), z[n + j])) -
                   std::complex<double>(times(conjugate(z[k + j]), z[j]));
        }
        d_moments[k] += product(z + k, x);
        sample total{};
        for (std::size_t i = 0; i < n; ++i)
            total += z[i + k];
        d_gram[d_taps * m + k] += std::complex<double>(total);
    }
    sample total{};
    for (std::size_t i = 0; i < n; ++i)
        total += x[i];
    d_gram[d_taps * m + d_taps] += static_cast<double>(n);
    d_moments[d_taps] += std::complex<double>(total);
}

void waveform_judge::solve_filter()
{
    const std::size_t m = d_taps + 1;
    double power = 0;
    for (std::size_t k = 0; k < m; ++k)
        power += d_gram[k * m + k].real() / static_cast<double>(m);
    d_work = d_gram;
    d_solution = d_moments;
    for (std::size_t k = 0; k < m; ++k)
        d_work[k * m + k] += ridge * power;
    d_solution[d_taps / 2] += ridge * power; // towards a filter that does nothing
    if (!solve(d_work, m, d_solution, 1))
        return;
    d_filter = d_solution;
    std::copy(d_filter.begin(), d_filter.end(), d_taps_in_use.begin());
}

// Squared, summed over symbols first to last - 1.
double
waveform_judge::residual(const std::uint8_t* labels, std::size_t first, std::size_t last)
{
    rest(labels, first, last, d_rest.data());
    const std::size_t stride = d_trained.stride();
    double total = 0;
    for (std::size_t i = 0; i < (last - first) * stride; ++i)
        total += d_rest[i] * d_rest[i];
    return total;
}

void waveform_judge::rest(const std::uint8_t* labels,
                          std::size_t first,
                          std::size_t last,
                          float* rest) const
{
    if (d_trained.is_complex())
        rest_of(labels, first, last, reinterpret_cast<std::complex<float>*>(rest));
    else
        rest_of(labels, first, last, rest);
}

template <typename sample>
void waveform_judge::rest_of(const std::uint8_t* labels,
                             std::size_t first,
                             std::size_t last,
                             sample* rest) const
{
    subtract_filtered(d_trained,
                      d_taps_in_use,
                      labels + first,
                      reinterpret_cast<const sample*>(d_samples.data()) +
                          first * d_trained.sps(),
                      last - first,
                      d_expected.data(),
                      rest);
}

waveform_judge::votes waveform_judge::compare(const std::uint8_t* first,
                                              const std::uint8_t* second)
{
    const std::size_t begin = d_reach + filter_reach + around, end = d_batch - begin;
    votes found;
    if (!settled())
        return found;
    for (std::size_t i = begin; i < end; ++i) {
        if (first[i] == second[i])
            continue;
        std::size_t last = i; // of differences that are one
        for (std::size_t k = i + 1; k < end && k <= last + 2 * around; ++k)
            if (first[k] != second[k])
                last = k;
        const double of_first = residual(first, i - around, last + 1 + around);
        const double of_second = residual(second, i - around, last + 1 + around);
        found.first += of_first < of_second;
        found.second += of_second < of_first;
        i = last;
    }
    return found;
}

void waveform_judge::state(archive& members)
{
    const auto list = [&](const char* name, std::vector<std::complex<double>>& values) {
        members.numbers(
            name, reinterpret_cast<double*>(values.data()), { values.size(), 2 });
    };
    list("gram", d_gram);
    list("moments", d_moments);
    list("filter", d_filter);
    std::copy(d_filter.begin(), d_filter.end(), d_taps_in_use.begin());
    members("sums", d_sums, 0.0, 1e15);
    members("symbols", d_symbols);
}

void sequential_test::add(unsigned won, unsigned lost)
{
    d_value *= std::pow(1 + stake, won) * std::pow(1 - stake, lost);
    d_value = std::clamp(d_value, 1.0, 1e7);
}

} // namespace gr::adann::core
