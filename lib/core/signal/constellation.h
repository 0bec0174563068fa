/* -*- c++ -*- */
/*
 * The symbol alphabets: points in label order, and the structure that follows from them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gr::adann::core {

/*! Parts of a label that scrambled data makes uniform and independent of each other, so
 * that patterns of symbols can be counted by them.
 *
 * Up to 8 points: the label itself. More points with 4 or 8 levels in either dimension
 * (16QAM, 64QAM): the level of I and that of Q. Other constellations (16APSK, 32QAM,
 * 256QAM): none, for their patterns are too many to count, and I and Q depend on each
 * other. They are left out of what counts patterns then. */
struct label_parts {
    std::size_t count = 0;  //!< 0 to 2
    std::size_t values = 1; //!< of each part: 2, 4 or 8
    //! of[p][label]: part p of a label, 0 … values - 1
    std::array<std::array<std::uint8_t, 256>, 2> of{};
};

//! Angle of the k-th of the `order` rotations of a constellation onto itself, radians.
inline double symmetry_angle(std::size_t order, std::size_t k = 1)
{
    return 2 * M_PI * static_cast<double>(k) / static_cast<double>(order);
}

/*! Any 2, 4, 8 … 256 points in label order.
 *
 * Points with a mean, such as those of on-off keying, [0, 1], are centred: samples have
 * zero mean, as a normalizer or an AC-coupled receiver has them.
 *
 * As in GNU Radio, a label *is* its packed bits, most significant first, and the order of
 * the points carries the bit mapping. The named ones are Gray-coded: `pam4` is 0→-3,
 * 1→-1, 3→+1, 2→+3. A square QAM label holds the bits of I and then those of Q, each
 * coded as a PAM label. Neighbouring levels of PAM and QAM differ by 2.
 *
 * Everything else about a constellation is found from its points, never from their
 * number.
 */
class constellation
{
public:
    /*! \param text one of names(), or the points as JSON: [[re, im], ...] in label order
     * \throws std::invalid_argument for any other */
    explicit constellation(const std::string& text);
    /*! \throws std::invalid_argument unless they are 2, 4, 8 … 256 finite points, each
     * at another place */
    explicit constellation(std::vector<std::complex<float>> points);

    static const std::vector<std::string>& names();

    //! For people: of a named one its name, of any other "16 given points".
    const std::string& name() const { return d_name; }
    //! What the same constellation can be made from again: a name or the points as JSON.
    std::string text() const;

    std::size_t size() const { return d_points.size(); } //!< M
    unsigned bits_per_symbol() const { return d_bits; }  //!< log2 M
    //! Whether a point has an imaginary part.
    bool is_complex() const { return d_complex; }
    //! Whether Q is sent half a symbol after I, as "oqpsk" has it.
    bool is_offset() const { return d_named && d_name == "oqpsk"; }
    //! M points, centred; point l belongs to label l.
    const std::vector<std::complex<float>>& points() const { return d_points; }
    float power() const; //!< mean |point|²
    //! The points of unit power.
    std::vector<std::complex<float>> unit_points() const;
    //! The same as they were given, with their mean.
    const std::vector<std::complex<float>>& given_points() const { return d_given; }

    //! 1 for real points, 2 for complex ones: I and Q.
    std::size_t dimensions() const { return d_complex ? 2 : 1; }
    //! How many different values the points have in dimension 0 (I) or 1 (Q).
    std::size_t levels(std::size_t dimension) const { return d_levels[dimension]; }
    //! Number of a label's value there; the values are numbered as labels 0, 1, 2 …
    //! first show them.
    std::size_t level(std::size_t label, std::size_t dimension) const
    {
        return d_level[dimension][label];
    }
    //! Whether every level of I occurs with every level of Q: PAM, rectangular QAM.
    bool is_product() const { return d_levels[0] * d_levels[1] == size(); }
    //! Whether a sign decides each dimension: two points, or four complex ones.
    bool is_binary() const { return size() == 2 || (d_complex && size() == 4); }
    label_parts parts() const;

    /*! Label permutations under which the received signal is the same: the rotations
     * about the points' mean, identity first, by increasing angle. For PAM identity and
     * inversion, for QAM 0°, 90°, 180°, 270°. Entry [s][l] is the label of the point of l
     * after symmetry s. */
    const std::vector<std::vector<std::uint8_t>>& symmetries() const
    {
        return d_symmetries;
    }

    //! The same of a signal that is mirrored (I and Q exchanged, or one of them inverted),
    //! then rotated; without those that a rotation alone gives.
    const std::vector<std::vector<std::uint8_t>>& reflections() const
    {
        return d_reflections;
    }

    static constexpr std::size_t most_points = 256; //!< as labels are bytes
    static constexpr std::size_t most_neighbours =
        6; //!< as many points lie around one at the same distance
    //! Labels of the points that one may be taken for with no other point on the way.
    const std::vector<std::uint8_t>& neighbours(std::size_t label) const
    {
        return d_neighbours[label];
    }
    //! In how many bits a label differs from its nearest neighbours on average: 1 for Gray codes.
    double bits_per_error() const;

    //! Half the smallest distance of two points, in units of the points' deviation from
    //! their mean: of 1 for a signal of zero mean and unit power.
    float half_distance() const;
    //! Mean square distance from the nearest point of points that are rotated by any angle, in the same units squared:
    //! the residual of decisions without the carrier. It is little for PSK, as only phases are wrong.
    float rotating_residual() const;

    //! Posterior mean of a symbol: the points weighted with its M posteriors.
    std::complex<float> mean(const float* posteriors) const;

private:
    void find_structure();
    void find_levels(std::size_t dimension);
    void find_symmetries();

    std::string d_name;
    bool d_named = false;
    unsigned d_bits = 0;
    bool d_complex = false;
    std::vector<std::complex<float>> d_points, d_given;
    float d_distance = 0; // smallest of two points
    std::array<std::size_t, 2> d_levels{};
    std::array<std::array<std::uint8_t, most_points>, 2> d_level{};
    std::vector<std::vector<std::uint8_t>> d_symmetries, d_reflections;
    std::vector<std::vector<std::uint8_t>> d_neighbours;
};

} // namespace gr::adann::core
