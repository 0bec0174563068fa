/* -*- c++ -*- */
/*
 * Where a stream is in its bursts.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/front_filter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

//! Position of a stream relative to its bursts.
enum class burst_state {
    between, //!< between two bursts: nothing is learnt
    training, //!< in the training sequence that a front filter starts from: nothing is learnt
    known, //!< in the training sequence, without a model: a blind start learns its labels
    inside, //!< after the training sequence, or the stream has no bursts
};

/*! Follows a stream from burst to burst. begin() leads to `training` or
 * `known`, end() to `between`. After the last symbol of `known` or `training`
 * the state is `inside`. If the front filter has missed the training
 * sequence, no burst has begun, and the state is that before begin(). */
class burst_progress
{
public:
    burst_progress() { d_training.reserve(front_filter::most_training); }

    burst_state state() const { return d_state; }
    bool is_between() const { return d_state == burst_state::between; }
    //! Whether decided symbols are learnt from.
    bool is_inside() const { return !is_between() && d_state != burst_state::training; }

    //! Another stream begins; it is between bursts if the last one was.
    void start() { go_on(is_between() ? burst_state::between : burst_state::inside); }
    //! The next symbol is the first of a training sequence.
    void begin(const std::vector<std::uint8_t>& training, bool has_model)
    {
        if (d_state != burst_state::training)
            d_before = is_between() ? burst_state::between : burst_state::inside;
        d_training = training;
        go_on(has_model ? burst_state::training : burst_state::known, training.size());
    }
    void end() { go_on(burst_state::between); }
    //! There is a model now: the rest of the training sequence is decided.
    void leave_known()
    {
        if (d_state == burst_state::known)
            go_on(burst_state::inside);
    }

    //! Symbols of the training sequence that are to come, and their labels.
    std::size_t remaining() const { return d_remaining; }
    const std::uint8_t* labels() const
    {
        return d_training.data() + d_training.size() - d_remaining;
    }
    //! Whether the next symbol is the first of those that a front filter starts from.
    bool is_first() const
    {
        return d_state == burst_state::training && d_remaining == d_training.size();
    }
    bool is_within() const { return d_state == burst_state::training && !is_first(); }

    //! How many of the next n symbols take() may be given at most.
    std::size_t most(std::size_t n) const
    {
        return d_remaining ? std::min(n, d_remaining) : n;
    }
    /*! Counts the next n symbols.
     * \param found the front filter's result, if they end a training sequence
     * \return whether they end one that a front filter starts from */
    bool take(std::size_t n, acquisition_result found)
    {
        const bool ends = d_remaining && d_remaining <= n;
        d_remaining -= std::min(d_remaining, n);
        if (!ends)
            return false;
        const bool was_training = d_state == burst_state::training;
        const bool is_missed = was_training && found != acquisition_result::acquired;
        go_on(is_missed ? d_before : burst_state::inside);
        return was_training;
    }

private:
    void go_on(burst_state state, std::size_t remaining = 0)
    {
        d_state = state;
        d_remaining = remaining;
    }

    std::vector<std::uint8_t> d_training; // labels
    std::size_t d_remaining = 0;          // labels still to come
    burst_state d_state = burst_state::inside;
    burst_state d_before = burst_state::inside; // before begin()
};

} // namespace gr::adann::core
