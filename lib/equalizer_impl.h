/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "adaptation_log.h"
#include "burst_tags.h"
#include "core/adaptation/adaptive_equalizer.h"
#include "log_limit.h"
#include <gnuradio/adann/equalizer.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <set>
#include <string>

namespace gr::adann {

class equalizer_impl : public equalizer
{
public:
    //! \param start if there is no model: its first one is given as `model`
    equalizer_impl(const core::model& model,
                   const equalizer_settings& settings,
                   const std::optional<core::blind_start>& start = {});

    void set_learning_rate(std::optional<float> rate) override
    {
        d_core.set_learning_rate(rate);
    }
    void set_sigma(std::optional<float> sigma) override { d_core.set_sigma(sigma); }
    void set_epsilon(std::optional<float> epsilon) override
    {
        d_core.set_epsilon(epsilon);
    }
    void set_loss(const std::string& loss) override;
    void set_frozen(bool frozen) override { d_core.freeze(frozen); }
    void set_front_filter(bool follows) override { d_core.set_front_filter(follows); }
    std::uint64_t steps() const override { return d_core.status().steps; }
    std::uint64_t updates() const override { return d_core.status().updates; }
    std::uint64_t rejected() const override { return d_core.status().rejected(); }
    std::uint64_t dropped() const override { return d_core.dropped(); }
    std::uint64_t queued() const override { return d_core.queued(); }
    std::uint64_t rollbacks() const override { return d_core.status().rollbacks; }
    ber_estimate estimated_ber() const override;
    double estimated_bit_error_rate() const override { return estimated_ber().ber; }
    std::string network() const override;
    double modulation_error_ratio() const override;
    std::uint64_t bursts() const override { return d_core.front_status().bursts; }
    std::int64_t known_position() const override;
    double packet_ber() const override { return d_core.packets().ber(); }
    double frequency() const override { return d_core.front_status().frequency; }
    front_filter_state front_filter() const override;

    bool check_topology(int ninputs, int noutputs) override;
    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    void register_ports();
    void control(const pmt::pmt_t& message);
    void take_packet(const pmt::pmt_t& message);
    bool obey(const std::string& word, const pmt::pmt_t& value);
    void save(const std::string& path);
    auto publisher()
    {
        return [this](const core::adaptation_event& event) { publish(event); };
    }
    void publish(const core::adaptation_event& event);
    void pass_tags(int input,
                   std::size_t symbols,
                   std::size_t items_per_symbol,
                   std::size_t outputs);
    int flush(gr_vector_void_star& output_items, int room);

    const bool d_vectors;
    const bool d_supervised;
    const bool d_has_frame; // whether patterns of known symbols were given
    const core::window_geometry d_window;
    const soft_symbol_kind d_soft_symbol;
    const std::size_t d_items_per_symbol; // input items: samples, or one vector
    const std::size_t d_stride;           // floats from one feature vector to the next
    const std::size_t d_bits_per_symbol;
    std::size_t d_margin; // samples that a front filter needs around each window
    std::vector<gr::tag_t> d_tags;
    burst_tags d_bursts;

    const std::size_t d_batch;
    std::size_t d_held = 0; // labels that are decided and not yet handed out
    std::size_t d_in_batch =
        0; // symbols of the batch whose estimate comes next at output 3

    // Estimated bit error rate, NaN if unknown: work() reads it without a lock.
    std::atomic<float> d_estimated{ std::numeric_limits<float>::quiet_NaN() };

    log_limit d_refusals; // of control messages
    log_limit d_refused_packets;
    std::mutex d_asking;
    std::set<std::string> d_asked; // paths that are still to be saved to

    // The adapter's.
    using clock = std::chrono::steady_clock;
    const bool d_live;
    clock::time_point d_published_step;
    adaptation_log d_log;
    core::adaptive_equalizer d_core;
};

} // namespace gr::adann
