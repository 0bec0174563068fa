/* -*- c++ -*- */
/*
 * Tries further blind starts while the model in use explains its signal badly.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/blind_start.h"

#include <cstdint>
#include <functional>
#include <string>

namespace gr::adann::core {

/*! The start in use may have been made from noise, from a neighbouring channel, or from a carrier
 * that was not recovered yet. A given model or checkpoint may belong to another channel. So further
 * blind starts are tried meanwhile (blind_start::compare_with()).
 *
 * There is no trial while the start in use explains its signal: while with Gaussian errors of its
 * front filter's residual fewer than one symbol in a thousand would be nearer to another point. A
 * given model or checkpoint is replaced only while its front filter is lost; a trial ends once the
 * filter follows again.
 *
 * The first trial begins after blind_start::first_look symbols. The pause after a trial that finds
 * nothing better is as long at first, and doubles with each, up to 2^20 symbols. So a receiver that
 * began long before the transmitter finds it after the same time again at most, and on a noisy
 * signal trials cost little. */
class start_trials
{
public:
    //! \param fresh an unused blind start
    explicit start_trials(const blind_start& fresh);

    //! Whether the next batch is to be tried.
    bool tries() const { return d_tries; }
    //! Whether the start in use explains its signal. \param residual relative
    //! mean square; NaN: not known
    bool explains(float residual) const { return residual <= d_enough; }
    /*! Counts symbols that were decided but not tried.
     * \param explains_little whether the model in use explains its signal so
     * badly that others are tried */
    void pass(std::size_t symbols, bool explains_little);
    //! The model in use explains its signal again: the trial ends.
    void give_up();
    /*! Adds a batch to the trial, as it came in.
     * \param in_use labels by the model in use; the rest as in blind_start::take()
     * \return a message for the user once another start is found */
    std::string take(const feature_view& batch,
                     const std::uint8_t* in_use,
                     bool follows,
                     const std::function<bool()>& goes_on);
    //! Whether found() explains the signal better: until the next trial.
    bool done() const { return d_start.done(); }
    const model& found() const { return d_start.found(); }
    double carrier_frequency() const { return d_start.carrier_frequency(); }

private:
    const blind_start d_fresh;
    blind_start d_start;
    const float d_enough; // largest residual of a start that explains its signal
    bool d_tries = false;
    // Symbols until the next trial; pause after a trial that finds nothing better.
    std::size_t d_holdoff = blind_start::first_look, d_pause = blind_start::first_look;
};

} // namespace gr::adann::core
