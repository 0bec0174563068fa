/* -*- c++ -*- */
/*
 * Impairments that are corrected in a stream's samples before its taps, which cannot correct them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/impulse_detector.h"
#include "core/tracking/input_level.h"
#include "core/tracking/interfering_tone.h"
#include "core/tracking/iq_correction.h"
#include "core/tracking/late_echoes.h"

#include <optional>

namespace gr::adann::core {

//! Level, impulses and tone show in the samples; the others learn from the residual of decided symbols. Each changes as
//! far as its estimate is significant.
struct corrections {
    input_level level;
    impulse_detector impulses;
    interfering_tone tone;
    std::optional<iq_correction> iq; //!< of complex samples
    late_echoes echoes;

    /*! \param first,n samples, which follow those of the call before; `late_echoes::latest` symbols
     * before them have been corrected. The level's factor is taken before */
    void apply(planes& samples, std::size_t first, std::size_t n)
    {
        blank_impulses(samples, first, n);
        tone.apply(samples, first, n);
        if (iq)
            iq->apply(&samples.re[first], &samples.im[first], n);
        echoes.apply(samples, first, n);
    }
    /*! \param samples of a block of n symbols, corrected
     * \param residual of each: what was wanted less what came out of the filter
     * \param sps samples a symbol */
    void learn(const signal_planes& samples,
               const signal_planes& residual,
               std::size_t sps,
               std::size_t n)
    {
        if (iq)
            iq->learn(samples, residual, sps / 2, sps, n);
        echoes.learn(samples, residual, n);
    }
    //! Samples that do not follow those before come next.
    void forget_samples()
    {
        impulses.reset();
        tone.reset();
    }
    //! Corrects nothing but the level, which is the receiver's.
    void reset()
    {
        impulses.reset();
        tone.reset();
        if (iq)
            iq->reset();
        echoes.reset();
    }
    //! An impulse becomes zero, the mean of a signal of which nothing is known.
    void blank_impulses(planes& samples, std::size_t first, std::size_t n)
    {
        const bool is_complex = !samples.im.empty();
        for (std::size_t i = first; i < first + n; ++i) {
            float& re = samples.re[i];
            if (!is_complex) {
                if (impulses.take(re * re))
                    re = 0;
            } else if (float& im = samples.im[i]; impulses.take(re * re + im * im)) {
                re = im = 0;
            }
        }
    }
    void state(archive& members)
    {
        members("level", level);
        members("impulses", impulses);
        members("tone", tone);
        if (iq)
            members("iq", *iq);
        members("echoes", echoes);
    }
};

} // namespace gr::adann::core
