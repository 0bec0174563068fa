/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "atsc_equalizer_impl.h"

#include <gnuradio/io_signature.h>

#include <algorithm>
#include <cmath>

namespace gr::adann {

namespace {
constexpr int segment_bytes = core::atsc::segment * sizeof(float);
constexpr std::int16_t last_of_field = 311;
const pmt::pmt_t status_port = pmt::mp("status");
} // namespace

atsc_equalizer::sptr atsc_equalizer::make(unsigned past, unsigned future)
{
    return gnuradio::make_block_sptr<atsc_equalizer_impl>(past, future);
}

atsc_equalizer_impl::atsc_equalizer_impl(unsigned past, unsigned future)
    : gr::block("adann_atsc_equalizer",
                gr::io_signature::make2(2, 2, segment_bytes, sizeof(plinfo)),
                gr::io_signature::make2(2, 2, segment_bytes, sizeof(plinfo))),
      d_core(past, future),
      d_taps(d_core.taps())
{
    set_tag_propagation_policy(TPP_CUSTOM);
    message_port_register_out(status_port);
}

core::segment_kind atsc_equalizer_impl::plinfo::kind() const
{
    constexpr std::uint16_t second_field = 0x10;
    if (!is_field())
        return core::segment_kind::data;
    return flags & second_field ? core::segment_kind::field2 : core::segment_kind::field1;
}

bool atsc_equalizer_impl::plinfo::follows(const plinfo& before) const
{
    return number == (before.number == last_of_field ? -1 : before.number + 1);
}

bool atsc_equalizer_impl::start()
{
    d_core.start();
    d_before.reset();
    d_decided = 0;
    return true;
}

void atsc_equalizer_impl::forecast(int noutput_items, gr_vector_int& required)
{
    std::fill(required.begin(), required.end(), noutput_items);
}

int atsc_equalizer_impl::general_work(int noutput_items,
                                      gr_vector_int& ninput_items,
                                      gr_vector_const_void_star& input_items,
                                      gr_vector_void_star& output_items)
{
    const auto* samples = static_cast<const float*>(input_items[0]);
    const auto* infos = static_cast<const plinfo*>(input_items[1]);
    auto* levels = static_cast<float*>(output_items[0]);
    auto* headers = static_cast<plinfo*>(output_items[1]);
    const int n = std::min({ noutput_items, ninput_items[0], ninput_items[1] });
    int written = 0;
    for (int i = 0; i < n; ++i, samples += core::atsc::segment) {
        const bool follows = d_before && infos[i].follows(*d_before);
        const std::uint64_t fields = d_core.status().fields;
        if (d_core.take(samples, infos[i].kind(), follows, levels)) {
            for (std::size_t port = 0; port < d_tags.size(); ++port)
                for (auto& tag : d_tags[port]) {
                    tag.offset = nitems_written(port) + written;
                    add_item_tag(port, tag);
                }
            headers[written++] = *d_before;
            levels += core::atsc::segment;
            d_decided += core::atsc::segment;
        }
        d_before = infos[i];
        for (std::size_t port = 0; port < d_tags.size(); ++port)
            get_tags_in_window(d_tags[port], port, i, i + 1);
        if (d_core.status().fields != fields)
            send_status();
    }
    consume_each(n);
    return written;
}

// Sends a status message, after a field's first segment.
void atsc_equalizer_impl::send_status()
{
    const auto now = d_core.status();
    std::uint64_t before;
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        before = d_status.resets;
        d_status = now;
        d_taps = d_core.taps();
    }
    if (pmt::is_null(message_subscribers(status_port)))
        return;
    pmt::pmt_t status = pmt::make_dict();
    const auto add = [&status](const char* key, const pmt::pmt_t& value) {
        status = pmt::dict_add(status, pmt::mp(key), value);
    };
    add("event", pmt::mp("step"));
    add("tracking", pmt::mp(now.resets != before ? "lost" : "following"));
    add("memory", pmt::from_uint64(now.memory));
    add("filter_resets", pmt::from_uint64(now.resets));
    add("decided", pmt::from_uint64(d_decided));
    if (!std::isnan(now.residual)) {
        const double residual = 10 * std::log10(static_cast<double>(now.residual));
        add("residual", pmt::from_double(residual));
        add("mer", pmt::from_double(-residual));
        add("evm", pmt::from_double(std::sqrt(now.residual)));
        add("known_errors", pmt::from_double(now.known_errors));
    }
    message_port_pub(status_port, status);
}

core::segment_equalizer::status_type atsc_equalizer_impl::status() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    return d_status;
}

double atsc_equalizer_impl::modulation_error_ratio() const
{
    return -10 * std::log10(static_cast<double>(status().residual));
}

double atsc_equalizer_impl::known_errors() const { return status().known_errors; }

std::uint64_t atsc_equalizer_impl::memory() const { return status().memory; }

std::uint64_t atsc_equalizer_impl::resets() const { return status().resets; }

std::vector<float> atsc_equalizer_impl::taps() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    return d_taps;
}

} // namespace gr::adann
