/* -*- c++ -*- */
/*
 * Recording and replay of adaptation steps.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/learner.h"
#include "core/network/model.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace gr::adann::core {

/*! Keeps the latest batches, and a checkpoint from before the first of them.
 *
 * Its memory has two halves. When both are full, the older half is forgotten, so at least
 * the latest half is always there. A checkpoint is made at the start of each half only. */
class batch_recorder
{
public:
    /*! \param stride,dimension,batch of the batches' views
     * \param half batches of one half: fewer where both halves would be above 8 MiB */
    batch_recorder(std::size_t stride,
                   std::size_t dimension,
                   std::size_t batch,
                   std::size_t half);

    //! A batch as a learner gets it.
    struct learnt {
        const float* samples;
        const std::uint8_t* labels; //!< decided
        //! See learner::step().
        const std::uint8_t* known = nullptr;
        std::size_t apart = 1;
        double unexplained =
            0; //!< the larger one of learner::set_missed_errors(); replayed as its residual
    };
    /*! Adds a batch that is about to be learnt from.
     * \param checkpoint called where one is needed */
    void add(const learnt& next, const std::function<model()>& checkpoint);
    //! Forgets all: the next batch does not continue from these.
    void clear() { d_batches = 0; }

    /*! The checkpoint, with the settings, the samples and the labels as `replay.*` in its
     * state. Needs at least one add().
     * \param decides_refined see learner::decide_refined() */
    model recorded(learner_settings settings, bool decides_refined = false);

private:
    std::size_t d_stride;
    const std::size_t d_floats, d_symbols; // of one batch
    const std::size_t d_half;              // batches
    std::vector<float> d_samples;          // (2 d_half, d_floats)
    // (2 d_half, d_symbols): decided; known, not_known elsewhere
    std::vector<std::uint8_t> d_labels, d_known;
    std::vector<std::uint8_t> d_apart; // (2 d_half)
    std::vector<double> d_unexplained; // (2 d_half)
    std::size_t d_batches = 0;
    std::optional<model> d_before[2]; // checkpoint before the batches of each half
};

//! An event of a learner, and its guard_estimates() after that step.
struct replayed_event {
    learner_event event;
    std::array<double, 3> guard_estimates;
};

/*! Repeats the steps of a learner from a model by batch_recorder::recorded(), such as the
 * file that a rollback writes: its batches, from the checkpoint before them on. With the
 * instruction set of the recording each step is the same to the bit, and so are the error
 * rates that are estimated during the replay.
 * \throws model_file_error */
std::vector<replayed_event> replay(const model& recorded);

} // namespace gr::adann::core
