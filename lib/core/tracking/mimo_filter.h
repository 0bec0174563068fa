/* -*- c++ -*- */
/*
 * Filters several channels (polarisations, antennas) to one stream per transmitter.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/decider.h"
#include "core/network/model.h"
#include "core/tracking/carrier.h"
#include "core/tracking/label_power.h"
#include "core/tracking/mimo_start.h"
#include "core/tracking/phase_decisions.h"
#include "core/tracking/recovery.h"
#include "core/tracking/remembered_carrier.h"
#include "core/tracking/tap_bank.h"

#include <array>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

namespace gr::adann::core {

struct mimo_filter_settings {
    std::size_t channels = 2; //!< received streams, 1 to 8; times sps at most 64
    std::size_t outputs = 2;  //!< transmitters, 1 to `channels`
    unsigned length = 12;     //!< symbols that the taps span, 1 to 64

    //! \throws std::invalid_argument naming the setting that is out of range
    void check() const;
};

//! What one output of a mimo_filter is doing.
struct mimo_output_status {
    bool found = false; //!< whether it has a transmitter
    std::size_t memory =
        0; //!< time constant of the taps in use, symbols; 0: initial taps
    /*! Predicted mean square residual of a filtered sample from the expected waveform, over
     * the latest few blocks; NaN before the first one. */
    float residual = std::numeric_limits<float>::quiet_NaN();
    float phase = 0;          //!< by which samples are rotated back, radians
    float frequency = 0;      //!< of that phase, cycles per symbol
    std::uint64_t starts = 0; //!< times that a transmitter was found for it
};

/*! Separates several transmitters that several channels receive mixed. Each output is one
 * transmitter's stream as the model was trained on it, to be equalized by one equalizer each.
 *
 * An output is the sum of all channels, each through a filter of its own; of a single channel there
 * is an offset as well. Its taps are
 * exponentially windowed least squares (tap_bank.h) between the channels and the expected
 * waveform of the network's decisions from the output, updated every `block` symbols. As in
 * front_filter the target is fixed, and there is no step size. Carriers are followed every 16
 * symbols (carrier.h). All outputs share one carrier, as of one laser, if the transmitters'
 * phases were proportional throughout the symbols of the latest start.
 *
 * The phase is predicted some 40 symbols ahead. A blind phase search (phase_search.h) decides
 * each step at several phases around the prediction, and selects one for all transmitters that
 * share a carrier. An output is delayed until its prediction error is measured: each step is
 * rotated back by the mean error of itself and its neighbouring steps.
 *
 * Taps and carriers start from known labels, or blindly (blind_separation.h) from the latest
 * `start_symbols` symbols, in the call of run() in which these are complete. Until then output
 * o is channel o. Every `watched_every` symbols the outputs are tested. An output starts again,
 * with the other outputs' transmitters subtracted, if
 *
 * - another output has the same labels but for a symmetry of the constellation and a delay of
 *   up to four symbols, and a smaller residual: both are on one transmitter;
 * - its residual, at the best phase, is three quarters of that of random decisions, or half of
 *   that and twice its usual one. The usual one rises by a quarter with each start: a start may find a
 *   mixture of transmitters, whose residual is above it;
 * - it is silent: a step has less than a hundredth of a signal's power. Nothing is learnt then.
 *
 * The first start waits for as many symbols as it needs, so that none is from before the loss.
 *
 * After a pause, a burst of noise, or a change of the level no new start is needed. If an output is lost, or if its
 * labels' power is significantly different from the constellation's (label_power.h), its latest symbols are
 * filtered by the taps of its latest good test, rotated back by the carrier since then (remembered_carrier.h), and
 * decided at the constellation's power and each of the search's phases. If these labels have less than half the
 * residual, those taps go on. After a loss a usual residual is enough if it is not a quarter larger than the output's
 * own, whose rotation may have changed.
 *
 * The start determines which transmitter comes out where, and up to which symmetry of the
 * constellation. A new start of all outputs may change both.
 *
 * The result is the same to the bit however the stream is cut into calls. A sample that is
 * not usable (all_usable()) counts as zero, and its block is not learnt from. */
class mimo_filter
{
public:
    static constexpr std::size_t block = tracked_stream::block;
    static constexpr std::size_t step = carrier::step; //!< symbols processed at once
    static constexpr std::size_t start_symbols = 4096;
    static constexpr std::size_t watched_every = recovery::tested_every;

    /*! \param behind a model of one transmitter for complex samples, with an expected waveform;
     * its network decides
     * \throws std::invalid_argument naming what is out of range or missing */
    mimo_filter(const model& behind, const mimo_filter_settings& settings);

    std::size_t channels() const { return d_in.size(); }
    std::size_t outputs() const { return d_outputs.size(); }
    std::size_t sps() const { return d_window.sps(); }
    std::size_t taps() const { return d_taps; } //!< of each channel and output
    //! Delay of the outputs in symbols: half the taps,
    //! half a window, the waveform's reach, and a step.
    std::size_t delay() const { return d_delay + decided_later() + step; }

    /*! Filters the next samples.
     * \param samples (channels, steps · step · sps) of I and Q
     * \param steps any number
     * \param filtered (outputs, the same) of I and Q; the first delay() symbols are zero */
    void run(const float* const* samples, std::size_t steps, float* const* filtered);

    /*! Starts the taps from a stretch of the signal, which is not filtered. The carrier starts with
     * the phase of its first symbol, so if there is a carrier run() should continue with the same
     * stretch; otherwise any part of the signal may follow. Taps fit the middle of the stretch:
     * polarisations that rotate by more than 0.3 rad over it may be lost at its ends.
     * \param samples (channels, symbols · sps) of I and Q; sample i · sps is the middle of
     * symbol i
     * \param labels (outputs, symbols), or null: then it starts blindly
     * \throws std::invalid_argument if there are fewer symbols than unknowns, or labels that are
     * none of the constellation's; eye_closed if a transmitter is not found */
    void start(const float* const* samples,
               std::size_t symbols,
               const std::uint8_t* const* labels);

    mimo_output_status status(std::size_t output) const;
    //! The taps of one channel, (planes, taps()), that of the earliest sample first.
    signal_planes in_use(std::size_t output, std::size_t channel) const;

private:
    struct output {
        tap_bank bank;
        carrier turn;
        aligned_floats filtered; // interleaved
        phase_decisions phases;
        std::vector<std::uint8_t> labels; // at the selected angle
        std::size_t known =
            0; // labels from this symbol on are decisions by the present taps
        std::array<std::complex<double>, 3>
            correlations{};                // remaining() of the latest steps
        std::size_t steps_with_signal = 0; // steps in a row that were not silent
        double latest_residual = 0;        // of the latest step: see mean_residual()
        double residual_sum = 0;  // since the latest watch(): see mean_residual()
        std::size_t measured = 0; // samples in that sum
        double usual = 0;         // average of mean_residual(); 0: none yet
        aligned_floats
            settled{}; // the taps at the latest watch() that found nothing wrong
        remembered_carrier settled_carrier; // then
        bool found = false;
        bool was_lost =
            false; // since the latest watch(), or still: its phase may have slipped
        std::uint64_t starts = 0;
    };

    //! Of the latest step, summed over the outputs that share a carrier.
    struct shared_correlations {
        std::vector<phase_search::correlation> at; // each angle
        std::size_t symbols = 0;
    };

    std::size_t sample(std::size_t symbol) const { return symbol * d_window.sps(); }
    //! Of the stream, that of a sample of the buffer.
    double symbol_of(std::size_t sample) const
    {
        return static_cast<double>(d_moved) +
               static_cast<double>(sample) / static_cast<double>(sps());
    }
    //! Samples that the taps span on each side.
    std::size_t reach() const { return d_taps / 2; }
    //! Symbols up to ready() are filtered, and up to decided() decided.
    std::size_t ready() const { return d_filled - d_delay; }
    std::size_t decided() const { return ready() - d_half_window; }
    //! Symbols from ready() back to the latest one whose neighbours are all decided.
    std::size_t decided_later() const { return d_half_window + d_waveform.reach(); }
    //! First of the latest n symbols whose neighbours are all decided.
    std::size_t latest(std::size_t n) const { return ready() - decided_later() - n; }
    bool usable(const output& each, std::size_t first) const;
    void load(const float* const* samples, std::size_t offset);
    void run(const float* taps, std::size_t from, std::size_t n, planes& to);
    void filter(output& each);
    void decide(output& each);
    void search(output& each);
    void add_correlations(const output& each, shared_correlations& sums) const;
    void select_phase(output& each, const shared_correlations& sums);
    //! Mean square residual of a sample since the latest watch(), at the best phase of each step.
    double mean_residual(const output& each) const
    {
        return each.measured ? each.residual_sum / static_cast<double>(each.measured) : 0;
    }
    void measure_phases();
    void put_out(const output& each, float* to) const;
    void update(output& each);
    void remember(output& each);
    std::size_t middle_of_latest_step() const
    {
        return sample(latest(step) + step / 2) - d_window.sps() / 2;
    }
    bool is_unusual(const output& each) const;
    bool is_lost(const output& each) const;
    static bool is_silent(const output& each)
    {
        return each.starts > 0 && each.steps_with_signal == 0;
    }
    void watch();
    bool has_unusual_power(const output& each) const;
    //! Labels of the latest symbols by other taps.
    struct decided_again {
        std::vector<std::uint8_t> labels;
        float phase = 0; //!< by which the latest sample was rotated back, radians
        double common = 0,
               energy = 0; //!< correlation with their waveform, and its energy
    };
    decided_again decide_from(float phase, const std::vector<float>& samples);
    bool begin_settled(output& each);
    void begin_search(output& each, const output* shares);
    bool are_one(const output& a, const output& b) const;
    std::size_t compared_from() const;
    bool has_own_labels(const output& each) const;
    bool alike(const std::uint8_t* a, const std::uint8_t* b) const;
    void find();
    //! \param shares an output with which it shares the carrier; null: it has its own
    void begin(output& each,
               const output* shares,
               const std::vector<signal_planes>& x,
               separated& sent,
               std::size_t number,
               std::size_t symbol);
    void make_room();

    const expected_waveform d_waveform;
    const constellation d_symbols;
    const window_geometry d_window;
    const unsigned d_half_window;
    const float d_lost, d_doubtful; // limits of mean_residual(), see watch()
    const label_power d_power;
    const std::size_t d_taps, d_delay, d_past, d_capacity;

    // The middle of symbol k is sample k·sps. Unusable samples are zero.
    std::vector<planes> d_in;
    std::uint64_t d_moved = 0;  // symbols of the stream before the buffer's first
    std::size_t d_filled;       // symbols that have come in
    std::size_t d_first;        // first symbol of the stream
    std::size_t d_unusable = 0; // end of the latest samples that are not usable
    std::size_t d_steps = 0;
    bool d_one_carrier = false; // whether all outputs share one
    std::size_t d_until_retry = 0, d_retry_interval = watched_every; // symbols, of starts

    const network d_net;
    const prepared_network d_prepared;
    decider d_decider;
    linear_filter d_filter;
    normal_equations d_sums;
    mimo_start d_start;
    planes d_output, d_wanted;
    std::vector<signal_planes> d_windows; // of each channel
    aligned_floats d_expected;
    std::vector<shared_correlations> d_correlations; // of each output
    std::vector<output> d_outputs;
};

} // namespace gr::adann::core
