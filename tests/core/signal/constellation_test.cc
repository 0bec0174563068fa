/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/constellation.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

using namespace gr::adann::core;

namespace {

std::vector<std::complex<float>> ring(unsigned points, float radius, float first)
{
    std::vector<std::complex<float>> all;
    for (unsigned l = 0; l < points; ++l)
        all.push_back(std::polar(radius, first + 2 * 3.14159265f * l / points));
    return all;
}

void refused(const std::string& text, const std::string& why)
{
    BOOST_TEST_CONTEXT(text)
    BOOST_CHECK_EXCEPTION(constellation{ text }, std::invalid_argument, [&](auto& e) {
        return std::string(e.what()).find(why) != std::string::npos;
    });
}

} // namespace

BOOST_AUTO_TEST_SUITE(constellations)

BOOST_AUTO_TEST_CASE(pam4_has_the_documented_gray_code)
{
    const constellation pam4("pam4");
    const float levels[] = { -3, -1, 3, 1 };
    for (std::size_t l = 0; l < 4; ++l)
        BOOST_TEST(pam4.points()[l] == levels[l]);
    const std::vector<std::uint8_t> inverted{ 2, 3, 0, 1 };
    BOOST_TEST(pam4.symmetries().at(1) == inverted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(grids_and_rings_are_gray_coded_and_symmetries_keep_distances)
{
    for (const auto& name : constellation::names()) {
        BOOST_TEST_CONTEXT(name)
        {
            const constellation c(name);
            BOOST_TEST(c.size() == 1u << c.bits_per_symbol());
            auto maps = c.symmetries();
            for (const auto& each : c.reflections())
                maps.push_back(each);
            for (std::size_t a = 0; a < c.size(); ++a)
                for (std::size_t b = 0; b < c.size(); ++b) {
                    const float distance = std::abs(c.points()[a] - c.points()[b]);
                    for (const auto& s : maps)
                        BOOST_TEST(std::abs(distance - std::abs(c.points()[s[a]] -
                                                                c.points()[s[b]])) <
                                   1e-5f);
                }
            for (std::size_t l = 0; l < c.size(); ++l)
                BOOST_TEST(c.symmetries()[0][l] == l);
            const std::size_t order = c.symmetries().size();
            for (std::size_t k = 0; k < order; ++k)
                for (std::size_t l = 0; l < c.size(); ++l) {
                    const std::complex<float> rotated =
                        c.points()[l] *
                        std::complex<float>(std::polar(1.0, symmetry_angle(order, k)));
                    BOOST_TEST(std::abs(rotated - c.points()[c.symmetries()[k][l]]) <
                               1e-4f);
                }
            // A cross has no Gray code (Smith 1975), nor has DVB-S2's 32APSK everywhere.
            const bool gray = name != "32qam" && name != "128qam" && name != "32apsk";
            BOOST_TEST((c.bits_per_error() == 1.0) == gray);
            BOOST_TEST(c.bits_per_error() < 1.25);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_structure_of_a_named_one_is_its_grid)
{
    const struct {
        const char* name;
        std::size_t i, q, parts;
        bool binary;
    } known[] = { { "pam2", 2, 1, 1, true },   { "pam4", 4, 1, 1, false },
                  { "pam8", 8, 1, 1, false },  { "qpsk", 2, 2, 1, true },
                  { "16qam", 4, 4, 2, false }, { "64qam", 8, 8, 2, false } };
    for (const auto& each : known)
        BOOST_TEST_CONTEXT(each.name)
        {
            const constellation c(each.name);
            BOOST_TEST(c.dimensions() == (each.q == 1 ? 1u : 2u));
            BOOST_TEST(c.levels(0) == each.i);
            BOOST_TEST(c.levels(1) == each.q);
            BOOST_TEST(c.is_product());
            BOOST_TEST(c.is_binary() == each.binary);
            BOOST_TEST(c.symmetries().size() == (each.q == 1 ? 2u : 4u));
            BOOST_TEST(c.bits_per_error() == 1.0);
            BOOST_TEST(c.text() == each.name);
            BOOST_TEST(c.parts().count == each.parts);
            BOOST_TEST(std::pow(c.parts().values, each.parts) == c.size());
            for (std::size_t l = 0; l < c.size(); ++l) {
                // A label is the bits of I and then those of Q.
                BOOST_TEST(c.level(l, 0) == l / each.q);
                BOOST_TEST(c.level(l, 1) == l % each.q);
            }
        }
}

BOOST_AUTO_TEST_CASE(points_with_a_mean_are_centred)
{
    const constellation ook("[[0, 0], [1, 0]]"),
        offset("[[1, 1], [3, 1], [1, 3], [3, 3]]");
    BOOST_TEST(ook.points()[0] == -0.5f);
    BOOST_TEST(ook.points()[1] == 0.5f);
    BOOST_TEST(!ook.is_complex());
    BOOST_TEST(offset.points()[0] == std::complex<float>(-1, -1));
    BOOST_TEST(constellation("[[1, 5], [3, 5]]").dimensions() == 1u); // on a line
    // What was given is kept.
    BOOST_TEST(ook.given_points()[1] == 1.0f);
    BOOST_TEST(constellation(ook.text()).given_points() == ook.given_points());
    // Rounding, as of GNU Radio's own points, is no mean.
    const auto psk = ring(8, 1, 0.1f);
    BOOST_TEST(constellation(psk).points() == psk);
}

BOOST_AUTO_TEST_CASE(crosses_are_squares_without_their_corners)
{
    for (const auto& [name, width, corner] :
         { std::tuple{ "32qam", 6u, 1u }, std::tuple{ "128qam", 12u, 2u } })
        BOOST_TEST_CONTEXT(name)
        {
            const constellation c(name);
            BOOST_TEST(c.levels(0) == width);
            BOOST_TEST(c.levels(1) == width);
            BOOST_TEST(c.size() == width * width - 4 * corner * corner);
            BOOST_TEST(!c.is_product());
            BOOST_TEST(c.symmetries().size() == 4u);
            for (const auto& each : c.points())
                BOOST_TEST(std::min(std::abs(each.real()), std::abs(each.imag())) <
                           width - 2 * corner);
            BOOST_TEST(c.half_distance() > constellation("64qam").half_distance() * 0.5f);
        }
}

BOOST_AUTO_TEST_CASE(labels_in_any_order_keep_the_structure)
{
    std::mt19937 random(1);
    auto points = constellation("16qam").points();
    std::shuffle(points.begin(), points.end(), random);
    for (auto& each : points)
        each *= 0.31f; // any scale
    const constellation c(points);
    BOOST_TEST(c.is_product());
    BOOST_TEST(c.half_distance() == constellation("16qam").half_distance(),
               boost::test_tools::tolerance(1e-6f));
    BOOST_TEST(c.symmetries().size() == 4u);
    BOOST_TEST(c.bits_per_error() > 1.2); // of Gray codes 1, of random ones about 2
    for (std::size_t a = 0; a < 16; ++a) {
        // Each turned by 90 degrees.
        BOOST_TEST(std::abs(points[c.symmetries()[1][a]] -
                            points[a] * std::complex<float>(0, 1)) < 1e-5f);
        for (std::size_t b = 0; b < 16; ++b) {
            const bool same_i = std::abs((points[a] - points[b]).real()) < 0.1f;
            const bool same_q = std::abs((points[a] - points[b]).imag()) < 0.1f;
            BOOST_TEST((c.parts().of[0][a] == c.parts().of[0][b]) == same_i);
            BOOST_TEST((c.parts().of[1][a] == c.parts().of[1][b]) == same_q);
        }
    }
}

BOOST_AUTO_TEST_CASE(rings_have_the_symmetries_of_their_points)
{
    const constellation psk8(ring(8, 2.0f, 0.39f));
    BOOST_TEST(!psk8.is_product());
    BOOST_TEST(psk8.symmetries().size() == 8u);
    BOOST_TEST(psk8.parts().count == 1u);
    BOOST_TEST(psk8.half_distance() == std::sin(3.14159265f / 8),
               boost::test_tools::tolerance(1e-5f));
    for (std::size_t l = 0; l < 8; ++l)
        for (std::size_t s = 0; s < 8; ++s)
            BOOST_TEST(psk8.symmetries()[s][l] == (l + s) % 8);
    const std::vector<std::uint8_t> next{ 1, 7 };
    BOOST_TEST(psk8.neighbours(0) == next, boost::test_tools::per_element());

    // 4 + 12: what turns both rings.
    auto apsk = ring(4, 1.0f, 0.785398f);
    for (const auto& outer : ring(12, 2.7f, 0.261799f))
        apsk.push_back(outer);
    const constellation apsk16(apsk);
    BOOST_TEST(apsk16.symmetries().size() == 4u);
    // Of an inner point: the next ones of its ring, and the outer ones before it; of an outer one before it:
    // its ring and that inner one.
    const std::vector<std::uint8_t> inner{ 1, 3, 4, 5, 6 }, outer{ 0, 4, 6 };
    BOOST_TEST(apsk16.neighbours(0) == inner, boost::test_tools::per_element());
    BOOST_TEST(apsk16.neighbours(5) == outer, boost::test_tools::per_element());
    BOOST_TEST(apsk16.parts().count == 0u);

    // A lone point off the axes: nothing but the identity.
    const constellation lopsided("[[0,0],[1,0],[0,1],[5,5]]");
    BOOST_TEST(lopsided.symmetries().size() == 1u);
    // On and off is inverted about its mean.
    BOOST_TEST(constellation("[[0,0],[1,0]]").symmetries().size() == 2u);
    BOOST_TEST(constellation("[[0,0],[1,0]]").half_distance() == 1.0f);
}

// Of M points on a circle all are within π/M of the nearest one: 2 - 2 sin(π/M) M/π.
BOOST_AUTO_TEST_CASE(rotating_points_leave_what_their_phases_are_wrong_by)
{
    for (const auto& [name, points] :
         { std::pair{ "pam2", 2 }, { "qpsk", 4 }, { "8psk", 8 } })
        BOOST_TEST(constellation(name).rotating_residual() ==
                       2 - 2 * std::sin(M_PI / points) * points / M_PI,
                   boost::test_tools::tolerance(1e-2));
    // By brute force over 10,000 random angles, 0.0633; deviation of the mean below 0.0003.
    BOOST_TEST(std::abs(constellation("16qam").rotating_residual() - 0.0633f) < 0.0015f);
}

BOOST_AUTO_TEST_CASE(the_text_of_given_points_makes_the_same_ones)
{
    const constellation c(ring(16, 0.7f, 0.1f));
    BOOST_TEST(c.name() == "16 given points");
    BOOST_TEST((constellation(c.text()).points() == c.points()));
}

BOOST_AUTO_TEST_CASE(what_is_no_constellation_is_refused_by_name)
{
    refused("pam5", "constellation is 'pam5', allowed: pam2");
    refused("[[0,1],[1,0],[1,1]]", "3 points, allowed: a power of two from 2 to 256");
    refused("[[0,1]]", "1 points");
    refused("[[0,1],[0,1]]", "label 0 at the point of another");
    refused("[[0,1],[0,1e39]]", "not finite");
    refused("[[0,1],2]", "constellation is 2, allowed: a JSON list of [re, im]");
    refused("[[0,1]", "no list");
}

BOOST_AUTO_TEST_SUITE_END()
