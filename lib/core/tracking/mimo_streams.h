/* -*- c++ -*- */
/*
 * Several channels, and the outputs that a mimo_filter makes of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/model.h"
#include "core/tracking/noise_level.h"
#include "core/tracking/phase_decisions.h"
#include "core/tracking/remembered_carrier.h"
#include "core/tracking/tap_bank.h"
#include "core/tracking/tracked_stream.h"

#include <array>
#include <complex>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

struct mimo_filter_settings {
    std::size_t channels = 2; //!< received streams, 1 to 8; times sps at most 64
    std::size_t outputs = 2;  //!< transmitters, 1 to `channels`
    unsigned length = 12;     //!< symbols that the taps span, 1 to 64

    //! \throws std::invalid_argument naming the setting that is out of range
    void check() const;
};

//! One transmitter's stream: its taps over all channels, its carrier, and its labels.
struct mimo_output {
    tap_bank bank;
    carrier turn;
    aligned_floats filtered; //!< interleaved
    phase_decisions phases;
    noise_level noise;
    std::vector<std::uint8_t> labels; //!< at the selected angle
    std::size_t known =
        0; //!< labels from this symbol on are decisions by the present taps
    std::array<std::complex<double>, 3>
        correlations{};                //!< remaining() of the latest steps
    std::size_t steps_with_signal = 0; //!< steps in a row that were not silent

    double latest_residual = 0; //!< of the latest step: see mean_residual()
    double residual_sum = 0;    //!< since forget_measured()
    std::size_t measured = 0;   //!< samples in that sum
    double usual = 0;           //!< average of mean_residual(); 0: none yet
    aligned_floats settled{};   //!< taps of the latest test that found nothing wrong
    remembered_carrier settled_carrier{}; //!< then
    bool found = false;                   //!< whether it has a transmitter
    //! Whether it was lost since the latest test, or still is: its phase may have slipped.
    bool was_lost = false;
    std::uint64_t starts = 0; //!< times that a transmitter was found for it

    //! Mean square residual of a sample, at the best phase of each step.
    double mean_residual() const
    {
        return measured ? residual_sum / static_cast<double>(measured) : 0;
    }
    void forget_measured()
    {
        residual_sum = 0;
        measured = 0;
    }
    bool is_silent() const { return starts > 0 && steps_with_signal == 0; }
};

/*! The state of a mimo_filter, which updates it; a mimo_recovery tests it.
 *
 * Symbols and samples are counted in a buffer: the middle of symbol k is sample k·sps. */
struct mimo_streams {
    static constexpr std::size_t block = tracked_stream::block;
    static constexpr std::size_t step = carrier::step; //!< symbols processed at once
    static constexpr std::size_t start_symbols = 4096;
    static constexpr std::size_t compared =
        256; //!< of two outputs, of two filters, or with the noise

    //! \throws std::invalid_argument naming what is out of range or missing
    mimo_streams(const model& behind, const mimo_filter_settings& settings);

    const expected_waveform waveform;
    const constellation alphabet;
    const window_geometry window;
    const std::size_t half_window;
    const std::size_t taps;  //!< of each channel and output
    const std::size_t delay; //!< symbols from a sample to the latest output of the taps
    const std::size_t kept;  //!< symbols before the latest one
    const std::size_t capacity;

    std::vector<planes> in;   //!< of each channel; unusable samples are zero
    std::uint64_t moved = 0;  //!< symbols of the stream before the buffer's first
    std::size_t filled;       //!< symbols that have come in
    std::size_t first;        //!< first symbol of the stream
    std::size_t unusable = 0; //!< end of the latest samples that are not usable
    bool one_carrier = false; //!< whether all outputs share one
    normal_equations sums;    //!< of one output's taps
    std::vector<mimo_output> outputs;

    std::size_t channels() const { return in.size(); }
    //! Steps that have come in.
    std::uint64_t steps() const { return (moved + filled - kept) / step; }
    std::size_t sps() const { return window.sps(); }
    std::size_t sample(std::size_t symbol) const { return symbol * window.sps(); }
    //! First of the samples that a symbol owns.
    std::size_t owned(std::size_t symbol) const { return sample(symbol) - sps() / 2; }
    //! Symbol of the stream, that of a sample of the buffer.
    double symbol_of(std::size_t sample) const
    {
        return static_cast<double>(moved) +
               static_cast<double>(sample) / static_cast<double>(sps());
    }
    //! Samples that the taps span on each side.
    std::size_t reach() const { return taps / 2; }
    //! Symbols up to ready() are filtered, and up to decided() decided.
    std::size_t ready() const { return filled - delay; }
    std::size_t decided() const { return ready() - half_window; }
    //! Symbols from ready() back to the latest one whose neighbours are all decided.
    std::size_t decided_later() const { return half_window + waveform.reach(); }
    //! First of the latest n symbols whose neighbours are all decided.
    std::size_t latest(std::size_t n) const { return ready() - decided_later() - n; }
    //! Middle of the step that was measured last, a sample.
    std::size_t latest_middle() const { return owned(latest(step) + step / 2); }
    //! Whether an output can learn from symbols, and the samples of their windows.
    bool is_usable(const mimo_output& each, std::size_t first) const;
    //! Another output with which it shares the carrier; null: it has its own.
    const mimo_output* shares_with(const mimo_output& each) const;

    //! Loads a step of samples, those of each channel from `offset` floats on.
    void load(const float* const* samples, std::size_t offset);
    //! Each channel from a sample on.
    std::vector<signal_planes> from(std::size_t sample) const;
    //! Filters all channels from a sample on, by taps that are a vector of normal_equations.
    void run(const float* taps, std::size_t from, std::size_t n, planes& to);

private:
    void make_room();

    linear_filter d_filter;
};

} // namespace gr::adann::core
