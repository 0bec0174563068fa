/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/named_constellations.h"

#include <cmath>

namespace gr::adann::core {

namespace {

using points = std::vector<std::complex<float>>;

// Level of a Gray label: the position p with p ^ (p >> 1) == label, spread to -(m-1) ...
// m-1.
float pam_level(unsigned label, unsigned bits)
{
    unsigned position = label;
    for (unsigned shift = 1; shift < bits; shift <<= 1)
        position ^= position >> shift;
    return 2.0f * static_cast<float>(position) - static_cast<float>((1u << bits) - 1);
}

points pam(unsigned bits)
{
    points all;
    for (unsigned label = 0; label < 1u << bits; ++label)
        all.push_back(pam_level(label, bits));
    return all;
}

// Bits of I, then those of Q.
points rectangle(unsigned bits_of_i, unsigned bits_of_q)
{
    points all;
    for (unsigned i = 0; i < 1u << bits_of_i; ++i)
        for (unsigned q = 0; q < 1u << bits_of_q; ++q)
            all.emplace_back(pam_level(i, bits_of_i), pam_level(q, bits_of_q));
    return all;
}

points square(unsigned bits) { return rectangle(bits, bits); }

// The columns beyond 3/4 of the width go above and below.
points cross(unsigned bits_of_q)
{
    points all = rectangle(bits_of_q + 1, bits_of_q);
    const auto edge = static_cast<float>(3u << (bits_of_q - 1));
    for (auto& each : all)
        if (std::abs(each.real()) > edge)
            each = { std::copysign(std::abs(each.imag()), each.real()),
                     std::copysign(2 * edge - std::abs(each.real()), each.imag()) };
    return all;
}

struct polar_point {
    float radius;
    int angle; // in units of 15 degrees
};

points rings(const std::vector<polar_point>& list)
{
    points all;
    for (const auto& each : list)
        all.push_back(std::polar(each.radius, 3.14159265f / 12 * each.angle));
    return all;
}

points psk8()
{
    return rings({ { 1, 3 },
                   { 1, 0 },
                   { 1, 12 },
                   { 1, 15 },
                   { 1, 6 },
                   { 1, 21 },
                   { 1, 9 },
                   { 1, 18 } });
}

points apsk16()
{
    constexpr float r1 = 1 / 2.85f, r2 = 1;
    return rings({ { r2, 3 },
                   { r2, -3 },
                   { r2, 9 },
                   { r2, -9 },
                   { r2, 1 },
                   { r2, -1 },
                   { r2, 11 },
                   { r2, -11 },
                   { r2, 5 },
                   { r2, -5 },
                   { r2, 7 },
                   { r2, -7 },
                   { r1, 3 },
                   { r1, -3 },
                   { r1, 9 },
                   { r1, -9 } });
}

// Its outer ring has points at eighths of pi, which are no multiples of 15 degrees.
points apsk32()
{
    constexpr float r1 = 1 / 5.27f, r2 = 2.84f / 5.27f, r3 = 1;
    constexpr float sixteenth = 3.14159265f / 8;
    points all = rings({ { r2, 3 },
                         { r2, 5 },
                         { r2, -3 },
                         { r2, -5 },
                         { r2, 9 },
                         { r2, 7 },
                         { r2, -9 },
                         { r2, -7 } });
    for (const int angle : { 1, 3, -2, -4, 6, 4, -7, -5 })
        all.push_back(std::polar(r3, sixteenth * angle));
    for (const auto& each : rings({ { r2, 1 },
                                    { r1, 3 },
                                    { r2, -1 },
                                    { r1, -3 },
                                    { r2, 11 },
                                    { r1, 9 },
                                    { r2, -11 },
                                    { r1, -9 } }))
        all.push_back(each);
    for (const int angle : { 0, 2, -1, -3, 7, 5, 8, -6 })
        all.push_back(std::polar(r3, sixteenth * angle));
    return all;
}

} // namespace

const std::vector<named_constellation>& named_constellations()
{
    static const std::vector<named_constellation> all{
        { "pam2", [] { return pam(1); } },
        { "pam4", [] { return pam(2); } },
        { "pam8", [] { return pam(3); } },
        { "bpsk", [] { return pam(1); } },
        { "qpsk", [] { return square(1); } },
        { "oqpsk", [] { return square(1); } },
        { "8psk", psk8 },
        { "16qam", [] { return square(2); } },
        { "32qam", [] { return cross(2); } },
        { "64qam", [] { return square(3); } },
        { "128qam", [] { return cross(3); } },
        { "256qam", [] { return square(4); } },
        { "16apsk", apsk16 },
        { "32apsk", apsk32 },
    };
    return all;
}

} // namespace gr::adann::core
