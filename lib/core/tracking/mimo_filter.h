/* -*- c++ -*- */
/*
 * Several channels in, a stream for each transmitter out: polarisations, antennas.
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
#include "core/tracking/tap_bank.h"

#include <array>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

namespace gr::adann::core {

struct mimo_filter_settings {
    std::size_t channels =
        2; //!< received streams, 1 to 8; times samples a symbol at most 64
    std::size_t outputs = 2; //!< transmitters, 1 to `channels`
    unsigned length = 12;    //!< symbols that the taps span, 1 to 64

    //! \throws std::invalid_argument naming the setting that is out of range
    void check() const;
};

//! What one output of a mimo_filter is doing.
struct mimo_output_status {
    bool found = false;     //!< whether it has a transmitter
    std::size_t memory = 0; //!< of the taps in use, in symbols; 0: those of the start
    /*! Mean square residual of a filtered sample from the expected waveform, predicted,
     * over the latest few blocks; NaN before the first one. */
    float residual = std::numeric_limits<float>::quiet_NaN();
    float phase = 0;          //!< that is taken out, radians
    float frequency = 0;      //!< of that phase, cycles per symbol
    std::uint64_t starts = 0; //!< times that a transmitter was found for it
};

/*! Brings the streams of several channels, in which several transmitters are mixed, to one
 * stream for each transmitter, such as a model was trained on: to be equalized further by
 * one equalizer each.
 *
 * An output is the sum of all channels, each through a filter of its own. Its taps are
 * exponentially windowed least squares (tap_bank.h) between the channels and the waveform
 * that the model expects of what its network decides from the output, taken in every
 * `block` symbols; carriers are followed every 16 (carrier.h), as one where the transmitters'
 * phases went together throughout the stretch of the latest start, as of one laser. It aims
 * at something fixed and has no step size, as front_filter, whose parts these are.
 *
 * The phase is predicted, some 40 symbols ahead; a blind phase search (phase_search.h) decides
 * each step at several phases around that, and selects one for all transmitters if they have
 * one carrier. The prediction error is known then, and an output waits for it: each step
 * is rotated back by the mean of its own and of its neighbouring steps.
 *
 * Taps and carriers start from labels that are known, or blindly (blind_separation.h): from
 * the latest `start_symbols` symbols, in the call of run() in which these are complete. Until
 * then output o is channel o. Every `watched_every` symbols the outputs are compared: two
 * whose labels are alike, or alike but for a symmetry of the constellation and up to four
 * symbols, are on one transmitter, and the one that is explained less well starts again,
 * with the other outputs' transmitters subtracted. So does one that has three quarters
 * of what decisions at random would, whatever its phase, or a half where that is twice what it
 * left before; and one that is silent: a step with less than a hundredth of a signal's power,
 * from which nothing is learnt.
 *
 * Where only the level has stepped nothing starts again: if an output is lost, or its labels
 * surely do not have the constellation's power (label_power.h), as the inner points of a signal
 * that became fainter, its latest symbols are decided at that power, after the taps it had
 * before. If these labels have less than half the residual, those taps go on at the new level.
 *
 * Which transmitter comes out where is as the start found it, and so is a symmetry of the
 * constellation; after a new start of all outputs it may be otherwise.
 *
 * The result is the same to the bit however the stream is cut into calls. A sample that is
 * not usable (all_usable()) counts as zero, and its block is not learnt from. */
class mimo_filter
{
public:
    static constexpr std::size_t block = tracked_stream::block;
    static constexpr std::size_t step = carrier::step; //!< symbols that are taken at once
    static constexpr std::size_t start_symbols = 4096;
    static constexpr std::size_t watched_every = recovery::tested_every;

    /*! \param behind a model for complex samples with an expected waveform: of one
     * transmitter, whose network decides
     * \throws std::invalid_argument naming what is out of range or missing */
    mimo_filter(const model& behind, const mimo_filter_settings& settings);

    std::size_t channels() const { return d_in.size(); }
    std::size_t outputs() const { return d_outputs.size(); }
    std::size_t sps() const { return d_window.sps(); }
    std::size_t taps() const { return d_taps; } //!< of each channel and output
    //! Symbols by which the outputs are late: half the taps, half a window, the waveform's
    //! reach, and a step.
    std::size_t delay() const { return d_delay + decided_later() + step; }

    /*! Filters the next samples.
     * \param samples (channels, steps · step · sps) of I and Q
     * \param steps any number
     * \param filtered (outputs, the same) of I and Q; the first delay() symbols are zero */
    void run(const float* const* samples, std::size_t steps, float* const* filtered);

    /*! Starts the taps from a stretch of the signal, which is not filtered. What comes next
     * may be another part of it; where a carrier rotates, the stretch itself is best, whose first
     * symbol's phase it goes on from. Taps are of its middle: polarisations that turn by more than 0.3 rad
     * over it may be lost at its ends.
     * \param samples (channels, symbols · sps) of I and Q; sample i · sps is the middle of
     * symbol i
     * \param labels (outputs, symbols), or null: then it starts blindly
     * \throws std::invalid_argument if there are fewer symbols than unknowns, or labels that are
     * none of the constellation's, eye_closed if
     * a transmitter is not found */
    void start(const float* const* samples,
               std::size_t symbols,
               const std::uint8_t* const* labels);

    mimo_output_status status(std::size_t output) const;
    //! (planes, taps()): what is in use for one channel, the earliest sample's first.
    signal_planes in_use(std::size_t output, std::size_t channel) const;

private:
    struct output {
        tap_bank bank;
        carrier turn;
        aligned_floats filtered; // interleaved
        phase_decisions phases;
        std::vector<std::uint8_t> labels; // of the angle that was selected
        std::size_t known = 0;            // labels from here on follow the present taps
        std::array<std::complex<double>, 3> left{}; // see remaining()
        std::size_t steps_with_signal = 0;          // steps in a row that were not silent
        double residual_sum = 0;  // since it was watched: see mean_residual()
        std::size_t measured = 0; // samples of that
        double usual = 0;         // mean_residual() as a rule; 0: not known yet
        aligned_floats
            settled{}; // the taps when labels last had the constellation's power
        bool found = false;
        std::uint64_t starts = 0;
    };

    std::size_t sample(std::size_t symbol) const { return symbol * d_window.sps(); }
    std::size_t reach() const
    {
        return d_taps / 2;
    } // samples that taps span on each side
    //! Symbols up to here are filtered; decided.
    std::size_t ready() const { return d_filled - d_delay; }
    std::size_t decided() const { return ready() - d_half_window; }
    //! Symbols from those that are filtered to those whose neighbours are all decided.
    std::size_t decided_later() const { return d_half_window + d_waveform.reach(); }
    //! Symbols in which n ones with all their neighbours are decided; their first one.
    std::size_t latest(std::size_t n) const { return ready() - decided_later() - n; }
    bool usable(const output& each, std::size_t first) const;
    void load(const float* const* samples, std::size_t offset);
    void filter(output& each);
    void decide(output& each);
    void search(output& each);
    void select_phase(output& each);
    //! Mean square of a sample that is not what is expected, whatever its phase.
    double mean_residual(const output& each) const
    {
        return each.measured ? each.residual_sum / static_cast<double>(each.measured) : 0;
    }
    void measure_phases();
    void put_out(const output& each, float* to) const;
    void update(output& each);
    void watch();
    bool has_unusual_power(const output& each) const;
    bool begin_at_level(output& each);
    bool are_one(const output& a, const output& b) const;
    std::size_t compared_from() const;
    bool has_own_labels(const output& each) const;
    bool alike(const std::uint8_t* a, const std::uint8_t* b) const;
    void find();
    //! \param beside an output whose carrier it has; null: it has its own
    void begin(output& each,
               const output* beside,
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
    const label_power d_power;      // of labels
    const std::size_t d_taps, d_delay, d_past, d_capacity;

    // Symbol k's middle is sample k·sps of these.
    std::vector<planes> d_in;   // unusable samples are zero
    std::size_t d_filled;       // symbols that have come in
    std::size_t d_first;        // the first one of the stream
    std::size_t d_unusable = 0; // the end of the latest samples that are not
    std::size_t d_steps = 0;
    bool d_one_carrier = false; // of all outputs
    std::size_t d_until_retry = 0,
                d_retry_interval = watched_every; // symbols until a new start

    const network d_net;
    const prepared_network d_prepared;
    decider d_decider;
    linear_filter d_filter;
    normal_equations d_sums;
    mimo_start d_start;
    planes d_output, d_wanted;
    std::vector<signal_planes> d_windows; // of each channel
    aligned_floats d_expected;
    std::vector<phase_search::correlation>
        d_correlations; // of all streams, at each angle
    std::vector<output> d_outputs;
};

} // namespace gr::adann::core
