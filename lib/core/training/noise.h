/* -*- c++ -*- */
/*
 * Gaussian noise for augmentation and for the adversarial direction: seeded,
 * reproducible.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/aligned.h"
#include "core/files/archive.h"
#include "core/simd/kernels.h"

#include <cstddef>
#include <cstdint>

namespace gr::adann::core {

//! Where a loss takes its noise from.
class noise_source
{
public:
    virtual ~noise_source() = default;
    /*! y = x + scale · n, `rows` rows as the kernels': n standard normal, a noise vector
     * for each of the symbols first_symbol and following.
     * \param use 0, 1, 2, … : which of the loss's noise vectors, in the order they are
     * needed
     * \param x null for none; may be y */
    virtual void add(unsigned use,
                     std::size_t first_symbol,
                     const float* x,
                     const std::uint32_t* row,
                     std::size_t rows,
                     float scale,
                     float* y) = 0;
};

/*! Independent standard normal numbers: xoshiro128++ (Blackman and Vigna, 2019) in 16
 * interleaved streams, seeded by SplitMix64, and the Box–Muller transform.
 *
 * The radius comes from 30 random bits, so no number is beyond ±6.56, and the angle from
 * 17. Both are computed to 3e-5 of their size, which no test of 10^8 numbers sees: their
 * moments and tails scatter more. Generators whose seeds differ by less than 2^32, and
 * the streams of one, do not overlap for any practical length. The same seed gives the
 * same numbers with the same instruction set; with another one they may differ by the
 * 3e-5.
 */
class gaussian_noise
{
public:
    explicit gaussian_noise(std::uint64_t seed,
                            const simd::kernels& kernels = simd::active());

    //! y = x + scale · the next numbers: simd::kernels::add_noise.
    void
    add(const float* x, const std::uint32_t* row, std::size_t rows, float scale, float* y)
    {
        d_kernels.add_noise(d_state, x, row, rows, scale, y);
    }

    //! Writes n of them. Unused ones of the last 128 are thrown away.
    void fill(float* out, std::size_t n);

    //! Starts over, as made with this seed.
    void seed(std::uint64_t seed);

    void state(archive& members)
    {
        members.numbers("words", d_state.words[0], { 4, simd::lanes });
    }

private:
    const simd::kernels& d_kernels;
    simd::noise_state d_state;
};

//! Numbers from a generator, in the order in which they are asked for.
class generated_noise : public noise_source
{
public:
    explicit generated_noise(std::uint64_t seed,
                             const simd::kernels& kernels = simd::active())
        : d_generator(seed, kernels)
    {
    }
    void add(unsigned,
             std::size_t,
             const float* x,
             const std::uint32_t* row,
             std::size_t rows,
             float scale,
             float* y) override
    {
        d_generator.add(x, row, rows, scale, y);
    }
    void seed(std::uint64_t seed) { d_generator.seed(seed); }
    void state(archive& members) { d_generator.state(members); }

private:
    gaussian_noise d_generator;
};

} // namespace gr::adann::core
