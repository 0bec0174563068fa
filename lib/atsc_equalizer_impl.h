/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/segment_equalizer.h"
#include <gnuradio/adann/atsc_equalizer.h>

#include <array>
#include <mutex>
#include <optional>

namespace gr::adann {

class atsc_equalizer_impl : public atsc_equalizer
{
public:
    atsc_equalizer_impl(unsigned past, unsigned future);

    double modulation_error_ratio() const override;
    double known_errors() const override;
    std::uint64_t memory() const override;
    std::uint64_t resets() const override;
    std::vector<float> taps() const override;

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    struct plinfo { // of GNU Radio's gr-dtv, as it lies in a stream
        std::uint16_t flags;
        std::int16_t number;

        bool is_field() const { return number == -1; }
        core::segment_kind kind() const;
        bool follows(const plinfo& before) const;
    };
    static_assert(sizeof(plinfo) == 4);

    void send_status();
    core::segment_equalizer::status_type status() const;

    core::segment_equalizer d_core;
    std::optional<plinfo> d_before;               // of the segment that the core holds
    std::uint64_t d_decided = 0;                  // symbols
    std::array<std::vector<gr::tag_t>, 2> d_tags; // and its tags

    mutable std::mutex d_mutex; // never held while equalizing
    core::segment_equalizer::status_type d_status;
    std::vector<float> d_taps;
};

} // namespace gr::adann
