/* -*- c++ -*- */
/*
 * What decides a stream while it is lost.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/label_evidence.h"
#include "core/tracking/resumption.h"

#include <vector>

namespace gr::adann::core {

/*! A lost stream is decided by the taps and the carrier of when it was followed (resumption.h) after a gap, unless a
 * test found the network's decisions of the unfiltered samples clearly better; without a gap by these. So is each
 * stream in a pause.
 *
 * A stream that is not followed goes on from when it was if these taps explain it: after a gap, or where a carrier's
 * phase may have run away. */
class lost_decisions
{
public:
    lost_decisions(const tracked_stream& stream,
                   const constellation& alphabet,
                   const std::vector<float>& probabilities,
                   std::size_t n);

    //! Taps and carrier of when the stream was followed.
    resumption& memory() { return d_memory; }
    const resumption& memory() const { return d_memory; }

    //! Whether the next symbols are decided by these, also where the stream itself is not lost.
    bool are_by_memory() const { return d_by_memory; }
    //! Whether they are, and do not explain the samples.
    bool are_unexplained() const { return d_by_memory && !d_memory.explains(); }
    /*! The windows that the next n symbols of the stream are decided from.
     * \param position symbols since the latest update \param memory they are valid as long as it is */
    feature_view windows(tracked_stream& stream,
                         std::size_t n,
                         std::size_t position,
                         aligned_floats& memory);

    //! In a test of a lost stream: are decisions without any taps clearly better than those by memory()? The latest fit
    //! is then that of the stream's labels.
    void test(tracked_stream& stream,
              const network_decider& decides,
              label_evidence& evidence);
    //! After an update of a stream that does not go on from when it was followed. \param lost whether it is lost
    void choose(bool lost);
    //! The filter's own output is used.
    void stop() { d_by_memory = false; }
    /*! Whether the stream goes on from when it was followed. Taps that were in use until lately have to be clearly
     * worse, as the residual may be that of a burst. Those that have learnt in a gap may be as good, but have labels
     * that are late or rotated.
     * \param held the latest block by memory()
     * \param lately whether the stream's own taps were in use until lately
     * \param limit of the residual */
    bool goes_back(const tracked_stream& stream,
                   const resumption::tried& held,
                   bool lately,
                   float limit) const;

    //! The stream's taps have started from labels or from a line.
    void note_start()
    {
        d_has_started = true;
        d_memory.note_signal();
    }
    //! They have started over from nothing.
    void note_nothing()
    {
        d_has_started = false;
        d_memory.forget_signal();
    }
    //! The stream is found.
    void forget_loss()
    {
        d_unfiltered_is_better = false;
        note_nothing();
    }
    void state(archive& members);

private:
    resumption d_memory;
    bool d_by_memory = false;
    // Of this loss: as the latest test() found; whether the taps in use are from labels or from a line.
    bool d_unfiltered_is_better = false, d_has_started = false;

    // Nothing outlives a test in these.
    std::vector<std::uint8_t> d_labels;
    aligned_floats d_windows;
};

} // namespace gr::adann::core
