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

/*! The decisions as pseudo-labels, but where a class goes missing.
 *
 * After a drift a network may take all symbols of one class for another's. It then learns
 * from its own decisions that the class does not exist, and the posterior is too small,
 * e^-30, for any term on posteriors to have a gradient. Yet it is larger where the symbol
 * was sent than where it was not. So the class's logit is raised, for pseudo-labels only:
 * by 16 nats · (1/2 - its labels / an equal share) each time that classes have 32 labels
 * on average, never below 0: with more than half its share it comes down again. Scrambled
 * data leaves a class with less than that by chance only, once in 2000 times.
 */
class missing_classes
{
public:
    explicit missing_classes(std::size_t classes);

    //! Between batches: what is raised follows the labels so far.
    void begin_step();

    /*! A tile's logits, rows of simd::tile, with those of missing classes raised:
     * `logits` itself if none is missing, else valid until the next call. */
    const float* raised(const float* logits);

    //! Takes n pseudo-labels that came of it.
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
