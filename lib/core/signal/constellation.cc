/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/constellation.h"

#include "core/common/checks.h"

#include <cmath>
#include <numeric>

namespace gr::adann::core {

namespace {

struct alphabet {
    unsigned bits_per_dimension;
    bool complex;
};

// In the order of constellation::names().
constexpr alphabet alphabets[] = { { 1, false }, { 2, false }, { 3, false },
                                   { 1, true },  { 2, true },  { 3, true } };

// Level of a Gray label: the position p with p ^ (p >> 1) == label, spread to -(m-1) ...
// m-1.
float pam_level(unsigned label, unsigned bits)
{
    unsigned position = label;
    for (unsigned shift = 1; shift < bits; shift <<= 1)
        position ^= position >> shift;
    return 2.0f * static_cast<float>(position) - static_cast<float>((1u << bits) - 1);
}

std::uint8_t label_of(const std::vector<std::complex<float>>& points,
                      std::complex<float> point)
{
    for (std::size_t l = 0; l < points.size(); ++l)
        if (std::abs(points[l] - point) < 0.5f)
            return static_cast<std::uint8_t>(l);
    throw std::logic_error("constellation: not symmetric");
}

} // namespace

const std::vector<std::string>& constellation::names()
{
    static const std::vector<std::string> ordered{ "pam2", "pam4",  "pam8",
                                                   "qpsk", "16qam", "64qam" };
    return ordered;
}

constellation::constellation(const std::string& name) : d_name(name)
{
    const auto [bits, complex] = alphabets[choice("constellation", name, names())];
    d_complex = complex;
    d_bits = complex ? 2 * bits : bits;
    const unsigned mask = (1u << bits) - 1;
    for (unsigned label = 0; label < 1u << d_bits; ++label)
        d_points.push_back(complex ? std::complex<float>(pam_level(label >> bits, bits),
                                                         pam_level(label & mask, bits))
                                   : std::complex<float>(pam_level(label, bits), 0.0f));

    const std::complex<float> turn = complex ? std::complex<float>(0, 1) : -1.0f;
    std::complex<float> rotation = 1.0f;
    for (int s = 0; s < (complex ? 4 : 2); ++s, rotation *= turn) {
        std::vector<std::uint8_t> permutation;
        for (const auto& point : d_points)
            permutation.push_back(label_of(d_points, point * rotation));
        d_symmetries.push_back(std::move(permutation));
    }
}

float constellation::half_distance() const
{
    float power = 0;
    for (const auto& point : d_points)
        power += std::norm(point) / static_cast<float>(d_points.size());
    return 1 / std::sqrt(power);
}

std::complex<float> constellation::mean(const float* posteriors) const
{
    return std::inner_product(
        d_points.begin(), d_points.end(), posteriors, std::complex<float>());
}

} // namespace gr::adann::core
