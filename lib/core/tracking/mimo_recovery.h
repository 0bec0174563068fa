/* -*- c++ -*- */
/*
 * How the outputs of a mimo_filter start, and how they find back when they are lost.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/label_power.h"
#include "core/tracking/mimo_start.h"
#include "core/tracking/mimo_streams.h"
#include "core/tracking/recovery.h"

namespace gr::adann::core {

/*! Supervises the outputs.
 *
 * Every `tested_every` symbols they are tested. An output starts again, with the other outputs' transmitters
 * subtracted, if
 *
 * - another output has the same labels but for a symmetry of the constellation and a delay of
 *   up to four symbols, and a smaller residual: both are on one transmitter;
 * - its residual at the best phase, less the noise (noise_level.h), is three quarters of that of random
 *   decisions, or half of that and twice its usual one. The usual one rises by a quarter with each
 *   start: a start may find a mixture of transmitters, whose residual is above it;
 * - it is silent: a step has less than a hundredth of a signal's power. Nothing is learnt then.
 *
 * The first start waits for as many symbols as it needs, so that none is from before the loss. The next one comes
 * 1024 symbols later, and each further one after twice as long, up to 65,536.
 *
 * After a pause, a burst of noise, or a change of the level no new start is needed. If an output is lost, or if its
 * labels' power is significantly different from the constellation's (label_power.h), its latest symbols are
 * filtered by the taps of its latest good test, rotated back by the carrier since then (remembered_carrier.h), and
 * decided at the constellation's power and each of the search's phases. If these labels have less than half the
 * residual, those taps go on. After a loss a usual residual is enough if it is not a quarter larger than the output's
 * own, whose rotation may have changed. */
class mimo_recovery
{
public:
    static constexpr std::size_t tested_every = recovery::tested_every; //!< symbols

    mimo_recovery(const model& behind, const mimo_streams& streams);

    //! mimo_filter::start()
    void start(mimo_streams& streams,
               const float* const* samples,
               std::size_t symbols,
               const std::uint8_t* const* labels);
    //! After each step.
    void supervise(mimo_streams& streams, const network_decider& decides);

private:
    using output = mimo_output;
    //! Of the latest symbols, decided by other taps.
    struct decided_again {
        float phase = 0; // by which the latest sample was rotated back, radians
        double common = 0, energy = 0; // correlation with their waveform, and its energy
    };

    bool is_unusual(const output& each) const;
    bool is_lost(const output& each) const;
    void test_noise(const mimo_streams& streams, output& each);
    bool has_unusual_power(const mimo_streams& streams, const output& each) const;
    void test(mimo_streams& streams);
    void remember(const mimo_streams& streams, output& each);

    bool are_one(const mimo_streams& streams, const output& a, const output& b) const;
    bool are_alike(const mimo_streams& streams,
                   const std::uint8_t* a,
                   const std::uint8_t* b) const;

    void find(mimo_streams& streams);
    void begin_sought(mimo_streams& streams,
                      const std::vector<signal_planes>& x,
                      std::vector<separated>& transmitters);
    //! \param shares an output with which it shares the carrier; null: it has its own
    void begin(mimo_streams& streams,
               output& each,
               const output* shares,
               const std::vector<signal_planes>& x,
               separated& sent,
               std::size_t number,
               std::size_t symbol);
    void go_on(const mimo_streams& streams, output& each, const output* shares);

    void resume(mimo_streams& streams, output& each, const network_decider& decides);
    decided_again
    decide_from(float phase, const mimo_streams& streams, const network_decider& decides);

    const label_power d_power;
    mimo_start d_start;
    std::size_t d_until_retry = 0, d_retry_interval = tested_every; // symbols, of starts

    // Nothing outlives a call of test_noise() or resume() in these.
    std::vector<std::uint8_t> d_labels;
    std::vector<float> d_samples, d_rotated, d_expected;
    planes d_filtered;
};

} // namespace gr::adann::core
