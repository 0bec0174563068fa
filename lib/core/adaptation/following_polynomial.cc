/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/following_polynomial.h"

#include <algorithm>

namespace gr::adann::core {

namespace {

constexpr std::size_t looked_at = 2048; // samples of a round

unsigned half_a_symbol(unsigned sps)
{
    return std::max(1u, sps / 2 / memory_polynomial::spacing(sps));
}

} // namespace

following_polynomial::following_polynomial(const expected_waveform& waveform,
                                           std::uint64_t round)
    : d_memory(waveform.polynomial().memory()),
      d_planes(waveform.is_complex() ? 2 : 1),
      d_apart(round * waveform.sps() / looked_at + 1),
      d_sums(static_cast<unsigned>(waveform.sps()),
             waveform.is_complex(),
             std::min(d_memory, half_a_symbol(static_cast<unsigned>(waveform.sps())))),
      d_affine((2 * d_sums.reach() + 1) * waveform.stride()),
      d_work(d_sums.sums().unknowns() * d_sums.sums().unknowns()),
      d_found(d_sums.sums().unknowns() * d_planes)
{
}

void following_polynomial::start_round()
{
    d_sums.sums().reset();
    d_next = 0;
}

void following_polynomial::add(const expected_waveform& now,
                               const std::uint8_t* labels,
                               const float* rest,
                               std::size_t count)
{
    if (!possible())
        return;
    const std::size_t around = d_sums.reach(), stride = now.stride();
    std::size_t i = d_next;
    for (; i < count; i += d_apart) {
        now.expect_affine(labels + i - around, 2 * around + 1, d_affine.data());
        d_sums.add(&d_affine[around * stride], rest + i * stride);
    }
    d_next = i - count;
}

bool following_polynomial::add_to(std::vector<float>& coefficients)
{
    auto& sums = d_sums.sums();
    const double explained = sums.solve_all(d_work, d_found);
    const auto unknowns = static_cast<double>(sums.unknowns());
    const auto free = static_cast<double>(sums.observations()) - unknowns;
    const double chance = unknowns * (sums.squares() - explained) / std::max(free, 1.0);
    const double part = 1 - chance / explained;
    if (!(explained > 0 && part > 0 && free > 0))
        return false;
    remove_linear_part();
    const std::size_t taps = 2 * d_sums.memory() + 1, all = 2 * d_memory + 1;
    const std::size_t row = coefficients.size() / d_planes;
    for (std::size_t k = 1; k < sums.unknowns(); ++k) {
        const std::size_t which = (k - 1) / taps, tap = (k - 1) % taps;
        for (std::size_t plane = 0; plane < d_planes; ++plane)
            coefficients[plane * row + 1 + which * all + d_memory - d_sums.memory() +
                         tap] += static_cast<float>(part * d_found[k * d_planes + plane]);
    }
    return true;
}

// I and Q through filters a + jb and c + jd are equivalent to x and its conjugate through one each.
void following_polynomial::remove_linear_part()
{
    const std::size_t taps = 2 * d_sums.memory() + 1;
    for (std::size_t tap = 0; tap < taps; ++tap) {
        double* const of_i = &d_found[(1 + tap) * d_planes];
        if (d_planes == 1) {
            of_i[0] = 0;
            continue;
        }
        double* const of_q = of_i + taps * d_planes;
        const double real = (of_i[0] - of_q[1]) / 2, imaginary = (of_i[1] + of_q[0]) / 2;
        of_i[0] = real; // of the conjugate
        of_i[1] = imaginary;
        of_q[0] = imaginary;
        of_q[1] = -real;
    }
}

void following_polynomial::state(archive& members)
{
    d_sums.sums().state(members);
    members("next", d_next);
}

} // namespace gr::adann::core
