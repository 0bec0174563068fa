/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "carrier_recovery_impl.h"

#include "fourier_transform.h"

#include <gnuradio/io_signature.h>

namespace gr::adann {

carrier_recovery::sptr
carrier_recovery::make(const std::string& constellation, unsigned sps, float bandwidth)
{
    return gnuradio::make_block_sptr<carrier_recovery_impl>(
        constellation, sps, bandwidth);
}

carrier_recovery_impl::carrier_recovery_impl(const std::string& constellation,
                                             unsigned sps,
                                             float bandwidth)
    : gr::sync_block("adann_carrier_recovery",
                     gr::io_signature::make(1, 1, sizeof(gr_complex)),
                     gr::io_signature::make(1, 1, sizeof(gr_complex))),
      d_core(core::constellation(constellation),
             sps,
             bandwidth,
             fourier_transform(core::carrier_recovery::bins))
{
}

int carrier_recovery_impl::work(int noutput_items,
                                gr_vector_const_void_star& input_items,
                                gr_vector_void_star& output_items)
{
    d_core.process(static_cast<const gr_complex*>(input_items[0]),
                   static_cast<gr_complex*>(output_items[0]),
                   static_cast<std::size_t>(noutput_items));
    return noutput_items;
}

} // namespace gr::adann
