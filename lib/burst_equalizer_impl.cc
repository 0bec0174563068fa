/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "burst_equalizer_impl.h"

#include "core/common/checks.h"

#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/io_signature.h>

#include <algorithm>

namespace gr::adann {

namespace {
constexpr std::size_t most_at_once = 8192; // samples of a call

pmt::pmt_t key_of(const std::string& name)
{
    return name.empty() ? pmt::PMT_NIL : pmt::intern(name);
}
} // namespace

burst_equalizer::sptr
burst_equalizer::make(const std::string& constellation,
                      const std::vector<std::uint8_t>& known_symbols,
                      const burst_equalizer_settings& settings)
{
    const core::constellation symbols(constellation);
    if (symbols.is_offset())
        core::refuse("constellation", "oqpsk", "one whose I and Q come together");
    core::check_range<std::size_t>(
        "known_symbols' length", known_symbols.size(), 16, 100'000);
    for (const auto label : known_symbols)
        if (!core::is_known(label, symbols.size()) && label != core::not_known)
            core::refuse("known_symbols' label",
                         int{ label },
                         "0 to " + std::to_string(symbols.size() - 1) +
                             ", 255: not known");
    if (settings.start_tag.empty())
        core::refuse("start_tag", "empty", "a tag's key");
    core::check_range<std::size_t>(
        "tagged_symbol", settings.tagged_symbol, 0, known_symbols.size() - 1);
    core::burst_symbols::check_seed(
        "known_symbols", known_symbols.data(), known_symbols.size(), symbols.size());
    return gnuradio::make_block_sptr<burst_equalizer_impl>(
        symbols, known_symbols, settings);
}

burst_equalizer_impl::burst_equalizer_impl(const core::constellation& symbols,
                                           const std::vector<std::uint8_t>& known_symbols,
                                           const burst_equalizer_settings& settings)
    : gr::block(
          "adann_burst_equalizer",
          gr::io_signature::make(
              1, 1, settings.complex ? sizeof(gr_complex) : sizeof(float)),
          gr::io_signature::make3(1,
                                  3,
                                  1,
                                  sizeof(gr_complex),
                                  static_cast<int>(symbols.size() * sizeof(float)))),
      d_complex(settings.complex),
      d_sps(settings.sps),
      d_known(known_symbols),
      d_before(settings.tagged_symbol * settings.sps),
      d_start_key(key_of(settings.start_tag)),
      d_end_key(key_of(settings.end_tag)),
      d_core(symbols,
             settings.sps,
             settings.complex,
             { settings.length, settings.carrier, known_symbols.size() }),
      d_origin(d_before + d_core.reach()),
      d_samples(d_origin)
{
    set_tag_propagation_policy(TPP_DONT);
    d_samples.reserve(2 * (d_origin + d_core.samples(d_known.size()) + most_at_once));
}

bool burst_equalizer_impl::start()
{
    const std::uint64_t read = nitems_read(0);
    if (read + d_origin != d_first + d_samples.size()) { // another stream
        d_samples.assign(d_origin, 0);
        d_first = read;
        d_pending.clear();
        d_free = d_size = d_left = 0;
    }
    return block::start();
}

void burst_equalizer_impl::forecast(int, gr_vector_int& ninput_items_required)
{
    const bool comes = d_left || is_complete() || is_cut_off();
    ninput_items_required[0] = !comes;
}

int burst_equalizer_impl::general_work(int noutput_items,
                                       gr_vector_int& ninput_items,
                                       gr_vector_const_void_star& input_items,
                                       gr_vector_void_star& output_items)
{
    if (d_left == 0) {
        const auto count =
            std::min(static_cast<std::size_t>(ninput_items[0]), most_at_once);
        take(input_items[0], count);
        consume(0, static_cast<int>(count));
        if (!is_complete() && is_cut_off())
            end();
        if (is_complete())
            equalize();
        drop_samples();
    }
    return hand_out(noutput_items, output_items);
}

void burst_equalizer_impl::take(const void* in, std::size_t count)
{
    if (d_complex) {
        const auto* from = static_cast<const gr_complex*>(in);
        d_samples.insert(d_samples.end(), from, from + count);
    } else {
        const auto* from = static_cast<const float*>(in);
        d_samples.insert(d_samples.end(), from, from + count);
    }
    get_tags_in_window(d_tags, 0, 0, count);
    // An end comes before a start at the same sample.
    std::sort(
        d_tags.begin(), d_tags.end(), [this](const gr::tag_t& a, const gr::tag_t& b) {
            return a.offset != b.offset
                       ? a.offset < b.offset
                       : !pmt::eqv(a.key, d_start_key) && pmt::eqv(b.key, d_start_key);
        });
    for (const auto& tag : d_tags)
        note(tag);
}

void burst_equalizer_impl::note(const gr::tag_t& tag)
{
    const std::uint64_t at = tag.offset + d_origin;
    const bool has_end = !pmt::is_null(d_end_key);
    if (has_end && pmt::eqv(tag.key, d_end_key) && !d_pending.empty() &&
        !d_pending.back().symbols) {
        burst& open = d_pending.back();
        const std::uint64_t symbols =
            at > open.first ? (at - open.first + d_sps / 2) / d_sps : 0;
        open.symbols = std::min<std::uint64_t>(symbols, d_known.size());
        d_free = open.first + open.symbols * d_sps;
        leave_out_unknown();
    }
    // Of tags within half a symbol the first one counts.
    if (pmt::eqv(tag.key, d_start_key) && at - d_before + d_sps / 2 >= d_free) {
        d_pending.push_back({ at - d_before, has_end ? 0 : d_known.size() });
        d_free = at - d_before + d_known.size() * d_sps;
    }
}

// Drops the latest burst if it has too few known symbols.
void burst_equalizer_impl::leave_out_unknown()
{
    const std::size_t symbols = d_pending.back().symbols;
    if (core::burst_symbols::seed(d_known.data(), symbols, d_core.classes()).size())
        return;
    if (d_log.allows())
        d_logger->warn(
            "a burst of {} symbols is left out: fewer than {} known ones within {}{}",
            symbols,
            core::burst_symbols::least_known,
            core::burst_symbols::most_apart,
            d_log.left_out());
    d_pending.pop_back();
}

// Whether all samples of the earliest burst have come.
bool burst_equalizer_impl::is_complete() const
{
    if (d_pending.empty())
        return false;
    const burst& next = d_pending.front();
    const std::size_t symbols = next.symbols ? next.symbols : d_known.size();
    return next.first - d_core.reach() + d_core.samples(symbols) <=
           d_first + d_samples.size();
}

// Whether a burst has begun and no sample comes any more.
bool burst_equalizer_impl::is_cut_off() const
{
    const auto& input = detail()->input(0);
    // In this order: nothing comes once it is done.
    return !d_pending.empty() && input->done() && input->items_available() == 0;
}

// At the end of the input: pads with zeros, and shortens bursts to the symbols that came.
void burst_equalizer_impl::end()
{
    const std::uint64_t end = d_first + d_samples.size();
    burst& last = d_pending.back();
    const std::uint64_t came = end > last.first ? (end - last.first - 1) / d_sps + 1 : 0;
    if (!last.symbols || last.symbols > came) {
        last.symbols = std::min<std::uint64_t>(came, d_known.size());
        leave_out_unknown();
    }
    d_samples.insert(d_samples.end(), d_core.reach(), 0);
}

void burst_equalizer_impl::equalize()
{
    const burst next = d_pending.front();
    d_pending.pop_front();
    d_size = d_left = next.symbols ? next.symbols : d_known.size();
    d_sample = next.first - d_origin;
    d_core.equalize(
        &d_samples[next.first - d_core.reach() - d_first], d_known.data(), d_size);
    ++d_bursts;
}

// Drops samples that no later burst can need.
void burst_equalizer_impl::drop_samples()
{
    const std::uint64_t needed =
        (d_pending.empty() ? d_first + d_samples.size() - d_before
                           : d_pending.front().first) -
        d_core.reach();
    const std::uint64_t count = needed - d_first;
    if (count > d_samples.size() / 2) { // so that each sample is moved once on average
        d_samples.erase(d_samples.begin(), d_samples.begin() + static_cast<long>(count));
        d_first = needed;
    }
}

int burst_equalizer_impl::hand_out(int room, gr_vector_void_star& output_items)
{
    if (d_left == d_size && d_left && room) {
        const auto tag = [&](const char* key, const pmt::pmt_t& value) {
            for (std::size_t port = 0; port < output_items.size(); ++port)
                add_item_tag(port, nitems_written(port), pmt::intern(key), value);
        };
        tag("packet_len", pmt::from_long(static_cast<long>(d_size)));
        tag("sample", pmt::from_uint64(d_sample));
        tag("frequency", pmt::from_double(d_core.frequency()));
        tag("noise", pmt::from_double(d_core.noise()));
    }
    const std::size_t first = d_size - d_left;
    const std::size_t count = std::min(d_left, static_cast<std::size_t>(room));
    std::copy_n(
        d_core.labels() + first, count, static_cast<std::uint8_t*>(output_items[0]));
    if (output_items.size() > 1)
        std::copy_n(
            d_core.soft() + first, count, static_cast<gr_complex*>(output_items[1]));
    if (output_items.size() > 2)
        std::copy_n(d_core.posteriors() + first * d_core.classes(),
                    count * d_core.classes(),
                    static_cast<float*>(output_items[2]));
    d_left -= count;
    return static_cast<int>(count);
}

} // namespace gr::adann
