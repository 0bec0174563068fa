/* -*- c++ -*- */
/*
 * Numbers too small for a full mantissa, taken as zero.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

namespace gr::adann::core {

/*! While one lives, this thread's float operations read and write denormal numbers as
 * zero. Most gradients of a confident network are denormal, and x86 processors take some
 * hundred cycles for each such operation. Does nothing on other machines. */
class flush_denormals
{
#ifdef __SSE2__
public:
    flush_denormals() : d_before(__builtin_ia32_stmxcsr())
    {
        constexpr unsigned flush_to_zero = 1u << 15, denormals_are_zero = 1u << 6;
        __builtin_ia32_ldmxcsr(d_before | flush_to_zero | denormals_are_zero);
    }
    ~flush_denormals() { __builtin_ia32_ldmxcsr(d_before); }
    flush_denormals(const flush_denormals&) = delete;
    flush_denormals& operator=(const flush_denormals&) = delete;

private:
    const unsigned d_before;
#endif
};

} // namespace gr::adann::core
