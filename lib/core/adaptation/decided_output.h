/* -*- c++ -*- */
/*
 * What is handed out of what a network decided.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/deciding_parts.h"

#include <gnuradio/adann/equalizer_settings.h>

namespace gr::adann::core {

/*! Labels, refined where the parts in use can, and points; of each stream in order. After leave() what
 * the former parts still hold comes first. */
class decided_output
{
public:
    //! \param signal a model of the signal: points, samples, labels
    explicit decided_output(const model& signal);

    //! What comes next is another stream.
    void start() { d_former_labels = nullptr, d_former_points = nullptr; }
    //! Another model decides from here on. It delays no less than the one before.
    void leave(deciding_parts& former);
    //! Whether the former parts are not needed any more.
    bool has_left_former() const { return !d_former_labels && !d_former_points; }

    /*! \param view what the network saw
     * \param decided its labels
     * \param latest of the front filter, up to the last of them
     * \param decided_posteriors,posteriors both null, or room for as many
     * \param labels room for view.count
     * \param a_priori null, or view.count × log2(M) ratios of bits; needs posteriors
     * \return how many were written */
    std::size_t labels(deciding_parts& in_use,
                       const feature_view& view,
                       const std::uint8_t* decided,
                       const hindsight& latest,
                       const float* decided_posteriors,
                       std::uint8_t* labels,
                       float* posteriors,
                       const float* a_priori);
    /*! \param posteriors of the labels decided
     * \param soft room for view.count points
     * \return how many were written */
    std::size_t points(deciding_parts& in_use,
                       const feature_view& view,
                       const std::uint8_t* decided,
                       const float* posteriors,
                       float* soft,
                       soft_symbol_kind kind);
    //! Nobody takes what the former parts hold of these.
    void drop_former_points() { d_former_points = nullptr; }
    //! \return labels at the stream's end; 0: all have been
    std::size_t flush(deciding_parts& in_use,
                      std::uint8_t* labels,
                      std::size_t room,
                      float* posteriors);

private:
    const model& d_signal;
    const bit_priors d_bits;
    std::vector<float> d_priors; // (M) of a symbol
    // Null once all has been handed out.
    refined_stream* d_former_labels = nullptr;
    soft_symbols* d_former_points = nullptr;
};

} // namespace gr::adann::core
