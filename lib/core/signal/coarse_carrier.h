/* -*- c++ -*- */
/*
 * A carrier's frequency offset, found in the spectrum.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <atomic>
#include <complex>
#include <functional>
#include <vector>

namespace gr::adann::core {

/*! Rotates samples back by the offset of their spectrum's middle, as
 * gr::adann::coarse_carrier says.
 *
 * - searching: no signal was found in the latest spectrum, or another one has just been taken. The
 *   next offset found, by two spectra, is taken, if it is farther than `near` from the one in use.
 * - centred: offsets farther than `near` from the one in use move it by `slew` a symbol; those
 *   farther than `far` are another sender's, and are taken as in searching.
 *
 * Allocates nothing after construction. */
class coarse_carrier
{
public:
    /*! The discrete Fourier transform of transform_size() numbers, forwards: from its first
     * argument to its second one. */
    using transform =
        std::function<void(const std::complex<float>*, std::complex<float>*)>;

    //! 64 symbols at least, a power of two.
    static std::size_t transform_size(float sps);

    /*! \param sps samples a symbol, 2 to 64
     * \param roll_off of root-raised-cosine pulses, 0.05 to 1
     * \throws std::invalid_argument naming the parameter that is out of range */
    coarse_carrier(float sps, float roll_off, transform spectrum);

    //! The offset that is removed, in cycles a symbol; 0 before one was found. By any thread.
    float frequency() const { return d_frequency; }
    void
    process(const std::complex<float>* in, std::complex<float>* out, std::size_t samples);

private:
    enum class state { searching, centred };
    struct centre {
        double offset,
            gain; // how much better a signal there explains the spectrum, in squared deviations
    };

    void take_segment();
    void look();
    centre find();
    void turn_by(double offset);

    const double d_sps;
    const std::size_t d_size;
    const transform d_transform;
    std::vector<float> d_window;
    std::vector<std::size_t> d_bins; // bins that a signal may be in
    std::vector<float> d_pulses;     // power of a pulse in these bins, at each offset
    std::vector<std::complex<float>> d_latest, d_windowed, d_spectrum;
    std::size_t d_taken = 0; // of the latest samples
    std::vector<double> d_power,
        d_weights;         // of the spectrum; of the bins that a signal may be in
    double d_segments = 0; // in it
    std::size_t d_to_look;
    state d_state = state::searching;
    std::atomic<float> d_frequency{ 0 };
    double d_offset = 0;
    double d_found; // by the latest spectrum; NaN where there was none
    std::complex<double> d_turn = 1, d_step = 1;
};

} // namespace gr::adann::core
