/* -*- c++ -*- */
/*
 * The level of a stream, and the factor that brings it to the model's.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <array>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

enum class level_change {
    none,
    of_signal, //!< the same signal at another level
    back,      //!< the same signal at the level before: another one came between
    of_noise,  //!< the earlier level was that of noise: no signal was ever followed
};

/*! Brings samples to the level at which the model was trained. A receiver's gain gives another one,
 * and so do integer samples in place of ±1.
 *
 * A look measures the mean square and the variance of a window of samples. Their medians over the
 * latest five looks are compared with the model's; a median ignores impulses, and the start of a
 * filter. Both have to deviate in the same direction, and the smaller deviation counts: a constant
 * in the samples changes the mean square alone, an idle code at one point the variance alone.
 *
 * The first five looks set the factor if the level deviates by 3 dB or
 * more. Later the taps follow changes of the level. The factor then
 * changes only if the level deviates by 6 dB while the stream is lost:
 *
 * - at once, if the signal is too strong and no signal was followed with the present factor, which
 *   is that of noise then;
 * - at once, back to the former factor, if that fits and a signal was followed with it;
 * - otherwise after `patience` looks, as there may be a fade or a disturbance. */
class input_level
{
public:
    static constexpr std::size_t looks = 5;
    static constexpr std::size_t patience = 128;
    //! Looks in a row that confirm a factor: noise would not pass recovery's tests for so long.
    static constexpr std::size_t confirmed = 32;

    /*! \param expected samples of the model's expected waveform, complex ones interleaved
     * \param planes floats of a sample
     * \param noise mean square noise of a sample */
    input_level(const std::vector<float>& expected, std::size_t planes, float noise = 0);

    /*! Measures the level once more.
     * \param samples n floats as they came in, complex samples interleaved. Zeros and samples that
     * are not finite are ignored
     * \param is_lost whether decisions do not explain the stream
     * \return whether and why factor() has changed */
    level_change look(const float* samples, std::size_t n, bool is_lost);

    //! Samples are to be multiplied by this.
    float factor() const { return d_factor; }
    /*! Whether the level is plausible: the first looks have set the factor, or the latest one is
     * near the expected level. If a signal was followed with another factor before, one must
     * have been followed with this one as well. */
    bool is_plausible() const
    {
        return (is_settled() || d_is_near) && !(d_former > 0 && is_new());
    }

    void state(archive& members);

private:
    struct measured {
        float square = 0, variance = 0; // means, of a sample
    };
    measured measure(const float* samples, std::size_t n) const;
    float ratio(const measured& found, float factor) const;
    measured median() const;
    void change(float factor);
    // Whether the first looks have set the factor.
    bool is_settled() const { return d_seen > looks; }
    // Whether a signal was followed with it.
    bool is_confirmed() const { return d_followed == confirmed; }
    // Whether it is neither confirmed nor the former one.
    bool is_new() const { return !is_confirmed() && d_factor != d_former; }

    std::size_t d_planes;
    measured d_expected;
    float d_factor = 1;
    float d_former = 0;                    // the previous confirmed factor; 0: none
    std::array<measured, looks> d_found{}; // of the latest looks, cyclic
    std::size_t d_seen =
        0; // looks, up to `looks`; one more once they have set the factor
    std::size_t d_next = 0;    // index in d_found that is written next
    bool d_is_near = true;     // whether the latest look was near the expected level
    std::size_t d_far_off = 0; // looks in a row far from it, while lost
    std::size_t d_followed =
        0; // looks in a row with a followed stream, up to `confirmed`
};

} // namespace gr::adann::core
