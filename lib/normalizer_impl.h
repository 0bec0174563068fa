/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/normalizer.h"
#include <gnuradio/adann/normalizer.h>

namespace gr::adann {

class normalizer_impl : public normalizer
{
public:
    normalizer_impl(bool complex, const core::normalizer& normalizer);

    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    core::normalizer d_normalizer;
};

} // namespace gr::adann
