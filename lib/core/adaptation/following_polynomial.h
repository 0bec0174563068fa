/* -*- c++ -*- */
/*
 * Tracks the polynomial of an expected waveform as a transmitter's nonlinearity changes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/expected_waveform.h"
#include "core/signal/polynomial_regression.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Finds by how much a waveform's polynomial has changed: least squares of the residual of some
 * symbols of a round over the polynomial's monomials, half a symbol before and after. The result
 * is shrunk in proportion to its significance. Its linear part is removed, as a filter follows
 * that; of complex samples only the conjugate's linear part, a transmitter's I/Q imbalance, stays.
 *
 * Nothing is allocated after construction. */
class following_polynomial
{
public:
    //! \param round symbols of a round
    following_polynomial(const expected_waveform& waveform, std::uint64_t round);

    bool possible() const
    {
        return d_sums.memory() > 0;
    } //!< whether there is a polynomial
    //! As following_waveform::add().
    void add(const expected_waveform& now,
             const std::uint8_t* labels,
             const float* rest,
             std::size_t count);
    //! Adds the change to memory_polynomial::coefficients(). \return whether there was any
    bool add_to(std::vector<float>& coefficients);
    void start_round();
    void state(archive& members);

private:
    void remove_linear_part();

    const unsigned d_memory;             // of the waveform's polynomial
    const std::size_t d_planes, d_apart; // symbols
    polynomial_regression d_sums;
    std::size_t d_next = 0; // symbols until the next one that is used
    std::vector<float> d_affine;
    std::vector<double> d_work, d_found;
};

} // namespace gr::adann::core
