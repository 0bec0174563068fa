/* -*- c++ -*- */
/*
 * Compares decisions without known labels: which explain the samples better?
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/filtered_waveform.h"
#include "core/adaptation/following_waveform.h"
#include "core/adaptation/time_constants.h"
#include "core/files/archive.h"
#include "core/signal/expected_waveform.h"
#include "core/signal/label_noise.h"
#include "core/signal/windows.h"
#include "core/tracking/normal_equations.h"

#include <complex>
#include <vector>

namespace gr::adann::core {

/*! Compares decisions of the same samples where they differ, by the residual between the samples
 * and the expected waveform of the decisions.
 *
 * The waveform is the model's, passed through a filter of three symbols on each side and an
 * offset. The filter follows the present signal by exponentially windowed least squares over
 * some 2048 symbols that it takes, of the latest 16,384 of the stream, with the decisions of the
 * network in use, or better labels (relearn()); it is regularised towards the identity. The waveform
 * itself is updated slowly (following_waveform). Differences at less than nine symbols from each
 * other count as one, with one vote: by the likelihood of the residual over them and four symbols on
 * each side. The statistics of the data do not matter. When the residual power of 1024 symbols, or of four batches, is more
 * than twice the earlier one, the signal has changed: the filter starts over, and 2048 symbols pass
 * before the next vote.
 *
 * Nothing is allocated after construction.
 */
class waveform_judge
{
public:
    //! Shortest batch, symbols.
    static std::size_t least_batch(const expected_waveform& trained);

    /*! \param window of the network
     * \param batch symbols of a batch
     * \throws std::invalid_argument for a batch below least_batch() */
    waveform_judge(const expected_waveform& trained,
                   const window_geometry& window,
                   std::size_t batch);

    /*! Takes a batch of the given size, and updates the filter.
     * \param labels decisions of the network in use
     * \param apart batches of the stream since the previous one, this one included
     * \return whether the signal has changed */
    bool
    look(const feature_view& batch, const std::uint8_t* labels, std::size_t apart = 1);
    /*! Repeats the filter's update with other labels of look()'s batch.
     * \param labels better labels of the batch */
    void relearn(const std::uint8_t* labels);
    /*! Updates the waveform with look()'s batch.
     * \param labels the best labels of the batch */
    void follow(const std::uint8_t* labels);

    struct votes {
        unsigned first = 0, second = 0;
    };
    /*! How often each of two decisions of look()'s batch explains its samples() better than the other.
     * \param noise of the labels */
    votes compare(const std::uint8_t* first,
                  const std::uint8_t* second,
                  const label_noise& noise);
    //! The rms residual of a float with the labels of look(), over some 2048 latest symbols;
    //! the model's before the first one.
    float noise() const;
    //! Whether the filter has had enough symbols of the signal.
    bool settled() const { return d_symbols >= channel_memory; }

    const following_waveform& waveform() const { return d_waveform; }
    //! (2 filter_reach sps + 1) taps, that of the earliest expected sample first; then the offset.
    const std::vector<std::complex<float>>& taps() const { return d_taps_in_use; }
    /*! The residual of the samples of look()'s batch.
     * \param labels (batch)
     * \param first,last symbols first to last - 1, reach() + filter_reach away from its ends
     * \param rest (last - first, stride()), in the samples' units */
    void rest(const std::uint8_t* labels,
              std::size_t first,
              std::size_t last,
              float* rest) const;

    //! The samples of look()'s batch, (batch, stride()), whose gain the caller may correct.
    std::vector<float>& samples() { return d_samples; }

    //! Forgets the filter; the waveform stays, as the transmitter may be the
    //! same over another channel.
    void reset();
    void forget(); //!< Forgets the changes of the waveform as well.
    void state(archive& members);

private:
    bool has_changed(double now, double before);
    void gather();
    void gather_wave();
    void solve_filter();
    double loss(const std::uint8_t* labels,
                const std::uint8_t* rival,
                std::size_t first,
                std::size_t last,
                const label_noise& noise);
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
    mutable aligned_floats d_expected, d_turned, d_factors; // scratch of rest()
    // Least squares of the filter, with its offset last; real if the samples are.
    std::vector<std::complex<double>> d_gram, d_moments, d_filter;
    std::vector<std::complex<double>> d_gram_before,
        d_moments_before;             // of earlier batches
    std::vector<double> d_sums;       // of residuals: squares, count
    double d_latest = 0, d_usual = 0; // has_changed()'s mean powers; 0: not known
    std::size_t d_symbols = 0;        // since the signal changed
    normal_equations d_block;         // of a batch
    planes d_wave, d_wanted;          // expected and received samples
    std::vector<std::complex<double>> d_work, d_solution;
    std::vector<std::complex<float>> d_taps_in_use;
};

/*! A sequential test from votes whether the first of two candidates is better. Its value is that
 * of a bet on the first one: fair if neither is better, and started again whenever it has lost.
 *
 * If votes for both are equally likely, sure() holds at most once in ten thousand votes on
 * average, however often it is called. Source: Shin, Ramdas and Rinaldo, "E-detectors: a
 * nonparametric framework for sequential change detection", 2022.
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
