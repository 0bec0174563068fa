/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "coarse_carrier_impl.h"

#include "fourier_transform.h"

#include <gnuradio/io_signature.h>

namespace gr::adann {

coarse_carrier::sptr coarse_carrier::make(float sps, float roll_off)
{
    return gnuradio::make_block_sptr<coarse_carrier_impl>(sps, roll_off);
}

coarse_carrier_impl::coarse_carrier_impl(float sps, float roll_off)
    : gr::sync_block("adann_coarse_carrier",
                     gr::io_signature::make(1, 1, sizeof(gr_complex)),
                     gr::io_signature::make(1, 1, sizeof(gr_complex))),
      d_core(
          sps,
          roll_off,
          fourier_transform(static_cast<int>(core::coarse_carrier::transform_size(sps))))
{
}

int coarse_carrier_impl::work(int noutput_items,
                              gr_vector_const_void_star& input_items,
                              gr_vector_void_star& output_items)
{
    d_core.process(static_cast<const gr_complex*>(input_items[0]),
                   static_cast<gr_complex*>(output_items[0]),
                   static_cast<std::size_t>(noutput_items));
    return noutput_items;
}

} // namespace gr::adann
