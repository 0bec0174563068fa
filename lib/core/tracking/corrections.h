/* -*- c++ -*- */
/*
 * Impairments that are corrected in a stream's samples before its taps, which cannot correct them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/impulse_detector.h"
#include "core/tracking/input_level.h"
#include "core/tracking/interfering_tones.h"
#include "core/tracking/iq_correction.h"
#include "core/tracking/late_echoes.h"

#include <optional>

namespace gr::adann::core {

//! Level, impulses and tones are estimated from the samples, echoes from the residual of decided
//! symbols, the image from either. An estimate is applied only where it is significant.
struct corrections {
    input_level level;
    impulse_detector impulses;
    interfering_tones tones;
    std::optional<iq_correction> iq; //!< of complex samples
    late_echoes echoes;

    /*! Corrects samples that are already multiplied by level.factor().
     * \param first,n samples, which follow those of the previous call; `late_echoes::latest`
     * symbols before them have been corrected */
    void apply(planes& samples, std::size_t first, std::size_t n)
    {
        impulses.blank(
            &samples.re[first], samples.im.empty() ? nullptr : &samples.im[first], n);
        tones.apply(samples, first, n);
        if (iq)
            iq->apply(&samples.re[first], &samples.im[first], n);
        echoes.apply(samples, first, n);
    }
    /*! \param samples of a block of n symbols, corrected
     * \param labels decided
     * \param residual of each sample: target less output of the filter
     * \param sps samples per symbol
     * \param uncertain whether decisions are */
    void learn(const signal_planes& samples,
               const std::uint8_t* labels,
               const signal_planes& residual,
               std::size_t sps,
               std::size_t n,
               bool uncertain)
    {
        if (iq)
            iq->learn(samples,
                      labels,
                      uncertain && iq->needs_no_residual() ? nullptr : &residual,
                      sps / 2,
                      sps,
                      n);
        echoes.learn(samples, residual, n);
    }
    //! The same of a lost stream.
    void learn_lost(const signal_planes& samples,
                    const std::uint8_t* labels,
                    std::size_t sps,
                    std::size_t n)
    {
        if (iq)
            iq->learn(samples, labels, nullptr, sps / 2, sps, n);
    }
    //! The next samples do not follow those before.
    void forget_samples()
    {
        impulses.reset();
        tones.reset();
    }
    //! Forgets all but the level, which is the receiver's gain and not the link's.
    void reset()
    {
        impulses.reset();
        tones.reset();
        if (iq)
            iq->reset();
        echoes.reset();
    }
    void state(archive& members)
    {
        members("level", level);
        members("impulses", impulses);
        members("tones", tones);
        if (iq)
            members("iq", *iq);
        members("echoes", echoes);
    }
};

} // namespace gr::adann::core
