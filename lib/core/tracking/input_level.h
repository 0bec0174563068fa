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

namespace gr::adann::core {

enum class level_change {
    none,
    settled, //!< the first looks have found another level than the model's
    changed, //!< what came before was another signal
};

/*! A model was trained at one level; a receiver's gain, or whole numbers in place of ±1, gives another.
 *
 * The power of the latest looks is compared with what the model expects, by their median, so that
 * impulses and a filter that fills count little. The first five settle a factor where they differ by 3 dB
 * or more. Later levels are the taps' to follow, and the factor changes only where it is 9 dB and more off
 * while the stream is lost: back to the former factor, if that fits again; at once for a signal too strong
 * at a factor that no signal was followed with, so that noise has settled it; else, for it may be a fade or a
 * disturbance, after `patience` looks. */
class input_level
{
public:
    static constexpr std::size_t looks = 5;
    static constexpr std::size_t patience = 128;

    //! \param expected mean square of a sample by the model
    explicit input_level(float expected);

    /*! \param samples of one look, complex ones interleaved, as they came in. Zeros and what is not finite
     * are no signal
     * \param planes floats of a sample
     * \param is_lost whether decisions do not explain the stream
     * \return whether factor() has changed */
    level_change
    look(const float* samples, std::size_t n, std::size_t planes, bool is_lost);

    //! What samples are to be multiplied with.
    float factor() const { return d_factor; }
    //! Whether the first looks have settled it, or the latest of them is near what is expected.
    bool is_plausible() const { return d_seen > looks || d_is_near; }

    void state(archive& members);

private:
    float median() const;
    void change(float factor);

    float d_expected;
    float d_factor = 1, d_former = 1;
    std::array<float, looks> d_powers{}; // the latest, in turn
    std::size_t d_seen = 0;              // looks, up to `looks`
    std::size_t d_next = 0;              // the next one's place
    bool d_is_near = true;               // whether the latest look was
    std::size_t d_far_off = 0;           // looks in a row that found it so, while lost
    std::size_t d_followed =
        0; // looks in a row that it was followed, up to `looks`: it stays
};

} // namespace gr::adann::core
