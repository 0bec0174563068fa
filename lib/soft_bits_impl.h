/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/soft_bits.h"
#include <gnuradio/adann/soft_bits.h>

namespace gr::adann {

class soft_bits_impl : public soft_bits
{
public:
    soft_bits_impl(unsigned size, const core::soft_bits& core);

    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    const core::soft_bits d_core;
};

} // namespace gr::adann
