/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "normalizer_impl.h"

#include <gnuradio/io_signature.h>

namespace gr::adann {

normalizer::sptr normalizer::make(bool complex, unsigned window)
{
    return gnuradio::make_block_sptr<normalizer_impl>(complex,
                                                      core::normalizer(complex, window));
}

normalizer::sptr normalizer::make_fixed(gr_complex mean, float rms, bool complex)
{
    return gnuradio::make_block_sptr<normalizer_impl>(
        complex, core::normalizer(complex, mean, rms));
}

normalizer_impl::normalizer_impl(bool complex, const core::normalizer& normalizer)
    : gr::sync_block("adann_normalizer",
                     gr::io_signature::make(1, 1, (complex ? 2 : 1) * sizeof(float)),
                     gr::io_signature::make(1, 1, (complex ? 2 : 1) * sizeof(float))),
      d_normalizer(normalizer)
{
}

int normalizer_impl::work(int noutput_items,
                          gr_vector_const_void_star& input_items,
                          gr_vector_void_star& output_items)
{
    d_normalizer.process(static_cast<const float*>(input_items[0]),
                         static_cast<float*>(output_items[0]),
                         noutput_items);
    return noutput_items;
}

} // namespace gr::adann
