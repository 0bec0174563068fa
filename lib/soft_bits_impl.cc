/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "soft_bits_impl.h"

#include <gnuradio/io_signature.h>

namespace gr::adann {

soft_bits::sptr soft_bits::make(unsigned size, const std::string& convention)
{
    return make(size, core::soft_bit_convention_named(convention));
}

soft_bits::sptr soft_bits::make(unsigned size, const soft_bit_convention& convention)
{
    return gnuradio::make_block_sptr<soft_bits_impl>(size,
                                                     core::soft_bits(size, convention));
}

soft_bits_impl::soft_bits_impl(unsigned size, const core::soft_bits& core)
    : gr::sync_interpolator(
          "adann_soft_bits",
          gr::io_signature::make2(
              1, 2, size * sizeof(float), core.bits_per_symbol() * sizeof(float)),
          gr::io_signature::make(1, 1, core.item_size()),
          core.bits_per_symbol()),
      d_core(core)
{
}

int soft_bits_impl::work(int noutput_items,
                         gr_vector_const_void_star& input_items,
                         gr_vector_void_star& output_items)
{
    d_core.process(static_cast<const float*>(input_items[0]),
                   output_items[0],
                   noutput_items / d_core.bits_per_symbol(),
                   input_items.size() > 1 ? static_cast<const float*>(input_items[1])
                                          : nullptr);
    return noutput_items;
}

} // namespace gr::adann
