/* -*- c++ -*- */
/*
 * The level of a stream, and the factor that takes it to the model's.
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
    of_noise,  //!< what came before was noise: no signal was ever followed
};

/*! A model was trained at one level; a receiver's gain, or whole numbers in place of ±1, gives another.
 *
 * Mean square and variance of the latest looks are compared with those of what the model expects, each
 * by its median, so that impulses and a filter that fills count little. Both have to be off in the same
 * direction, and the nearer one counts: a constant in the samples changes the one, a code that idles at
 * one point the other. The first five looks settle a factor where that is 3 dB and more. Later levels are
 * the taps' to follow, and the factor changes only where it is 6 dB off while the stream is lost: at once
 * for a signal too strong at a factor with which none was followed, so that noise has settled it; at once
 * back to a factor with which one was; else, for it may be a fade or a disturbance, after `patience`
 * looks. */
class input_level
{
public:
    static constexpr std::size_t looks = 5;
    static constexpr std::size_t patience = 128;
    //! In a row: noise is not followed for so long, by the tests that come each 1024 symbols.
    static constexpr std::size_t confirmed = 32;

    /*! \param expected samples as the model expects them, complex ones interleaved
     * \param planes floats of a sample
     * \param noise mean square of what else the model's samples have, of a sample */
    input_level(const std::vector<float>& expected, std::size_t planes, float noise = 0);

    /*! \param samples of one look, complex ones interleaved, as they came in. Zeros and what is not finite
     * are no signal
     * \param is_lost whether decisions do not explain the stream
     * \return whether factor() has changed */
    level_change look(const float* samples, std::size_t n, bool is_lost);

    //! What samples are to be multiplied with.
    float factor() const { return d_factor; }
    /*! Whether it can be relied on: the first looks have settled it, or the latest of them is near what is
     * expected; and if a signal was followed with another factor, one has been with this one too. */
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
    // By the first looks.
    bool is_settled() const { return d_seen > looks; }
    // A signal was followed with it.
    bool is_confirmed() const { return d_followed == confirmed; }
    // Whether none was, and it is not the former one.
    bool is_new() const { return !is_confirmed() && d_factor != d_former; }

    std::size_t d_planes;
    measured d_expected;
    float d_factor = 1;
    float d_former = 0; // with which a signal was followed before; 0: none
    std::array<measured, looks> d_found{}; // by the latest looks, in turn
    std::size_t d_seen = 0;    // looks, up to `looks`, and one once they have settled it
    std::size_t d_next = 0;    // the next one's place
    bool d_is_near = true;     // whether the latest look was
    std::size_t d_far_off = 0; // looks in a row that found it so, while lost
    std::size_t d_followed =
        0; // looks in a row that it was followed, up to `confirmed`: it stays
};

} // namespace gr::adann::core
