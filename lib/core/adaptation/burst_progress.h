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

/*! A stream without bursts is always inside one. With bursts it is between them until begin(), in the
 * training sequence for as many symbols, inside until end(). Nothing is learnt from the first two, but
 * by the start of a receiver without a model: for it a training sequence is known labels, inside. */
class burst_progress
{
public:
    burst_progress() { d_training.reserve(front_filter::most_training); }

    //! What comes next is another stream; whether it is between bursts is as it was.
    void start()
    {
        d_untrained = d_known = 0;
        d_training.clear();
    }

    //! The next symbol is the first of a training sequence.
    void begin(const std::vector<std::uint8_t>& training, bool has_model)
    {
        d_training = training;
        if (has_model) {
            if (!d_untrained)
                d_was_between = d_between;
            d_untrained = training.size();
        } else
            d_known = training.size();
        d_between = false;
    }
    void end()
    {
        d_between = true;
        start();
    }

    bool is_between() const { return d_between; }
    bool is_inside() const { return !d_between && !d_untrained; }
    //! Symbols of the training sequence to come, for a receiver with a model.
    std::size_t untrained() const { return d_untrained; }
    //! Symbols of the training sequence to come, for a receiver without a model, and their labels.
    std::size_t known() const { return d_known; }
    const std::uint8_t* known_labels() const
    {
        return d_training.data() + d_training.size() - d_known;
    }

    //! Of the burst that begins with the next symbol; empty if none does.
    const std::vector<std::uint8_t>& training() const { return d_training; }
    //! A filter was trained by it, or there is none.
    void leave_training()
    {
        d_training.clear();
        d_known = 0;
    }
    //! No burst has begun after all: as before begin().
    void give_up() { d_between = d_was_between; }

    //! Most symbols that take() may be given, of n that are to come.
    std::size_t most(std::size_t n) const
    {
        for (const std::size_t left : { d_untrained, d_known })
            n = left ? std::min(n, left) : n;
        return n;
    }
    //! \return whether these were the last of the training sequence, for a receiver with a model
    bool take(std::size_t n)
    {
        d_known -= std::min(d_known, n);
        if (!d_untrained)
            return false;
        d_untrained -= n;
        return d_untrained == 0;
    }

private:
    std::vector<std::uint8_t> d_training; // labels
    std::size_t d_untrained = 0, d_known = 0;
    bool d_between = false, d_was_between = false;
};

} // namespace gr::adann::core
