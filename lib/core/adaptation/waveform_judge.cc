/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/waveform_judge.h"

#include "core/common/checks.h"
#include "core/common/cholesky.h"
#include "core/signal/rotate.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

constexpr double ridge = 1e-3;    // of the mean power of the unknowns
constexpr std::size_t around = 4; // symbols, on each side of a difference
// Symbols that the filter is fitted to at least: the residual of fewer is too small.
constexpr double least_kept = 256;
constexpr double much_more = 2; // times the residual power: the signal has changed
// Symbols, and batches, that have it: in fewer, an amplitude that changes within 300 to 600 symbols was taken for another
// signal; in more batches a pause between bursts was not noticed.
constexpr double looked_at = 1024, most_batches = 4;
constexpr double stake = 0.5; // part of the bet's value that is staked on a vote

} // namespace

std::size_t waveform_judge::least_batch(const expected_waveform& trained)
{
    return 4 * (trained.reach() + filter_reach + around);
}

waveform_judge::waveform_judge(const expected_waveform& trained,
                               const window_geometry& window,
                               std::size_t batch)
    : d_waveform(trained),
      d_before((window.dimension() - window.stride()) / 2),
      d_batch(batch),
      d_reach(trained.reach()),
      d_taps(2 * filter_reach * trained.sps() + 1),
      d_samples(batch * trained.stride()),
      d_rest(d_samples.size()),
      d_back(d_samples.size()),
      d_kernels(&simd::active()),
      d_expected(d_samples.size()),
      d_turned(trained.is_complex() ? d_expected.size() : 0),
      d_factors(d_taps),
      d_gram((d_taps + 1) * (d_taps + 1)),
      d_moments(d_taps + 1),
      d_filter(d_taps + 1),
      d_gram_before(d_gram),
      d_moments_before(d_moments),
      d_sums(2),
      d_block(d_taps, trained.is_complex()),
      d_wave(batch * trained.sps() + d_block.pitch() + 2 * simd::lanes,
             trained.is_complex()),
      d_wanted(d_wave),
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
    d_latest = d_usual = 0;
    d_symbols = 0;
    d_waveform.start_round();
    d_filter[d_taps / 2] = 1;
    std::copy(d_filter.begin(), d_filter.end(), d_taps_in_use.begin());
}

float waveform_judge::noise() const
{
    return d_sums[1] > 0 ? static_cast<float>(std::sqrt(d_sums[0] / d_sums[1]))
                         : d_waveform.now().noise();
}

bool waveform_judge::look(const feature_view& batch,
                          const std::uint8_t* labels,
                          std::size_t apart)
{
    const std::size_t stride = d_waveform.now().stride();
    for (std::size_t i = 0; i < d_batch; ++i)
        std::copy_n(batch[i] + d_before, stride, &d_samples[i * stride]);
    const std::size_t first = d_reach + filter_reach, last = d_batch - first;
    const auto count = static_cast<double>((last - first) * stride);
    const double before = noise();
    d_waveform.now().expect(labels + d_reach, d_batch - 2 * d_reach, d_expected.data());
    const auto residual_power = [&] {
        subtract(first, last, d_rest.data());
        return power(last - first);
    };
    const bool changed =
        settled() && has_changed(residual_power() / count, before * before);
    if (changed)
        reset();
    d_symbols += d_batch;
    const double keep = std::max(channel_memory_factor(d_batch, apart),
                                 1 - static_cast<double>(d_batch) / least_kept);
    const auto fade = [keep](auto& sums) {
        for (auto& sum : sums)
            sum *= keep;
    };
    fade(d_gram);
    fade(d_moments);
    fade(d_sums);
    d_gram_before = d_gram;
    d_moments_before = d_moments;
    gather();
    solve_filter();
    d_sums[0] += residual_power();
    d_sums[1] += count;
    if (!std::isfinite(d_sums[0])) // later sums would not be finite either
        reset();
    return changed;
}

/* Whether the mean residual power of the latest 1024 symbols, or four batches, is more than twice the usual one, which stays as it was
 * while a batch has more than that.
 * \param now of the batch
 * \param before average of the earlier ones */
bool waveform_judge::has_changed(double now, double before)
{
    if (d_usual == 0)
        d_latest = before;
    if (d_usual == 0 || now <= much_more * d_usual)
        d_usual = before;
    const double part =
        std::max(static_cast<double>(d_batch) / looked_at, 1 / most_batches);
    d_latest += std::min(1.0, part) * (now - d_latest);
    return d_latest > much_more * d_usual;
}

// Adds all windows of `taps` expected samples of the batch to the least squares.
void waveform_judge::gather()
{
    const std::size_t all = (d_batch - 2 * d_reach) * d_waveform.now().sps();
    d_wanted.assign(&d_samples[d_reach * d_waveform.now().stride()], all);
    gather_wave();
}

void waveform_judge::gather_wave()
{
    const std::size_t m = d_taps + 1;
    const std::size_t all = (d_batch - 2 * d_reach) * d_waveform.now().sps();
    const std::size_t n = all - d_taps + 1;
    d_wave.assign(d_expected.data(), all);
    const signal_planes wanted = d_wanted + static_cast<std::ptrdiff_t>(d_taps / 2);
    d_block.set(d_wave, wanted, n);
    using number = std::complex<double>;
    const bool is_complex = d_waveform.now().is_complex();
    const float* const moments = d_block.correlation();
    for (std::size_t k = 0; k < m; ++k)
        d_moments[k] += number(moments[k], is_complex ? moments[d_block.pitch() + k] : 0);
    // Those of the offset are added up in double precision.
    number total(d_kernels->dot(d_wave.re.data(), nullptr, n),
                 is_complex ? d_kernels->dot(d_wave.im.data(), nullptr, n) : 0);
    for (std::size_t k = 0; k < d_taps; ++k) {
        const float *re = d_block.row(k), *im = d_block.row(k, is_complex);
        for (std::size_t j = 0; j <= k; ++j) // only the lower half is read
            d_gram[k * m + j] += number(re[j], is_complex ? im[j] : 0);
        d_gram[d_taps * m + k] += total;
        total += number(d_wave.re[k + n] - d_wave.re[k],
                        is_complex ? d_wave.im[k + n] - d_wave.im[k] : 0);
    }
    d_gram[d_taps * m + d_taps] += static_cast<double>(n);
}

void waveform_judge::relearn(const std::uint8_t* labels)
{
    d_gram = d_gram_before;
    d_moments = d_moments_before;
    d_waveform.now().expect(labels + d_reach, d_batch - 2 * d_reach, d_expected.data());
    gather_wave();
    solve_filter();
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
    d_solution[d_taps / 2] += ridge * power; // regularised towards the identity
    if (!solve(d_work, m, d_solution, 1))
        return;
    d_filter = d_solution;
    std::copy(d_filter.begin(), d_filter.end(), d_taps_in_use.begin());
}

// Negative logarithm of the likelihood of symbols first to last - 1, but for a constant and a factor. Only symbols
// with other labels than the rival's have noise of their own.
double waveform_judge::loss(const std::uint8_t* labels,
                            const std::uint8_t* rival,
                            std::size_t first,
                            std::size_t last,
                            const label_noise& noise)
{
    const std::size_t stride = d_waveform.now().stride();
    const double of_float = double{ this->noise() } * this->noise();
    rest(labels, first, last, d_rest.data());
    double sum = power(last - first);
    for (std::size_t i = first; i < last; ++i) {
        if (labels[i] == rival[i])
            continue;
        const float* const own = &d_rest[(i - first) * stride];
        const double factor = noise.factors()[labels[i]];
        sum += (1 / factor - 1) * d_kernels->dot(own, own, stride) +
               static_cast<double>(stride) * of_float * noise.logarithms()[labels[i]];
    }
    return sum;
}

// Energy of the residual of so many symbols.
double waveform_judge::power(std::size_t symbols) const
{
    constexpr std::size_t most = 1024; // in floats
    const std::size_t floats = symbols * d_waveform.now().stride();
    double total = 0;
    for (std::size_t i = 0; i < floats; i += most)
        total += d_kernels->dot(&d_rest[i], &d_rest[i], std::min(most, floats - i));
    return total;
}

void waveform_judge::rest(const std::uint8_t* labels,
                          std::size_t first,
                          std::size_t last,
                          float* rest) const
{
    d_waveform.now().expect(labels + first - filter_reach,
                            last - first + 2 * filter_reach,
                            d_expected.data());
    subtract(first, last, rest);
}

// rest() with the expected waveform in d_expected, which begins filter_reach
// symbols before `first`.
void waveform_judge::subtract(std::size_t first, std::size_t last, float* rest) const
{
    const std::size_t stride = d_waveform.now().stride(),
                      planes = stride / d_waveform.now().sps();
    const std::size_t n = (last - first) * stride;
    const std::size_t expected = (last - first + 2 * filter_reach) * stride;
    const float* const samples = &d_samples[first * stride];
    const std::complex<float> offset = d_taps_in_use[d_taps];
    if (planes == 1)
        for (std::size_t i = 0; i < n; ++i)
            rest[i] = samples[i] - offset.real();
    else
        for (std::size_t i = 0; i < n; i += 2) {
            rest[i] = samples[i] - offset.real();
            rest[i + 1] = samples[i + 1] - offset.imag();
        }
    for (std::size_t k = 0; k < d_taps; ++k)
        d_factors[k] = -d_taps_in_use[k].real();
    add_filtered(d_factors, d_expected.data(), n, rest);
    if (planes == 1)
        return;
    times_i(
        d_expected.data(), expected / 2, d_turned.data()); // for imaginary parts of taps
    for (std::size_t k = 0; k < d_taps; ++k)
        d_factors[k] = -d_taps_in_use[k].imag();
    add_filtered(d_factors, d_turned.data(), n, rest);
}

void waveform_judge::add_filtered(const aligned_floats& taps,
                                  const float* samples,
                                  std::size_t floats,
                                  float* sum) const
{
    const std::size_t planes = d_waveform.now().is_complex() ? 2 : 1;
    const std::size_t whole = floats / simd::lanes * simd::lanes;
    const float* const factors = taps.data();
    if (whole)
        d_kernels->slide(&factors, 1, d_taps, samples, planes, whole, 1, &sum);
    for (std::size_t i = whole; i < floats; ++i)
        for (std::size_t k = 0; k < d_taps; ++k)
            sum[i] += factors[k] * samples[i + k * planes];
}

// Passes the residual through the matched filter, the filter in reversed order: that is the
// direction in which a change of the table lowers the residual most.
void waveform_judge::follow(const std::uint8_t* labels)
{
    const std::size_t first = d_reach + filter_reach, last = d_batch - first;
    const std::size_t inner = first + filter_reach,
                      count = last - first - 2 * filter_reach;
    const std::size_t stride = d_waveform.now().stride(), n = count * stride;
    rest(labels, first, last, d_rest.data());
    float gain = 0; // upper bound of the filter's gain at any frequency
    for (std::size_t k = 0; k < d_taps; ++k)
        gain += std::abs(d_taps_in_use[k]);
    gain *= gain;
    std::fill_n(d_back.begin(), n, 0.0f);
    for (std::size_t k = 0; k < d_taps; ++k)
        d_factors[k] = d_taps_in_use[d_taps - 1 - k].real() / gain;
    add_filtered(d_factors, d_rest.data(), n, d_back.data());
    if (d_waveform.now().is_complex()) {
        times_i(d_rest.data(), (last - first) * stride / 2, d_turned.data());
        for (std::size_t k = 0; k < d_taps; ++k)
            d_factors[k] = -d_taps_in_use[d_taps - 1 - k].imag() / gain;
        add_filtered(d_factors, d_turned.data(), n, d_back.data());
    }
    d_waveform.add(labels + inner, d_back.data(), count);
}

void waveform_judge::forget()
{
    reset();
    d_waveform.reset();
}

waveform_judge::votes waveform_judge::compare(const std::uint8_t* first,
                                              const std::uint8_t* second,
                                              const label_noise& noise)
{
    const std::size_t begin = d_reach + filter_reach + around, end = d_batch - begin;
    votes found;
    if (!settled())
        return found;
    for (std::size_t i = begin; i < end; ++i) {
        if (first[i] == second[i])
            continue;
        std::size_t last = i; // last of the differences that count as one
        for (std::size_t k = i + 1; k < end && k <= last + 2 * around; ++k)
            if (first[k] != second[k])
                last = k;
        const double of_first = loss(first, second, i - around, last + 1 + around, noise);
        const double of_second =
            loss(second, first, i - around, last + 1 + around, noise);
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
    members("latest", d_latest, 0.0, 1e15);
    members("usual", d_usual, 0.0, 1e15);
    members("waveform", d_waveform);
    members("symbols", d_symbols);
}

void sequential_test::add(unsigned won, unsigned lost)
{
    d_value *= std::pow(1 + stake, won) * std::pow(1 - stake, lost);
    d_value = std::clamp(d_value, 1.0, 1e7);
}

} // namespace gr::adann::core
