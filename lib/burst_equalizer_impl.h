/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/burst_equalizer.h"
#include "log_limit.h"

#include <gnuradio/adann/burst_equalizer.h>

#include <atomic>
#include <deque>

namespace gr::adann {

class burst_equalizer_impl : public burst_equalizer
{
public:
    burst_equalizer_impl(const core::constellation& symbols,
                         const std::vector<std::uint8_t>& known_symbols,
                         const burst_equalizer_settings& settings);

    std::uint64_t bursts() const override { return d_bursts; }

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    //! Samples are counted from d_origin before the stream's first: those before it are zeros.
    struct burst {
        std::uint64_t first; //!< sample of its first symbol
        std::size_t symbols; //!< 0: not known before its end tag
    };

    void take(const void* in, std::size_t count);
    void note(const gr::tag_t& tag);
    void leave_out_unknown();
    bool is_complete() const;
    bool is_cut_off() const;
    void end();
    void equalize();
    void drop_samples();
    int hand_out(int room, gr_vector_void_star& output_items);

    const bool d_complex;
    const std::size_t d_sps;
    const std::vector<std::uint8_t> d_known;
    const std::uint64_t d_before; // samples from a burst's first symbol to its tag
    const pmt::pmt_t d_start_key, d_end_key;
    core::burst_equalizer d_core;
    const std::uint64_t d_origin;

    std::vector<gr_complex> d_samples;  // the latest samples
    std::uint64_t d_first = 0;          // number of the first of them
    std::deque<burst> d_pending;        // bursts that have begun
    std::uint64_t d_free = 0;           // first sample at which the next burst may begin
    std::uint64_t d_sample = 0;         // input sample of the burst that is handed out
    std::size_t d_size = 0, d_left = 0; // its symbols, and those still to be handed out
    std::vector<gr::tag_t> d_tags;
    std::atomic<std::uint64_t> d_bursts{ 0 };
    log_limit d_log;
};

} // namespace gr::adann
