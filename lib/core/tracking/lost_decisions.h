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

/*! In a pause, whatever the state, a stream is decided by the taps and the carrier of when it was followed
 * (resumption.h): the remembered ones. So is a lost stream after a gap, unless a test found the network's decisions of the
 * unfiltered samples better. Without a gap the unfiltered samples are decided. */
class lost_decisions
{
public:
    lost_decisions(const tracked_stream& stream,
                   const constellation& alphabet,
                   const std::vector<float>& probabilities);

    //! Taps and carrier of when the stream was followed.
    resumption& remembered() { return d_remembered; }
    const resumption& remembered() const { return d_remembered; }

    //! Whether the next symbols are decided by these.
    bool are_remembered() const { return d_by_remembered; }
    //! Whether they are, and do not explain the samples.
    bool are_unexplained() const { return d_by_remembered && !d_remembered.explains(); }
    /*! The windows that the next n symbols of the stream are decided from.
     * \param position symbols since the latest update \param scratch they are valid as long as it is */
    feature_view windows(tracked_stream& stream,
                         std::size_t n,
                         std::size_t position,
                         aligned_floats& scratch);

    /*! In a test of a lost stream, after label_evidence::compare(): whether the residual of the unfiltered samples' labels
     * is 1.25 times smaller than that of the labels by remembered(). The latest fit is then that of the stream's labels. */
    void test(tracked_stream& stream,
              const network_decider& decides,
              label_evidence& evidence);
    //! After an update of a stream that does not go on from when it was followed. \param lost whether it is lost
    void choose(bool lost);
    //! The filter's own output is used.
    void stop() { d_by_remembered = false; }
    /*! Whether a stream that is not followed goes on from when it was. The remembered taps have to explain the latest
     * block, with a residual below the limit, after a gap or where the carrier rotates, and so its phase may have run away.
     * The stream's own residual has to be 1.25 times larger without a gap, and where its taps were in use up to now: the
     * residual may be that of a burst. Otherwise it may be 1.25 times smaller: taps that have learnt in a gap may be as
     * good, but have labels that are late or rotated. Where the stream has learnt from no block yet: unless its taps have
     * just started.
     * \param held the latest block by remembered()
     * \param was_in_use whether the stream's own taps were in use up to now
     * \param limit of the residual */
    bool goes_back(const tracked_stream& stream,
                   const resumption::tried& held,
                   bool was_in_use,
                   float limit) const;

    //! The stream's taps have started from labels or from a line.
    void note_start()
    {
        d_has_started = true;
        d_remembered.note_signal();
    }
    //! They have not, or no longer count as having.
    void forget_start()
    {
        d_has_started = false;
        d_remembered.forget_signal();
    }
    //! The stream is found.
    void forget_loss()
    {
        d_unfiltered_is_better = false;
        forget_start();
    }
    void state(archive& members);

private:
    resumption d_remembered;
    bool d_by_remembered = false;
    bool d_unfiltered_is_better = false; // by the latest test() of this loss
    bool d_has_started = false;          // the taps in use, from labels or from a line

    // Nothing outlives a test in these.
    std::vector<std::uint8_t> d_labels;
    aligned_floats d_windows;
};

} // namespace gr::adann::core
