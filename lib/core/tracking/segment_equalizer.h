/* -*- c++ -*- */
/*
 * An equalizer for the segments of an ATSC transmission at one sample per symbol.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/atsc_segment.h"
#include "core/tracking/least_squares.h"
#include "core/tracking/level_model.h"

#include <array>
#include <limits>
#include <vector>

namespace gr::adann::core {

/*! Equalizes samples to the levels ±1, ±3, ±5, ±7 with taps that follow the signal.
 *
 * Start: least squares over the known symbols of a field's first segment. Then the taps are updated
 * every `block` symbols by exponentially windowed least squares, for several forgetting time
 * constants in parallel. In use is the one whose outputs were nearest to the target in the latest
 * blocks, before it learnt from them.
 *
 * The target is the known symbol, or else the posterior mean of the levels by a model of the
 * outputs (level_model.h): 8VSB still works with one wrong decision in five, which would bias hard
 * decisions. As in soft_decisions::aim() the part of a mean that depends on the output itself is
 * removed: (mean - slope z) / (1 - slope), with z the output's position between the levels. The
 * decoder gets z, too, which corrects an amplifier's nonlinearity.
 *
 * Each block is equalized twice, the second time by taps that have learnt from it: these follow
 * the signal without lag.
 *
 * In each field's first segment new least squares over the known
 * symbols are compared with the taps in use. Where the taps in use have
 * more than twice the residual, all starts over from the new ones.
 *
 * Sources: exponentially windowed least squares, Haykin, Adaptive Filter Theory, chapter 10;
 * posterior means, Dempster, Laird, Rubin 1977, and Ma, Ping, "Orthogonal AMP", IEEE Access 5,
 * 2017. Nothing is allocated after construction. */
class segment_equalizer
{
public:
    static constexpr std::size_t block = 208; //!< a quarter of a segment
    static constexpr unsigned least_reach = 8, most_reach = 128;

    /*! \param past,future samples before and after its own that a symbol is estimated from
     * \throws std::invalid_argument for less than least_reach or more than most_reach */
    segment_equalizer(unsigned past, unsigned future);

    struct status_type {
        bool started = false;     //!< whether a field's first segment has come
        std::size_t memory = 0;   //!< of the taps in use, symbols
        std::uint64_t fields = 0; //!< whose first segment has come
        std::uint64_t resets = 0; //!< times that it started over
        //! In the latest field's first segment, as it came: mean square error relative to the
        //! levels' power, and the part of its known symbols that was decided wrongly.
        float residual = std::numeric_limits<float>::quiet_NaN();
        float known_errors = std::numeric_limits<float>::quiet_NaN();
    };

    /*! Takes the next segment.
     * \param samples atsc::segment; one that is not usable (all_usable()) counts as zeros and is
     * not learnt from
     * \param follows whether it comes directly after the previous one
     * \param levels room for a segment: the equalized previous one
     * \return whether `levels` was written: the previous one is a data segment after the start */
    bool take(const float* samples, segment_kind kind, bool follows, float* levels);

    //! Another stream begins. The taps stay.
    void start() { d_pending = d_has_past = false; }

    const status_type& status() const { return d_status; }
    //! The taps, that of the earliest sample first.
    std::vector<float> taps() const;

private:
    struct memory {
        std::size_t symbols;
        float keep;              // factor of the sums, per block
        std::size_t every;       // blocks from one solution to the next
        std::size_t first, last; // range of its taps
        normal_equations sums;
        aligned_floats taps;
        aligned_floats output;
        float score = 0; // mean squared distance of the output from the target
    };

    void acquire();
    void follow(std::size_t first, float* levels);
    void aim(const float* output, std::size_t first, float* levels, bool learns);
    void approach(const memory& of,
                  const normal_equations& sums,
                  float part,
                  int steps,
                  float* taps);
    float error_of(const float* taps, float* wrong = nullptr);
    std::size_t known() const;
    const float* known_levels() const;

    const std::size_t d_past, d_taps;
    const std::array<float, atsc::field_sync> d_field1, d_field2;
    linear_filter d_filter;
    least_squares d_solver;
    normal_equations d_sums, d_trial; // of a block; of a block and a memory
    std::vector<memory> d_memories;
    std::size_t d_used = 0;
    aligned_floats d_samples; // past, the pending segment, and the latest one
    aligned_floats d_output, d_wanted, d_gradient, d_fresh;
    level_model d_model;
    segment_kind d_kind = segment_kind::data;
    bool d_pending = false, d_has_past = false, d_usable = true;
    status_type d_status;
};

} // namespace gr::adann::core
