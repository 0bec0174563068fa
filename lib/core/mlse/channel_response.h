/* -*- c++ -*- */
/*
 * A linear channel's response to symbols, and how it is estimated.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gr::adann::core {

//! `sps` rows of `memory` taps, row after row; real ones for float samples.
using response_taps = std::vector<std::complex<float>>;

/*! What the taps of a response stand for.
 *
 * The samples of symbol i are those that window_geometry gives it: phase p is sample
 * i·sps - ⌊sps/2⌋ + p, so that phase ⌊sps/2⌋ is its middle. Without noise
 *
 *     x_p(i) = Σ_k taps[p·memory + k] · a(i + ahead() - k),   k = 0 … memory - 1
 *
 * with a(j) the point of symbol j: k counts along the impulse response, and ⌊(memory -
 * 1)/2⌋ symbols after symbol i and ⌊memory/2⌋ before it take part.
 */
struct channel_model {
    /*! \param sps samples per symbol, 1 to 64
     * \param memory symbols that one sample depends on, 1 to 64
     * \param complex whether the samples are complex (I, Q floats)
     * \throws std::invalid_argument if one is out of range, or for float samples of a
     * complex alphabet */
    channel_model(const constellation& alphabet,
                  unsigned sps,
                  unsigned memory,
                  bool complex);

    const constellation alphabet;
    const std::size_t sps;
    const std::size_t memory;
    const bool complex;

    std::size_t ahead() const
    {
        return (memory - 1) / 2;
    } //!< symbols after the one decided
    std::size_t floats() const
    {
        return sps * (complex ? 2 : 1);
    } //!< of a symbol's samples

    //! \throws std::invalid_argument unless there are sps·memory finite taps below 1e8,
    //! real ones for float samples
    void check(const response_taps& taps) const;

    /*! Where nothing is known: straight lines between the symbols' points, with unit
     * power at their middle. */
    response_taps linear_interpolation() const;

    /*! The least-squares fit to known symbols; those with samples that are not usable
     * are left out.
     * \param samples floats() for each symbol
     * \param labels of the same symbols
     * \throws std::invalid_argument if one is no label, or they do not determine the
     * response */
    response_taps least_squares(const float* samples,
                                const std::uint8_t* labels,
                                std::size_t symbols) const;
};

//! Whether all are finite and within ±1e8: what lies beyond carries no information.
bool usable(const float* samples, std::size_t floats);

/*! Tracks a response by normalised LMS: taps += step · error · conj(a) / Σ|a|².
 *
 * It converges in about memory/step symbols; its taps' noise adds step/(2 - step) to the
 * noise of the samples. Where all points are zero it
 * makes no step. A gain of the samples changes nothing but the scale. Source: Haykin, Adaptive Filter
 * Theory, Section 6 (normalised LMS).
 */
class lms_tracker
{
public:
    lms_tracker(const channel_model& channel, const response_taps& taps);

    const response_taps& taps() const { return d_taps; }
    void set_taps(const response_taps& taps) { d_taps = taps; }

    /*! One step with the samples of symbol i.
     * \param newest points to the label of symbol i + ahead(); memory - 1 earlier ones
     * lie before it
     * \param step 0 to 1
     * \param decided the labels are decisions, which silence would teach a response of
     * zero: the taps stay while the samples of the latest 16 symbols or so have less than
     * 1 % of the power that the response makes of their labels */
    void
    update(const float* samples, const std::uint8_t* newest, float step, bool decided);

private:
    const channel_model d_channel;
    response_taps d_taps;
    std::vector<std::complex<float>> d_symbols; // a(i + ahead() - k)
    std::vector<std::complex<float>> d_errors;  // by phase
    float d_power = 0;                          // of the samples,
    float d_expected_power = 0;                 // and of the response to the labels
};

} // namespace gr::adann::core
