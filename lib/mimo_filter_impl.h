/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/mimo_filter.h"
#include <gnuradio/adann/mimo_filter.h>

#include <mutex>
#include <optional>

namespace gr::adann {

class mimo_filter_impl : public mimo_filter
{
public:
    mimo_filter_impl(const core::model& model,
                     const core::mimo_filter_settings& settings);

    bool start() override; // from nothing: another run is another stream
    unsigned delay() const override { return d_delay; }
    unsigned found() const override;
    std::uint64_t starts() const override;
    double residual() const override;
    std::vector<double> frequencies() const override;

    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    const core::model d_model;
    const core::mimo_filter_settings d_settings;
    std::optional<core::mimo_filter> d_core;
    const int d_step; // samples
    const unsigned d_delay;
    std::vector<const float*> d_in;
    std::vector<float*> d_out;
    mutable std::mutex d_mutex;
    std::vector<core::mimo_output_status> d_status; // after the latest call of work()
};

} // namespace gr::adann
