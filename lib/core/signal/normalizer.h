/* -*- c++ -*- */
/*
 * Zero mean and unit power for a stream of samples, whatever it holds.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <array>
#include <complex>
#include <cstddef>

namespace gr::adann::core {

/*! (x - mean) / rms, with the statistics of the recent past or with given ones.
 *
 * rms is the standard deviation, for complex samples the root of the mean of |x - mean|².
 * A sample that is not finite comes out as 0 and never enters the statistics.
 *
 * Running statistics start with the first sample and weigh all samples alike until `window` of them
 * have come; then older ones fade exponentially with `window` samples as time constant. The first
 * 1024 samples are scaled with statistics that include themselves, so that |y| < sqrt(n) for the
 * n-th; after that, statistics change after every 1024 samples, for the next ones. Then stray
 * samples, up to a 64th of those 1024, count as 8 deviations at most, or as sqrt(window) / 8 if
 * that is more: a single one of any size raises the power by a 64th, or by a 16th with the shortest
 * window. (Among the first 1024 samples strays cannot be distinguished: a huge one fades as a level
 * does.) After n < window samples of noise the scale is right to about 1/sqrt(2n); a small fall in
 * level is forgotten to 5 % after 3 windows. A rise is followed at once: when three quarters of 32
 * samples lie beyond two deviations and their power is 16 times the variance, as when a sender is
 * switched on, the statistics start over from these. A fall to a 16th of the variance is a pause at
 * first, and is not followed: samples stay small. Once it has lasted an eighth of the window, 1024
 * samples at least, it is the level, and they go towards it by 6 dB each 1024 samples, which later
 * loops can follow; samples that are all equal are none. A blast is forgotten so, too. What has no
 * power (rms below 1.2e-7·|mean|, the resolution of a float) comes out as 0, and what comes out is
 * limited to ±16: later loops do not lose lock in the 32 samples.
 *
 * The output does not depend on how the stream is cut into calls, to the bit. Nothing is
 * allocated after construction.
 */
class normalizer
{
public:
    //! Samples between two updates of the running statistics, and the shortest window.
    static constexpr std::size_t block = 1024;
    //! Samples between two tests for a rise in level.
    static constexpr std::size_t run = 32;

    /*! Running statistics over `window` samples, 1024 to 2^30.
     * \throws std::invalid_argument if it is out of range */
    normalizer(bool complex, std::size_t window);

    /*! Given statistics: finite, rms > 0, and for real samples a real mean.
     * \throws std::invalid_argument otherwise */
    normalizer(bool complex, std::complex<float> mean, float rms);

    //! `samples` of them from `in` to `out`, complex ones as I, Q; no overlap.
    void process(const float* in, float* out, std::size_t samples);

private:
    template <std::size_t parts>
    void process_running(const float* in, float* out, std::size_t samples);
    template <std::size_t parts>
    void scale(const float* in, float* out, std::size_t samples) const;
    struct sums {
        double valid, beyond;
        std::array<double, 2> deviations;
        double squares;
    };
    template <std::size_t parts>
    sums add_up(const float* samples, std::size_t count, double limit) const;
    bool start_over_if_fallen(const sums& found);
    template <std::size_t parts>
    void update(const float* samples, std::size_t count);
    template <std::size_t parts>
    bool start_over_if_risen(const float* samples);
    void apply();

    const bool d_complex;
    const double d_window; // 0: the statistics are given
    const double d_stray;  // deviations that a stray sample counts as, at most
    double d_weight = 0;   // samples that the statistics stand for, up to the window
    double d_fallen = 0;   // samples since the level has fallen
    std::array<double, 2> d_mean{}; // the running statistics ...
    double d_variance = 0;
    std::array<float, 2> d_offset{}; // ... and how they are applied
    float d_gain = 0;
    float d_limit;
    std::array<float, 2 * block> d_recent; // what has come since the last update
    std::size_t d_filled = 0;
};

} // namespace gr::adann::core
