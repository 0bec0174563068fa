/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mimo_filter_impl.h"

#include <algorithm>
#include <cmath>
#include <gnuradio/io_signature.h>

namespace gr::adann {

mimo_filter::sptr mimo_filter::make(const std::string& model,
                                    unsigned channels,
                                    unsigned outputs,
                                    unsigned length)
{
    return gnuradio::make_block_sptr<mimo_filter_impl>(
        core::load_model(model), core::mimo_filter_settings{ channels, outputs, length });
}

mimo_filter::sptr mimo_filter::make_from_memory(const std::string& contents,
                                                unsigned channels,
                                                unsigned outputs,
                                                unsigned length)
{
    return gnuradio::make_block_sptr<mimo_filter_impl>(
        core::parse_model(contents),
        core::mimo_filter_settings{ channels, outputs, length });
}

mimo_filter_impl::mimo_filter_impl(const core::model& model,
                                   const core::mimo_filter_settings& settings)
    : gr::sync_block(
          "adann_mimo_filter",
          gr::io_signature::make(
              settings.channels, settings.channels, sizeof(gr_complex)),
          gr::io_signature::make(settings.outputs, settings.outputs, sizeof(gr_complex))),
      d_model(model),
      d_settings(settings),
      d_core(std::in_place, model, settings),
      d_step(static_cast<int>(core::mimo_filter::step * d_core->sps())),
      d_delay(d_core->delay()),
      d_in(settings.channels),
      d_out(settings.outputs),
      d_status(settings.outputs)
{
    set_output_multiple(d_step);
    declare_sample_delay(static_cast<unsigned>(d_core->delay() * d_core->sps()));
}

bool mimo_filter_impl::start()
{
    d_core.emplace(d_model, d_settings);
    const std::lock_guard<std::mutex> lock(d_mutex);
    d_status.assign(d_status.size(), {});
    return gr::sync_block::start();
}

int mimo_filter_impl::work(int noutput_items,
                           gr_vector_const_void_star& input_items,
                           gr_vector_void_star& output_items)
{
    for (std::size_t c = 0; c < d_in.size(); ++c)
        d_in[c] = static_cast<const float*>(input_items[c]);
    for (std::size_t o = 0; o < d_out.size(); ++o)
        d_out[o] = static_cast<float*>(output_items[o]);
    d_core->run(d_in.data(), noutput_items / d_step, d_out.data());
    // work() never waits for readers of the status: they get that of another call.
    const std::unique_lock<std::mutex> lock(d_mutex, std::try_to_lock);
    for (std::size_t o = 0; lock && o < d_out.size(); ++o)
        d_status[o] = d_core->status(o);
    return noutput_items;
}

unsigned mimo_filter_impl::found() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    return std::count_if(
        d_status.begin(), d_status.end(), [](const auto& each) { return each.found; });
}

std::uint64_t mimo_filter_impl::starts() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    std::uint64_t all = 0;
    for (const auto& each : d_status)
        all += each.starts;
    return all;
}

double mimo_filter_impl::residual() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    double worst = 0;
    for (const auto& each : d_status)
        worst = std::isnan(each.residual) ? NAN : std::max(worst, double(each.residual));
    return 10 * std::log10(worst);
}

std::vector<double> mimo_filter_impl::frequencies() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    std::vector<double> all;
    for (const auto& each : d_status)
        all.push_back(each.frequency);
    return all;
}

} // namespace gr::adann
