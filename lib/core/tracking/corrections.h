/* -*- c++ -*- */
/*
 * What is taken off a stream's samples before its taps, since they cannot.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/input_level.h"
#include "core/tracking/interfering_tone.h"
#include "core/tracking/iq_correction.h"
#include "core/tracking/late_echoes.h"

#include <optional>

namespace gr::adann::core {

//! Level and tone show in the samples; the others learn from the residual of decided symbols. Each changes as
//! far as its estimate is significant.
struct corrections {
    input_level level;
    interfering_tone tone;
    std::optional<iq_correction> iq; //!< of complex samples
    late_echoes echoes;

    /*! \param first,n samples, which follow those of the call before; `late_echoes::latest` symbols
     * before them have been corrected. The level's factor is taken before */
    void apply(planes& samples, std::size_t first, std::size_t n)
    {
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
    void forget_samples() { tone.reset(); }
    //! Corrects nothing but the level, which is the receiver's.
    void reset()
    {
        tone.reset();
        if (iq)
            iq->reset();
        echoes.reset();
    }
    void state(archive& members)
    {
        members("level", level);
        members("tone", tone);
        if (iq)
            members("iq", *iq);
        members("echoes", echoes);
    }
};

} // namespace gr::adann::core
