/* -*- c++ -*- */
/*
 * The discrete Fourier transform.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

//! Of as many samples as a power of two, forwards: X(k) = Σ x(n) exp(-2πi kn / size).
class fourier_transform
{
public:
    //! \param size a power of two, 2 at least
    explicit fourier_transform(std::size_t size);

    std::size_t size() const { return 2 * d_turns.size(); }
    //! In place. \param samples size() of them
    void run(std::complex<float>* samples) const;

private:
    std::vector<std::complex<float>> d_turns; // exp(-2πi k / size) of the first half
};

} // namespace gr::adann::core
