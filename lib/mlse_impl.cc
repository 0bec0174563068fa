/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mlse_impl.h"

#include <algorithm>
#include <gnuradio/io_signature.h>

namespace gr::adann {

mlse::sptr mlse::make(const std::string& constellation,
                      unsigned sps,
                      unsigned memory,
                      bool complex,
                      const mlse_options& options)
{
    return gnuradio::make_block_sptr<mlse_impl>(
        core::channel_model(core::constellation(constellation), sps, memory, complex),
        options);
}

mlse_impl::mlse_impl(const core::channel_model& channel, const mlse_options& options)
    : gr::block(
          "adann_mlse",
          gr::io_signature::make2(
              1, 2, channel.floats() / channel.sps * sizeof(float), sizeof(std::uint8_t)),
          gr::io_signature::make(1, 1, sizeof(std::uint8_t))),
      d_sps(channel.sps),
      d_floats(channel.floats()),
      d_training_tag(options.training_tag.empty() ? pmt::PMT_NIL
                                                  : pmt::mp(options.training_tag)),
      d_core(channel, options)
{
    d_core.set_training(options.training);
    // The scheduler keeps the first half of the current symbol's samples, zeros at first.
    set_history(d_sps / 2 + 1);
    set_relative_rate(1, d_sps);
    set_tag_propagation_policy(TPP_CUSTOM); // it would take that rate for both inputs
}

bool mlse_impl::start()
{
    const std::lock_guard lock(d_mutex);
    d_core.start();
    if (pmt::is_null(d_training_tag))
        d_core.start_training();
    return true;
}

void mlse_impl::set_response(const std::vector<gr_complex>& response)
{
    const std::lock_guard lock(d_mutex);
    d_core.set_response(response);
}

void mlse_impl::set_adaptation(mlse_adaptation adaptation)
{
    const std::lock_guard lock(d_mutex);
    d_core.set_adaptation(adaptation);
}

void mlse_impl::set_step(float step)
{
    const std::lock_guard lock(d_mutex);
    d_core.set_step(step);
}

std::vector<gr_complex> mlse_impl::response() const
{
    const std::lock_guard lock(d_mutex);
    return d_core.response();
}

std::uint64_t mlse_impl::updates() const
{
    const std::lock_guard lock(d_mutex);
    return d_core.updates();
}

void mlse_impl::forecast(int, gr_vector_int& required)
{
    // One symbol, as labels come out in portions whatever is asked for; none if there are
    // some that the last call had no room for.
    const bool pending = d_core.pending();
    required[0] = pending ? 0 : d_sps;
    if (required.size() > 1)
        required[1] = pending ? 0 : history();
}

int mlse_impl::general_work(int noutput_items,
                            gr_vector_int& ninput_items,
                            gr_vector_const_void_star& input_items,
                            gr_vector_void_star& output_items)
{
    const auto samples = static_cast<const float*>(input_items[0]);
    auto labels = static_cast<std::uint8_t*>(output_items[0]);
    std::size_t symbols = ninput_items[0] / d_sps;
    const std::uint8_t* known = nullptr;
    if (input_items.size() > 1) {
        const int past = history() - 1; // the scheduler keeps as many labels, unused
        known = static_cast<const std::uint8_t*>(input_items[1]) + past;
        symbols = std::clamp<int>(ninput_items[1] - past, 0, symbols);
    }

    d_tags.clear();
    if (!pmt::is_null(d_training_tag))
        get_tags_in_window(d_tags, 0, 0, symbols * d_sps, d_training_tag);
    std::sort(d_tags.begin(), d_tags.end(), gr::tag_t::offset_compare);

    const std::lock_guard lock(d_mutex);
    core::mlse::progress done{};
    const auto process_to = [&](std::size_t symbol) {
        const auto [taken, decided] = d_core.process(samples + done.symbols * d_floats,
                                                     known ? known + done.symbols : known,
                                                     symbol - done.symbols,
                                                     labels + done.labels,
                                                     noutput_items - done.labels);
        done.symbols += taken;
        done.labels += decided;
        return done.symbols == symbol;
    };
    // That whose samples hold the tag; it may be the one after those that are here.
    const auto symbol_of = [&](const gr::tag_t& tag) {
        return (tag.offset - nitems_read(0) + d_sps / 2) / d_sps;
    };
    bool room = true;
    for (const auto& tag : d_tags)
        if (room && (room = process_to(symbol_of(tag))))
            d_core.start_training();
    if (room)
        process_to(symbols);

    pass_tags(0, done.symbols, d_sps);
    consume(0, done.symbols * d_sps);
    if (known) {
        pass_tags(1, done.symbols, 1);
        consume(1, done.symbols);
    }
    return done.labels;
}

void mlse_impl::pass_tags(int input, std::size_t symbols, std::size_t items_per_symbol)
{
    get_tags_in_window(d_tags, input, 0, symbols * items_per_symbol);
    for (auto& tag : d_tags) {
        tag.offset = (tag.offset + items_per_symbol / 2) / items_per_symbol;
        add_item_tag(0, tag);
    }
}

} // namespace gr::adann
