/* -*- c++ -*- */
/*
 * Filters several channels (polarisations, antennas) to one stream per transmitter.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/decider.h"
#include "core/network/model.h"
#include "core/tracking/mimo_recovery.h"
#include "core/tracking/mimo_streams.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace gr::adann::core {

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
 * o is channel o. Outputs that are lost find back, or start again (mimo_recovery.h).
 *
 * The start determines which transmitter comes out where, and up to which symmetry of the
 * constellation. A new start of all outputs may change both.
 *
 * The result is the same to the bit however the stream is cut into calls. A sample that is
 * not usable (all_usable()) counts as zero, and its block is not learnt from. */
class mimo_filter
{
public:
    static constexpr std::size_t block = mimo_streams::block;
    static constexpr std::size_t step = mimo_streams::step; //!< symbols processed at once

    /*! \param behind a model of one transmitter for complex samples, with an expected waveform;
     * its network decides
     * \throws std::invalid_argument naming what is out of range or missing */
    mimo_filter(const model& behind, const mimo_filter_settings& settings);

    std::size_t channels() const { return d_streams.channels(); }
    std::size_t outputs() const { return d_streams.outputs.size(); }
    std::size_t sps() const { return d_streams.sps(); }
    std::size_t taps() const { return d_streams.taps; } //!< of each channel and output
    //! Delay of the outputs in symbols: half the taps,
    //! half a window, the waveform's reach, and a step.
    std::size_t delay() const
    {
        return d_streams.delay + d_streams.decided_later() + step;
    }

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
    //! Of the latest step, summed over the outputs that share a carrier.
    struct shared_correlations {
        std::vector<phase_search::correlation> at; // each angle
        std::size_t symbols = 0;
    };

    void filter(mimo_output& each);
    void decide(mimo_output& each);
    void search(mimo_output& each);
    void add_correlations(const mimo_output& each, shared_correlations& sums) const;
    void select_phase(mimo_output& each, const shared_correlations& sums);
    void measure_phases();
    void put_out(const mimo_output& each, float* to) const;
    void update(mimo_output& each);

    mimo_streams d_streams;
    mimo_recovery d_recovery;

    const network d_net;
    const prepared_network d_prepared;
    decider d_decider;
    planes d_output, d_wanted;
    std::vector<signal_planes> d_windows; // of each channel
    aligned_floats d_expected;
    std::vector<shared_correlations> d_correlations; // of each output
};

} // namespace gr::adann::core
