/* -*- c++ -*- */
/*
 * Whose decisions explain the samples: those behind a filter, or those without it?
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/expected_waveform.h"
#include "core/tracking/least_squares.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace gr::adann::core {

/*! Compares two ways to decide the same symbols, without knowing what was sent.
 *
 * The expected waveform of each way's labels is sent through a filter that is fitted to
 * the samples as they were received, by least squares: a stand-in for the channel. Where
 * the labels differ, those that leave less of the samples around are believed. (What the
 * filtered samples leave is no judge at all: a filter that puts out a constant, and
 * labels that are all alike, leave nothing.)
 *
 * It counts how often the one way has been believed less often than the other one, never
 * below zero; `tolerance` condemns it. Source: the CUSUM test, Page, Biometrika 41, 1954:
 * a way that is right four times out of five is condemned wrongly about once in 4^8
 * symbols that differ. */
class judge
{
public:
    static constexpr std::size_t symbols = 128; //!< of a comparison
    static constexpr int tolerance = 8;

    /*! \param symmetries constellation::symmetries(): labels that are alike but for one
     * do not differ, for no receiver without a known word sees it */
    judge(std::shared_ptr<const expected_waveform> waveform,
          const std::vector<std::vector<std::uint8_t>>& symmetries);

    /*! \param samples,other_samples of the first symbol, which owns sps of them: as they
     * came in, but for the phase that a way has followed
     * \param labels,others labels of two ways, `symbols` of them and the waveform's reach
     * on each side
     * \returns whether `labels` is condemned: the count then starts anew */
    bool condemns(const signal_planes& samples,
                  const std::uint8_t* labels,
                  const signal_planes& other_samples,
                  const std::uint8_t* others);

    void reset() { d_lost = 0; }
    void state(archive& members) { members("lost", d_lost); }

private:
    static constexpr std::size_t taps = 25;
    static constexpr std::size_t around = 4; //!< symbols on each side that are compared

    const std::vector<std::uint8_t>& aligning(const std::uint8_t* labels,
                                              const std::uint8_t* others) const;
    void leaves(const signal_planes& samples,
                const std::uint8_t* labels,
                std::vector<float>& sums);

    std::shared_ptr<const expected_waveform> d_waveform;
    std::vector<std::vector<std::uint8_t>> d_symmetries;
    std::size_t d_sps, d_planes;
    normal_equations d_sums;
    least_squares d_solver;
    linear_filter d_filter;
    aligned_floats d_expected, d_channel;
    planes d_wave, d_passed;
    std::vector<float> d_left[2]; // up to each symbol
    int d_lost = 0;
};

} // namespace gr::adann::core
