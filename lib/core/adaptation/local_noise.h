/* -*- c++ -*- */
/*
 * Noise whose power changes within the mean's averaging time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/running_mean.h"

#include <algorithm>

namespace gr::adann::core {

/*! The power of the noise of a block of symbols, over its mean: a Wiener estimate from the powers that the block, the one
 * before and the one after show. Blocks of noise of constant power show another one by chance, and that counts for nothing;
 * bursts, fades and interference that comes and goes scatter more, and those that last are alike in neighbouring blocks.
 * Variance and covariances are learnt.
 *
 * Source: S. Kay, Fundamentals of Statistical Signal Processing: Estimation Theory, 1993, chapter 12. */
class local_noise
{
public:
    //! Powers shown, over the mean.
    struct shown {
        float before, now, after;
    };
    //! \param chance variance of what a block shows of noise of constant power, over its mean squared
    explicit local_noise(float chance) : d_chance(chance) { reset(); }
    //! \return the estimate, over the mean
    float find(const shown& powers) const
    {
        // Of what is shown, E[s²] = (1 + chance) E[power²].
        const float all = d_variance.mean;
        const float variance = std::max((all - d_chance) / (1 + d_chance), 0.0f);
        const float near = std::clamp(d_near.mean, 0.0f, variance);
        const float far = std::clamp(d_far.mean, 0.0f, near);
        // The normal equations: all · own + 2 near · others = variance, near · own + (all + far) · others = near.
        const float determinant = all * (all + far) - 2 * near * near;
        if (!(determinant > 0))
            return 1;
        const float own = (variance * (all + far) - 2 * near * near) / determinant;
        const float others = near * (all - variance) / determinant;
        return std::clamp(1 + own * (powers.now - 1) +
                              others * (powers.before + powers.after - 2),
                          least,
                          most);
    }
    //! Learns from a block how they scatter.
    void add(const shown& powers)
    {
        const float before = std::min(powers.before, most) - 1,
                    now = std::min(powers.now, most) - 1,
                    after = std::min(powers.after, most) - 1;
        d_variance.add(now * now, remembered);
        d_near.add(now * (before + after) / 2, remembered);
        d_far.add(before * after, remembered);
    }
    void reset()
    {
        d_variance = { d_chance, prior };
        d_near = d_far = { 0, prior };
    }

private:
    static constexpr float least = 0.25f, most = 16;
    static constexpr float remembered = 512, prior = 16; // blocks

    float d_chance;
    running_mean<float> d_variance, d_near,
        d_far; // of a block, and with others one and two from it
};

} // namespace gr::adann::core
