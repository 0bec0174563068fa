/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/mlse/mlse.h"
#include <gnuradio/adann/mlse.h>

#include <mutex>

namespace gr::adann {

class mlse_impl : public mlse
{
public:
    mlse_impl(const core::channel_model& channel, const mlse_options& options);

    void set_response(const std::vector<gr_complex>& response) override;
    void set_adaptation(mlse_adaptation adaptation) override;
    void set_step(float step) override;
    std::vector<gr_complex> response() const override;
    std::uint64_t updates() const override;

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    void pass_tags(int input, std::size_t symbols, std::size_t items_per_symbol);

    const std::size_t d_sps;
    const std::size_t d_floats; // of a symbol's samples
    const pmt::pmt_t d_training_tag;
    std::vector<gr::tag_t> d_tags;
    mutable std::mutex d_mutex; // the core is used by work() and the setters
    core::mlse d_core;
};

} // namespace gr::adann
