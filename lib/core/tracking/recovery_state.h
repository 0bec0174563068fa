/* -*- c++ -*- */
/*
 * The states of a stream that is supervised, and what changes them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/words.h>

#include <array>
#include <cstddef>

namespace gr::adann::core {

//! What a recovery knows of its stream.
enum class recovery_state {
    following,   //!< its decisions explain the samples
    doubtful,    //!< they do so again after a loss, but may be late or rotated
    interrupted, //!< its residual exceeds the limit, which no test has confirmed yet
    lost, //!< confirmed by a test, a pause or a step of level, or by exceeding the limit while doubtful
    degraded, //!< lost by a test, but decisions without the filter are clearly worse: its own are used
    trained //!< a training sequence has set the taps: nothing is tested until a reset
};
constexpr std::size_t recovery_states = 6;

//! The state as the status reports it: status_of().
enum class tracking_state {
    following, //!< its decisions explain the samples
    doubtful, //!< so they do again, but after a loss they may be late or rotated; or degraded
    lost, //!< they do not; the filter's output is not used once a test has confirmed it, unless it is degraded
    trained, //!< started by a training sequence: nothing supervises it until the burst's end
};
constexpr std::array<word<tracking_state>, 4> words(tracking_state)
{
    return { { { tracking_state::following, "following" },
               { tracking_state::doubtful, "doubtful" },
               { tracking_state::lost, "lost" },
               { tracking_state::trained, "trained" } } };
}
//! \param exceeds whether the residual exceeds the limit, which may be between two updates
tracking_state status_of(recovery_state state, bool exceeds);

//! What may happen to it.
enum class recovery_event {
    exceeds,  //!< an update: the residual exceeds the limit
    passes,   //!< an update: it does not
    explains, //!< a test: the residual is below the limit
    unexplained, //!< a test: it is, but not below half of it, and the labels do not determine a channel
    settles, //!< a test: it is, and labels are neither late nor rotated; or the stream goes on from when it was followed
    fails, //!< a test: it exceeds the limit, or labels of a lost stream do not determine a channel; a pause; a step of level
    stays_better, //!< a test: it does, but that without the filter is clearly larger
    starts,       //!< the taps start over, or from a hypothesis
    known,        //!< labels are known
    trains,       //!< a training sequence has set the taps
    resets        //!< the owner wants it
};

/*! The state after an event:
 *
 *     before       exceeds      passes     explains   unexplained  settles, known  fails  stays_better  starts
 *     following    interrupted  following  following  doubtful     following       lost   degraded      doubtful
 *     doubtful     lost         doubtful   doubtful   doubtful     following       lost   degraded      doubtful
 *     interrupted  interrupted  following  following  doubtful     following       lost   degraded      doubtful
 *     lost         lost         lost       doubtful   doubtful     following       lost   degraded      doubtful
 *     degraded     degraded     degraded   doubtful   doubtful     following       lost   degraded      doubtful
 *
 * `trains` goes from each to trained, which only `resets` ends; that goes from each to following. */
recovery_state after(recovery_state before, recovery_event event);

} // namespace gr::adann::core
