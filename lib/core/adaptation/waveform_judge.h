/* -*- c++ -*- */
/*
 * Whose decisions explain the samples: a comparison that needs no label.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/filtered_waveform.h"
#include "core/adaptation/following_waveform.h"
#include "core/adaptation/time_constants.h"
#include "core/files/archive.h"
#include "core/signal/expected_waveform.h"
#include "core/signal/windows.h"
#include "core/tracking/normal_equations.h"

#include <complex>
#include <vector>

namespace gr::adann::core {

/*! Compares decisions of the same samples where they differ: which have the smaller residual between the
 * samples and the waveform that is expected of them?
 *
 * The waveform is the model's, sent through a filter of three symbols on each side with
 * an offset, which follows the present signal: exponentially windowed least squares to
 * the decisions of the network in use, or to better labels (relearn()), of 2048 symbols, with a
 * ridge towards doing nothing. The waveform follows, too, slowly (following_waveform). Differences that are
 * less than nine symbols from one another are one: they get one vote, by the squared residual over
 * them and four symbols on each side. It does not matter what the data's statistics are.
 * When a batch has more than twice the squared residual of before, the signal has changed:
 * the filter starts over, and 2048 symbols pass before the next vote.
 *
 * Nothing is allocated after construction.
 */
class waveform_judge
{
public:
    //! Symbols of a batch that a judge needs.
    static std::size_t least_batch(const expected_waveform& trained);

    /*! \param window of the network
     * \param batch symbols of a batch
     * \throws std::invalid_argument for a batch below least_batch() */
    waveform_judge(const expected_waveform& trained,
                   const window_geometry& window,
                   std::size_t batch);

    /*! Takes a batch, of the size given, and brings the filter to it.
     * \param labels as the network in use decides them
     * \return whether the signal has changed */
    bool look(const feature_view& batch, const std::uint8_t* labels);

    /*! Brings the filter to other labels of look()'s batch, as if those had been its own.
     * \param labels of the batch, better ones */
    void relearn(const std::uint8_t* labels);

    /*! Lets the waveform follow look()'s batch.
     * \param labels of the batch, the best that there are */
    void follow(const std::uint8_t* labels);

    struct votes {
        unsigned first = 0, second = 0;
    };
    //! How often each of two decisions of look()'s batch, as it may have been turned
    //! since, explains it better than the other.
    votes compare(const std::uint8_t* first, const std::uint8_t* second);

    //! The rms that the waveform left of a float of some 2048 latest symbols, with the
    //! labels of look(); the model's before the first one.
    float noise() const;

    //! Whether it has seen enough of the signal to know the filter.
    bool settled() const { return d_symbols >= channel_memory; }

    const following_waveform& waveform() const { return d_waveform; }
    //! (2 filter_reach sps + 1) factors of the expected samples, the earliest one's first; then the offset.
    const std::vector<std::complex<float>>& taps() const { return d_taps_in_use; }
    /*! What the waveform leaves of the samples of look()'s batch.
     * \param labels (batch)
     * \param first,last symbols first to last - 1, reach() + filter_reach away from its ends
     * \param rest (last - first, stride()), in the samples' units */
    void rest(const std::uint8_t* labels,
              std::size_t first,
              std::size_t last,
              float* rest) const;

    //! The samples of look()'s batch, (batch, stride()), which may be turned.
    std::vector<float>& samples() { return d_samples; }
    //! Forgets the signal's filter; the waveform stays, as another channel may have the same sender.
    void reset();
    void forget(); //!< Forgets the waveform that followed, too.
    void state(archive& members);

private:
    template <typename values>
    void fade(values& sums) const;
    void gather();
    void gather_wave();
    void solve_filter();
    double residual(const std::uint8_t* labels, std::size_t first, std::size_t last);
    double power(std::size_t symbols) const;
    void subtract(std::size_t first, std::size_t last, float* rest) const;
    void add_filtered(const aligned_floats& taps,
                      const float* samples,
                      std::size_t floats,
                      float* sum) const;

    following_waveform d_waveform;
    const std::size_t d_before; // floats of a vector before its symbol's own
    const std::size_t d_batch, d_reach, d_taps;
    std::vector<float> d_samples, d_rest, d_back;
    const simd::kernels* d_kernels;
    mutable aligned_floats d_expected, d_turned, d_factors; // what rest() works with
    // Least squares of the filter, its offset last: real where the samples are.
    std::vector<std::complex<double>> d_gram, d_moments, d_filter;
    std::vector<std::complex<double>> d_gram_before,
        d_moments_before;       // of the batches before
    std::vector<double> d_sums; // of the samples' residuals: squares, count
    std::size_t d_symbols = 0;  // since the signal changed
    normal_equations d_block;   // of a batch
    planes d_wave, d_wanted;    // expected samples, and those received
    std::vector<std::complex<double>> d_work, d_solution;
    std::vector<std::complex<float>> d_taps_in_use;
};

/*! Whether the first of two is better, from votes: a bet on it, which is fair while
 * neither is, and starts over whenever it has lost.
 *
 * If each vote is as likely for either, sure() holds once in ten thousand votes on average
 * or more seldom, however often one looks. Source: Shin, Ramdas and Rinaldo,
 * "E-detectors: a nonparametric framework for sequential change detection", 2022.
 */
class sequential_test
{
public:
    void add(unsigned won, unsigned lost);
    bool sure() const { return d_value >= 10'000; } //!< the first is better
    void reset() { d_value = 1; }
    void state(archive& members) { members("value", d_value, 1.0, 1e7); }

private:
    double d_value = 1;
};

} // namespace gr::adann::core
