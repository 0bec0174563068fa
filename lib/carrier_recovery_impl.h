/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"

#include <gnuradio/adann/carrier_recovery.h>
#include <gnuradio/fft/fft.h>

#include <atomic>
#include <complex>
#include <optional>
#include <vector>

namespace gr::adann {

class carrier_recovery_impl : public carrier_recovery
{
public:
    carrier_recovery_impl(const core::constellation& alphabet,
                          unsigned sps,
                          float bandwidth);

    void set_bandwidth(float bandwidth) override;
    float frequency() const override { return d_frequency; }

    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    static constexpr std::size_t symbols = 4096; // of the periodogram
    static constexpr std::size_t apart =
        1024; // from one look to the next, and before the first
    static constexpr std::size_t bins = 2 * symbols;

    std::complex<double> power(std::complex<double> value) const;
    void take(gr_complex middle);
    void look();
    std::optional<double> find_line();

    const std::size_t d_order, d_sps;
    std::complex<double> d_own = 0;   // E[s^M], of unit length
    double d_scatter = 0;             // E|s|^2M / |E s^M|^2
    std::atomic<float> d_fading;      // of the average, a symbol
    std::vector<gr_complex> d_powers; // of the latest symbols, in turn
    std::size_t d_taken = 0;
    fft::fft_complex_fwd d_fft;
    std::vector<float> d_periodogram;
    std::atomic<float> d_frequency{ 0 };
    double d_offset = 0;                // the same, in cycles a symbol
    double d_turned = 0;                // by the offset so far, in turns
    double d_phase = 0;                 // beyond that, in turns
    std::complex<double> d_average = 0; // of powers without the offset
    std::size_t d_sample = 0;           // of a symbol
    gr_complex d_turn = 1, d_step = 1;  // of the samples
};

} // namespace gr::adann
