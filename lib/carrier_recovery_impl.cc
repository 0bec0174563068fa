/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "carrier_recovery_impl.h"

#include "core/common/checks.h"

#include <gnuradio/io_signature.h>

#include <algorithm>
#include <cmath>

namespace gr::adann {

namespace {

constexpr float clear = 40;   // a line's power over the median's
constexpr float largest = 10; // sample of unit power that is no impulse

std::complex<double> turned(double turns) { return std::polar(1.0, 2 * M_PI * turns); }

} // namespace

carrier_recovery::sptr
carrier_recovery::make(const std::string& constellation, unsigned sps, float bandwidth)
{
    const core::constellation alphabet(constellation);
    const std::size_t order = alphabet.symmetries().size();
    if (order != 2 && order != 4 && order != 8)
        core::refuse("constellation", constellation, "one of 2, 4 or 8 rotations");
    core::check_range<std::size_t>("sps", sps, 1, 64);
    return gnuradio::make_block_sptr<carrier_recovery_impl>(alphabet, sps, bandwidth);
}

carrier_recovery_impl::carrier_recovery_impl(const core::constellation& alphabet,
                                             unsigned sps,
                                             float bandwidth)
    : gr::sync_block("adann_carrier_recovery",
                     gr::io_signature::make(1, 1, sizeof(gr_complex)),
                     gr::io_signature::make(1, 1, sizeof(gr_complex))),
      d_order(alphabet.symmetries().size()),
      d_sps(sps),
      d_powers(symbols),
      d_fft(bins),
      d_periodogram(bins)
{
    double square = 0;
    for (const auto& point : alphabet.points()) {
        const std::complex<double> own = power(point);
        d_own += own;
        square += std::norm(own);
    }
    d_scatter = square * static_cast<double>(alphabet.size()) / std::norm(d_own);
    d_own /= std::abs(d_own);
    set_bandwidth(bandwidth);
}

void carrier_recovery_impl::set_bandwidth(float bandwidth)
{
    if (!(bandwidth > 0 && bandwidth < 0.5f))
        core::refuse("bandwidth", bandwidth, "above 0, below 0.5");
    d_fading = 2 * bandwidth / static_cast<float>(d_scatter);
}

std::complex<double> carrier_recovery_impl::power(std::complex<double> value) const
{
    std::complex<double> product = value;
    for (std::size_t i = 1; i < d_order; ++i)
        product *= value;
    return product;
}

int carrier_recovery_impl::work(int noutput_items,
                                gr_vector_const_void_star& input_items,
                                gr_vector_void_star& output_items)
{
    const auto* in = static_cast<const gr_complex*>(input_items[0]);
    auto* out = static_cast<gr_complex*>(output_items[0]);
    for (int i = 0; i < noutput_items; ++i) {
        if (d_sample == 0)
            take(in[i]);
        out[i] = in[i] * d_turn;
        d_turn *= d_step;
        d_sample = d_sample + 1 == d_sps ? 0 : d_sample + 1;
    }
    return noutput_items;
}

// The middle of the next symbol, as it comes in.
void carrier_recovery_impl::take(gr_complex middle)
{
    const bool counts = std::norm(middle) < largest * largest; // not where it is NaN
    const std::complex<double> own = counts ? power(middle) : 0;
    d_powers[d_taken++ % symbols] = gr_complex(own);
    d_turned += d_offset;
    const auto order = static_cast<double>(d_order);
    d_average +=
        static_cast<double>(d_fading) * (own * turned(-order * d_turned) - d_average);
    // Of all phases that have this power the nearest.
    const double now = std::arg(d_average * std::conj(d_own)) / (2 * M_PI);
    d_phase += std::remainder(now - order * d_phase, 1.0) / order;
    d_turn = gr_complex(turned(-d_turned - d_phase));
    if (d_taken % apart == 0)
        look();
}

void carrier_recovery_impl::look()
{
    d_turned = std::remainder(d_turned, 1.0);
    d_phase = std::remainder(d_phase, 1.0);
    const std::optional<double> line = find_line();
    if (!line)
        return;
    // Of all offsets that have this line the nearest.
    const auto order = static_cast<double>(d_order);
    d_offset += std::remainder(*line - order * d_offset, 1.0) / order;
    d_frequency = static_cast<float>(d_offset);
    d_step = gr_complex(turned(-d_offset / static_cast<double>(d_sps)));
}

// Cycles a symbol of the power's line.
std::optional<double> carrier_recovery_impl::find_line()
{
    const std::size_t there = std::min(d_taken, symbols);
    gr_complex* const in = d_fft.get_inbuf();
    std::fill_n(in, bins, gr_complex());
    for (std::size_t i = 0; i < there; ++i)
        in[i] = d_powers[(d_taken - there + i) % symbols];
    d_fft.execute();
    const gr_complex* const spectrum = d_fft.get_outbuf();
    std::transform(spectrum,
                   spectrum + bins,
                   d_periodogram.begin(),
                   [](gr_complex value) { return std::norm(value); });
    const auto peak = static_cast<std::size_t>(
        std::max_element(d_periodogram.begin(), d_periodogram.end()) -
        d_periodogram.begin());
    const double before = d_periodogram[(peak + bins - 1) % bins],
                 most = d_periodogram[peak], behind = d_periodogram[(peak + 1) % bins];
    const auto median = d_periodogram.begin() + bins / 2;
    std::nth_element(d_periodogram.begin(), median, d_periodogram.end());
    if (!(most > clear * *median))
        return {};
    // The top of the parabola through it and its neighbours.
    const double bend = 2 * most - before - behind;
    const double beside =
        bend > 0 ? std::clamp((behind - before) / (2 * bend), -0.5, 0.5) : 0.0;
    return (static_cast<double>(peak) + beside) / bins;
}

} // namespace gr::adann
