/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/coarse_carrier.h"

#include <gnuradio/adann/coarse_carrier.h>

namespace gr::adann {

class coarse_carrier_impl : public coarse_carrier
{
public:
    coarse_carrier_impl(float sps, float roll_off);

    float frequency() const override { return d_core.frequency(); }

    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    core::coarse_carrier d_core;
};

} // namespace gr::adann
