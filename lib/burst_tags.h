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

/*! Whether a training sequence, if there is one, can be made use of.
 * \param starts whether there is no model yet
 * \throws std::invalid_argument naming what does not fit */
void check_training(const core::model& model,
                    bool starts,
                    const equalizer_settings& settings);

//! There are bursts only with a training sequence. For the thread that decides.
class burst_tags
{
public:
    explicit burst_tags(const equalizer_settings& settings);

    bool are_used() const { return !d_training.empty(); }
    std::size_t training() const { return d_training.size(); } //!< symbols
    //! Whether a burst has ended before the next symbol, and labels of it are still to be handed out.
    bool ends_first() const { return d_next.end; }

    //! Before the first symbol there is no burst.
    void start(core::adaptive_equalizer& equalizer);
    /*! Starts or ends in the equalizer what begins or ends at the next symbol, an end once nothing of the burst is held.
     * \param tags of the next symbols
     * \param first the next symbol, counted from the stream's first
     * \param items of a symbol
     * \param holds whether labels are still to be handed out
     * \return of so many symbols those before the next mark; 0: those held come first */
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
