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

//! Level, impulses and tone are estimated from the samples, the others from the residual of decided
//! symbols. An estimate is applied only where it is significant.
struct corrections {
    input_level level;
    impulse_detector impulses;
    interfering_tone tone;
    std::optional<iq_correction> iq; //!< of complex samples
    late_echoes echoes;

    /*! Corrects samples that are already multiplied by level.factor().
     * \param first,n samples, which follow those of the previous call; `late_echoes::latest`
     * symbols before them have been corrected */
    void apply(planes& samples, std::size_t first, std::size_t n)
    {
        blank_impulses(samples, first, n);
        tone.apply(samples, first, n);
        if (iq)
            iq->apply(&samples.re[first], &samples.im[first], n);
        echoes.apply(samples, first, n);
    }
    /*! \param samples of a block of n symbols, corrected
     * \param residual of each sample: target less output of the filter
     * \param sps samples per symbol */
    void learn(const signal_planes& samples,
               const signal_planes& residual,
               std::size_t sps,
               std::size_t n)
    {
        if (iq)
            iq->learn(samples, residual, sps / 2, sps, n);
        echoes.learn(samples, residual, n);
    }
    //! The next samples do not follow those before.
    void forget_samples()
    {
        impulses.reset();
        tone.reset();
    }
    //! Forgets all but the level, which is the receiver's gain and not the link's.
    void reset()
    {
        impulses.reset();
        tone.reset();
        if (iq)
            iq->reset();
        echoes.reset();
    }
    //! Sets impulses to zero.
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
