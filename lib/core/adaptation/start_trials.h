/* -*- c++ -*- */
/*
 * Whether a signal is explained better by another blind start than by the one that was accepted.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/blind_start.h"

#include <cstdint>
#include <functional>
#include <string>

namespace gr::adann::core {

/*! Tries further blind starts while one decides that may have been made from noise, from a
 * neighbour or from a carrier that was not recovered yet, or while a model or a checkpoint does whose
 * channel was another one.
 *
 * There is no trial while the start in use explains its signal: while the residual of its front filter,
 * were it normal, would have fewer than one in a thousand of the points nearer to another one. A model or a
 * checkpoint is left only while its front filter is lost, and a trial ends once the filter follows. Else
 * symbols are tried (blind_start::compare_with()). Before that, and after a trial that finds nothing better,
 * as many as a start looks at first are left alone; after each further trial twice as many, up to 2^20. So a
 * receiver that began long before the sender finds it after as long a time at most, and the trials of one
 * whose signal is noisy cost little. */
class start_trials
{
public:
    //! \param fresh that has seen nothing
    explicit start_trials(const blind_start& fresh);

    //! Whether the next batch is to be tried.
    bool tries() const { return d_tries; }
    //! Whether the start in use explains its signal, by its residual, mean square, relative; NaN if it
    //! is not known.
    bool explains(float residual) const { return residual <= d_enough; }
    /*! Symbols have been decided that were not tried.
     * \param explains_little whether what is in use explains its signal so badly that others may be tried */
    void pass(std::size_t symbols, bool explains_little);
    //! What is in use explains its signal after all: the trial ends.
    void give_up();
    /*! Symbols that were to be tried, as they came in.
     * \param in_use their labels by the start in use; the others as blind_start::take() has them
     * \return what people should know once another start is found */
    std::string take(const feature_view& batch,
                     const std::uint8_t* in_use,
                     bool follows,
                     const std::function<bool()>& goes_on);
    //! Whether found() explains the signal better: until the next trial.
    bool done() const { return d_start.done(); }
    const model& found() const { return d_start.found(); }

private:
    const blind_start d_fresh;
    blind_start d_start;
    const float d_enough; // residual of a start that explains its signal
    bool d_tries = false;
    // Symbols: to the next trial; from a trial that finds nothing to the one after it.
    std::size_t d_holdoff = blind_start::first_look, d_pause = blind_start::first_look;
};

} // namespace gr::adann::core
