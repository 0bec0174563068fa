/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/windows.h"
#include <gnuradio/adann/feature_windower.h>

namespace gr::adann {

class feature_windower_impl : public feature_windower
{
public:
    feature_windower_impl(const core::window_geometry& window);

    std::size_t dimension() const override { return d_window.dimension(); }
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    const core::window_geometry d_window;
};

} // namespace gr::adann
