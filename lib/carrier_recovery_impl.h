/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/carrier_recovery.h"

#include <gnuradio/adann/carrier_recovery.h>

namespace gr::adann {

class carrier_recovery_impl : public carrier_recovery
{
public:
    carrier_recovery_impl(const std::string& constellation,
                          unsigned sps,
                          float bandwidth);

    void set_bandwidth(float bandwidth) override { d_core.set_bandwidth(bandwidth); }
    float frequency() const override { return d_core.frequency(); }

    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    core::carrier_recovery d_core;
};

} // namespace gr::adann
