/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/constellation.h"

#include <map>
#include <stdexcept>

namespace gr::adann::core {

namespace {

struct alphabet {
    unsigned bits_per_dimension;
    bool complex;
};

const std::map<std::string, alphabet>& alphabets()
{
    static const std::map<std::string, alphabet> known{
        { "pam2", { 1, false } }, { "pam4", { 2, false } },  { "pam8", { 3, false } },
        { "qpsk", { 1, true } },  { "16qam", { 2, true } }, { "64qam", { 3, true } },
    };
    return known;
}

std::string joined(const std::vector<std::string>& words)
{
    std::string text;
    for (const auto& word : words)
        text += (text.empty() ? "" : ", ") + word;
    return text;
}

// Level of a Gray label: the position p with p ^ (p >> 1) == label, spread to -(m-1) ... m-1.
float pam_level(unsigned label, unsigned bits)
{
    unsigned position = label;
    for (unsigned shift = 1; shift < bits; shift <<= 1)
        position ^= position >> shift;
    return 2.0f * static_cast<float>(position) - static_cast<float>((1u << bits) - 1);
}

std::uint8_t label_of(const std::vector<std::complex<float>>& points, std::complex<float> point)
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
    const auto found = alphabets().find(name);
    if (found == alphabets().end())
        throw std::invalid_argument("constellation is '" + name + "', allowed: " +
                                    joined(names()));
    const auto [bits, complex] = found->second;
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

} // namespace gr::adann::core
