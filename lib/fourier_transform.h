/* -*- c++ -*- */
/*
 * The discrete Fourier transform that the core asks its caller for.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/fft/fft.h>
#include <gnuradio/gr_complex.h>

#include <algorithm>
#include <functional>
#include <memory>

namespace gr::adann {

//! The forward transform of `size` numbers, from its first argument to its second. For one thread.
inline std::function<void(const gr_complex*, gr_complex*)> fourier_transform(int size)
{
    const auto fft = std::make_shared<fft::fft_complex_fwd>(size);
    return [fft, size](const gr_complex* in, gr_complex* out) {
        std::copy_n(in, size, fft->get_inbuf());
        fft->execute();
        std::copy_n(fft->get_outbuf(), size, out);
    };
}

} // namespace gr::adann
