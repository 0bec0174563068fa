/* -*- c++ -*- */
/*
 * How probable each label of refined symbols is.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/label_frequencies.h"
#include "core/adaptation/label_trellis.h"
#include "core/adaptation/local_noise.h"
#include "core/signal/running_mean.h"

#include <vector>

namespace gr::adann::core {

/*! Posteriors of the labels of consecutive symbols, given the samples and the expected waveform
 * (label_trellis), with the noise that the residual shows.
 *
 * Decisions take a part of the noise for other labels. What they hide of its power is the mean,
 * over the posteriors, of the excess of the other labels' residuals (expectation maximization). Distortion that the
 * waveform lacks counts as noise by as much as the frequencies of the labels show (label_frequencies). */
class label_posteriors
{
public:
    static constexpr std::size_t block = label_trellis::block;
    static constexpr std::size_t around = label_trellis::around;
    static constexpr std::size_t window = label_trellis::window;

    //! \param probabilities (M): of the labels sent
    label_posteriors(const constellation& symbols,
                     const std::vector<float>& probabilities);

    void start(); //!< Another stream begins.
    //! The signal from now on. Allocates nothing, as find(). \param is_deep as label_trellis has it
    void use(const label_descent& signal, bool is_deep = false);
    /*! Those of a block in the middle of a window.
     * \param labels,matches of the window, `window` each, kept until write() is done
     * \param fresh how many at its end are others than in the latest call, a block before:
     * block, or window
     * \param priors null, or of each of the window ln of its M labels' a priori probabilities, but for a
     * constant, kept as the labels */
    void find(const std::uint8_t* labels,
              const label_descent::match* matches,
              std::size_t fresh,
              const float* priors = nullptr);
    /*! M floats of a symbol of the block. The label decided has the largest one, or the same as a
     * likelier one. */
    void write(std::size_t symbol, float* posteriors) const;

    //! Power of the noise, over what decisions show of it: label_descent::power().
    float noise() const;

    //! As large as any other, where another one has the largest.
    static void make_consistent_with_decision(std::uint8_t label,
                                              float* posteriors,
                                              std::size_t classes);

private:
    float power_of_block() const;
    float shown_after();

    const std::size_t d_classes, d_dimensions;
    label_trellis d_trellis;
    label_frequencies d_frequencies;
    float d_power = 0;                        // of the noise, as refinement has it
    bool d_is_distorted = false;              // whether that is more than in the training
    running_mean<float> d_noise{ 1, 0 };      // over that, of blocks
    running_mean<float> d_as_decided{ 1, 0 }; // the same, of labels as decided
    local_noise d_local;
    float d_factor = 1; // of the noise of the latest block, over the mean
    float d_before = 1; // power of the block before
    // Of the window.
    const std::uint8_t* d_labels = nullptr;
    const float* d_priors = nullptr; // (window, M), or null
};

} // namespace gr::adann::core
