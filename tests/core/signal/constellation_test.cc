/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/constellation.h"

#include <boost/test/unit_test.hpp>

using namespace gr::adann::core;

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

BOOST_AUTO_TEST_CASE(nearest_neighbours_differ_in_one_bit_and_symmetries_keep_distances)
{
    for (const auto& name : constellation::names()) {
        BOOST_TEST_CONTEXT(name)
        {
            const constellation c(name);
            BOOST_TEST(c.size() == 1u << c.bits_per_symbol());
            for (std::size_t a = 0; a < c.size(); ++a)
                for (std::size_t b = 0; b < c.size(); ++b) {
                    const float distance = std::abs(c.points()[a] - c.points()[b]);
                    if (std::abs(distance - 2.0f) < 1e-6f)
                        BOOST_TEST(__builtin_popcount(a ^ b) == 1);
                    for (const auto& s : c.symmetries())
                        BOOST_TEST(std::abs(distance - std::abs(c.points()[s[a]] -
                                                                c.points()[s[b]])) <
                                   1e-6f);
                }
            for (std::size_t l = 0; l < c.size(); ++l)
                BOOST_TEST(c.symmetries()[0][l] == l);
        }
    }
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_refused_with_the_allowed_ones)
{
    BOOST_CHECK_EXCEPTION(
        constellation("pam5"), std::invalid_argument, [](const auto& e) {
            const std::string what = e.what();
            return what.find("pam5") != what.npos && what.find("16qam") != what.npos;
        });
}

BOOST_AUTO_TEST_SUITE_END()
