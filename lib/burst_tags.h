/* -*- c++ -*- */
/*
 * Where tags say that bursts begin and end.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/adaptive_equalizer.h"

#include <gnuradio/adann/equalizer_settings.h>
#include <gnuradio/tags.h>
#include <pmt/pmt.h>

#include <cstdint>
#include <vector>

namespace gr::adann {

/*! Checks a training sequence, if there is one.
 * \param starts whether there is no model yet
 * \throws std::invalid_argument naming what does not fit */
void check_training(const core::model& model,
                    bool starts,
                    const equalizer_settings& settings);

//! Starts and ends bursts at their tags, if there is a training sequence. For the deciding thread.
class burst_tags
{
public:
    explicit burst_tags(const equalizer_settings& settings);

    bool are_used() const { return !d_training.empty(); }
    std::size_t training() const { return d_training.size(); } //!< symbols
    //! Whether a burst has ended before the next symbol, and labels of it are
    //! still to be handed out.
    bool ends_first() const { return d_next.end; }

    //! A stream starts between two bursts.
    void start(core::adaptive_equalizer& equalizer);
    /*! Starts or ends a burst of the equalizer at the next symbol; it ends
     * once all its labels are handed out.
     * \param tags of the next symbols
     * \param first number of the next symbol, counted from the stream's first
     * \param items of a symbol
     * \param holds whether labels are still to be handed out
     * \return symbols up to the next tag; 0: labels are to be handed out first */
    int up_to_mark(const std::vector<gr::tag_t>& tags,
                   std::uint64_t first,
                   std::uint64_t items,
                   int symbols,
                   bool holds,
                   core::adaptive_equalizer& equalizer);

private:
    struct marks { // where both are, a burst begins
        bool end = false, begin = false;
    };
    void reach(marks there, core::adaptive_equalizer& equalizer) const;

    const std::vector<std::uint8_t> d_training;
    const pmt::pmt_t d_begins, d_ends; // keys
    const after_burst_kind d_after;
    marks d_next; // the next symbol's
};

} // namespace gr::adann
