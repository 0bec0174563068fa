/* -*- c++ -*- */
/*
 * The symbol alphabets: points in label order, and the symmetries a receiver cannot see.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

namespace gr::adann::core {

/*! A PAM or square QAM alphabet whose labels are Gray-coded bits.
 *
 * As in GNU Radio, a label *is* its packed bits, most significant first, and the order of
 * the points carries the Gray code: `pam4` is 0→-3, 1→-1, 3→+1, 2→+3. A square QAM label
 * holds the bits of I and then those of Q, each coded as a PAM label. Neighbouring levels
 * are 2 apart.
 */
class constellation
{
public:
    /*! \param name one of names(). \throws std::invalid_argument for any other. */
    explicit constellation(const std::string& name);

    //! pam2, pam4, pam8, qpsk, 16qam, 64qam
    static const std::vector<std::string>& names();

    const std::string& name() const { return d_name; }
    std::size_t size() const { return d_points.size(); } //!< M
    unsigned bits_per_symbol() const { return d_bits; }
    bool is_complex() const { return d_complex; }
    //! Of a dimension: 2 to 8.
    unsigned levels() const { return 1u << (d_complex ? d_bits / 2 : d_bits); }

    //! M points; point l belongs to label l.
    const std::vector<std::complex<float>>& points() const { return d_points; }

    /*! Label permutations under which the received signal looks the same: identity first,
     * then inversion (PAM) or the rotations by 90°, 180° and 270° (QAM). Entry [s][l] is
     * the label of the point of l after symmetry s. */
    const std::vector<std::vector<std::uint8_t>>& symmetries() const
    {
        return d_symmetries;
    }

    //! Half the distance of two neighbours if the points have unit power.
    float half_distance() const;

    //! Posterior mean of a symbol: the points weighted with its M posteriors.
    std::complex<float> mean(const float* posteriors) const;

private:
    std::string d_name;
    unsigned d_bits;
    bool d_complex;
    std::vector<std::complex<float>> d_points;
    std::vector<std::vector<std::uint8_t>> d_symmetries;
};

} // namespace gr::adann::core
