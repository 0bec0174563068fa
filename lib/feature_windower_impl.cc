/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "feature_windower_impl.h"

#include <algorithm>
#include <boost/interprocess/mapped_region.hpp>
#include <gnuradio/io_signature.h>
#include <numeric>

namespace gr::adann {

feature_windower::sptr
feature_windower::make(unsigned sps, unsigned half_window, bool complex)
{
    return gnuradio::make_block_sptr<feature_windower_impl>(
        core::window_geometry(sps, half_window, complex));
}

feature_windower_impl::feature_windower_impl(const core::window_geometry& window)
    : gr::block("adann_feature_windower",
                gr::io_signature::make(1, 1, window.floats_per_sample() * sizeof(float)),
                gr::io_signature::make(1, 1, window.dimension() * sizeof(float))),
      d_window(window)
{
    // The scheduler keeps the samples before the current symbol, zeros at first.
    set_history(d_window.samples_before() + 1);
    set_relative_rate(1, d_window.sps());
    // A buffer holds whole pages and whole vectors. Where that is more than GNU Radio's usual size
    // it warns, unless it was asked for.
    const std::size_t page = boost::interprocess::mapped_region::get_page_size();
    const std::size_t vector = d_window.dimension() * sizeof(float);
    set_min_output_buffer(0, page / std::gcd(page, vector));
}

void feature_windower_impl::forecast(int noutput_items, gr_vector_int& required)
{
    required[0] = (noutput_items - 1) * d_window.sps() + d_window.samples();
}

int feature_windower_impl::general_work(int noutput_items,
                                        gr_vector_int& ninput_items,
                                        gr_vector_const_void_star& input_items,
                                        gr_vector_void_star& output_items)
{
    const std::size_t vectors =
        std::min<std::size_t>(noutput_items, d_window.windows_in(ninput_items[0]));
    const core::feature_view view{ static_cast<const float*>(input_items[0]),
                                   d_window.stride(),
                                   d_window.dimension(),
                                   vectors };
    auto out = static_cast<float*>(output_items[0]);
    for (std::size_t i = 0; i < view.count; ++i, out += view.dimension)
        std::copy_n(view[i], view.dimension, out);
    consume_each(view.count * d_window.sps());
    return view.count;
}

} // namespace gr::adann
