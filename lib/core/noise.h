/* -*- c++ -*- */
/*
 * Gaussian noise for augmentation and for the adversarial direction: seeded,
 * reproducible.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gr::adann::core {

/*! Independent standard normal numbers: xoshiro128++ (Blackman and Vigna, 2019) in as
 * many interleaved streams as a vector has lanes, and the Box–Muller transform.
 *
 * The radius comes from 32 random bits, so no number is beyond ±6.77. Two generators with
 * different seeds are independent for any practical length. The same seed gives the same
 * numbers on one machine; another C library may round the last bit differently.
 */
class gaussian_noise
{
public:
    static constexpr std::size_t lanes = 16;

    explicit gaussian_noise(std::uint64_t seed);

    //! Writes n standard normal numbers. What is left of the last 2 × lanes is thrown
    //! away.
    void fill(float* out, std::size_t n);

private:
    void draw_pairs(float* first, float* second);

    std::array<std::array<std::uint32_t, lanes>, 4> d_state;
};

} // namespace gr::adann::core
