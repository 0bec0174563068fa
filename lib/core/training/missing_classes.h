/* -*- c++ -*- */
/*
 * Pseudo-labels that bring back a class which is never decided.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/aligned.h"
#include "core/files/archive.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Pseudo-labels: the decisions, except for classes that are hardly ever decided (class
 * collapse).
 *
 * After a drift a network may take all symbols of one class for another's. Trained on its
 * own decisions it then learns that the class does not exist; the class's posteriors, some
 * e^-30, are too small for any term on posteriors to have a gradient. But its logit is
 * still larger where the symbol was sent than where it was not. So an offset is added to
 * the logit, for pseudo-labels only. Each time that classes have 32 labels on average, the
 * offset grows by 16 nats · (1/2 - labels of the class / equal share), and is never below
 * 0: above half its share the class loses it again. By chance, scrambled data has a
 * class below half its share once in 2000 times.
 */
class missing_classes
{
public:
    explicit missing_classes(std::size_t classes);

    //! Between batches: updates the offsets by the labels so far.
    void begin_step();

    /*! A tile's logits, rows of simd::tile, with those of missing classes raised:
     * `logits` itself if none is missing, else valid until the next call. */
    const float* raised(const float* logits);

    //! Counts n pseudo-labels that were decided from raised() logits.
    void count(const std::uint8_t* labels, std::size_t n);

    //! Forgets all labels.
    void reset();

    void state(archive& members);

private:
    std::vector<float> d_raised;         // by class, in nats
    std::vector<std::uint64_t> d_labels; // by class, since d_raised was changed
    aligned_floats d_logits;
};

} // namespace gr::adann::core
