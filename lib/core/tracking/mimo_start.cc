/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/mimo_start.h"

#include "core/common/cholesky.h"
#include "core/signal/rotate.h"
#include "core/tracking/carrier_line.h"

#include <algorithm>
#include <complex>

namespace gr::adann::core {

namespace {
constexpr double ridge = 1e-3; // of the mean power: taps vanish where there is only noise
constexpr double together_by =
    0.95; // least mean cosine of the difference of equal phases
constexpr std::size_t at_once = 1024; // symbols per call of normal_equations::set()
} // namespace

mimo_start::mimo_start(const model& behind, const normal_equations& shape)
    : d_waveform(*behind.waveform),
      d_symbols(behind.symbols),
      d_window(behind.window),
      d_half_window(behind.half_window),
      d_sums(shape)
{
}

// Interleaves all channels, as separate_blindly() takes them.
std::vector<float> mimo_start::together(const std::vector<signal_planes>& x,
                                        std::size_t symbols) const
{
    std::vector<float> mixed(2 * d_sums.channels() * sample(symbols));
    for (std::size_t c = 0; c < d_sums.channels(); ++c)
        for (std::size_t i = 0; i < sample(symbols); ++i) {
            mixed[2 * (i * d_sums.channels() + c)] = x[c].re[i];
            mixed[2 * (i * d_sums.channels() + c) + 1] = x[c].im[i];
        }
    return mixed;
}

void mimo_start::find_labels(const std::vector<signal_planes>& x,
                             std::size_t symbols,
                             std::vector<separated>& transmitters) const
{
    separate_blindly(
        { together(x, symbols).data(), symbols, d_window.sps(), d_sums.channels() },
        d_symbols,
        d_half_window,
        transmitters);
}

carrier_track mimo_start::carrier_of(const std::vector<signal_planes>& x,
                                     const std::vector<std::uint8_t>& labels) const
{
    // Windows of the first and last symbols are padded with zeros.
    const std::size_t stride = 2 * d_sums.channels() * d_window.sps(),
                      beyond = d_half_window * stride;
    const std::vector<float> own = together(x, labels.size());
    std::vector<float> mixed(own.size() + 2 * beyond);
    std::copy(
        own.begin(), own.end(), mixed.begin() + static_cast<std::ptrdiff_t>(beyond));
    return track_known({ mixed.data(),
                         stride,
                         (2 * std::size_t{ d_half_window } + 1) * stride,
                         labels.size() },
                       points_of(labels, d_symbols));
}

// Least squares towards the rotated waveform of the symbols whose neighbours are all known.
aligned_floats mimo_start::fit(const std::vector<signal_planes>& x, const separated& sent)
{
    const std::uint8_t* const labels = sent.labels.data();
    const std::size_t symbols = sent.labels.size();
    const std::size_t around = d_waveform.reach(), unknowns = d_sums.unknowns();
    normal_equations all(d_sums);
    all.clear();
    std::vector<float> expected(2 * sample(at_once));
    planes wanted(sample(at_once), true);
    for (std::size_t k = around; k + around < symbols; k += at_once) {
        const std::size_t n = std::min(at_once, symbols - around - k);
        d_waveform.expect(labels + k, n, expected.data());
        wanted.assign(expected.data(), sample(n));
        for (std::size_t i = 0; !sent.carrier.stands() && i < sample(n); ++i)
            rotate(wanted.re[i],
                   wanted.im[i],
                   sent.carrier.at(sample(k) + i, d_window.sps()));
        std::vector<signal_planes> from;
        from.reserve(x.size());
        for (const auto& channel : x)
            from.push_back(channel + (static_cast<std::ptrdiff_t>(sample(k)) -
                                      static_cast<std::ptrdiff_t>((d_sums.taps() / 2))));
        d_sums.set(from.data(), wanted, sample(n));
        all.add(1, d_sums);
    }
    using number = std::complex<double>;
    std::vector<number> matrix(unknowns * unknowns), taps(unknowns);
    all.matrix(ridge, matrix);
    for (std::size_t u = 0; u < unknowns; ++u)
        taps[u] = { all.correlation()[u], all.correlation()[all.pitch() + u] };
    if (!solve(matrix, unknowns, taps, 1))
        throw eye_closed("the samples are all alike");
    aligned_floats found(all.vector_floats());
    for (std::size_t u = 0; u < unknowns; ++u) {
        found[u] = static_cast<float>(taps[u].real());
        found[all.pitch() + u] = static_cast<float>(taps[u].imag());
    }
    return found;
}

bool mimo_start::have_one_carrier(const std::vector<separated>& transmitters) const
{
    const auto order = static_cast<double>(d_symbols.symmetries().size());
    const carrier_track& a = transmitters.front().carrier;
    return std::all_of(
        transmitters.begin() + 1, transmitters.end(), [&](const separated& each) {
            const carrier_track& b = each.carrier;
            const std::size_t n = std::max(a.phase.size(), b.phase.size());
            if (n ==
                0) // no carrier was found; that counts if a power of this order shows one
                return order > 1 && order <= carrier_line::highest;
            std::complex<double> sum = 0;
            for (std::size_t i = 0; i < n; ++i) {
                const double apart = (a.stands() ? 0.0 : double{ a.phase[i] }) -
                                     (b.stands() ? 0.0 : double{ b.phase[i] });
                sum += std::polar(1.0, order * apart);
            }
            return std::abs(sum) >= together_by * static_cast<double>(n);
        });
}

} // namespace gr::adann::core
