/* Labels of symbols, decided or known. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/symbol_labels.h"

#include <boost/test/unit_test.hpp>

using namespace gr::adann::core;

namespace {
constexpr std::size_t size = 20, classes = 4;
}

BOOST_AUTO_TEST_SUITE(labels_of_symbols)

BOOST_AUTO_TEST_CASE(known_labels_stand_whatever_is_decided)
{
    symbol_labels symbols(size, classes);
    const std::vector<std::uint8_t> decided(size, 1), again(size, 2);
    std::vector<std::uint8_t> known(size, not_known);
    known[5] = known[12] = 3;
    symbols.set(0, decided.data(), size, known.data());
    BOOST_TEST(symbols.count_unknown(0, size) == size - 2);
    symbols.replace(8, 16, again.data());
    for (std::size_t k = 0; k < size; ++k) {
        const bool is_known = k == 5 || k == 12, is_replaced = k >= 8 && k < 16;
        BOOST_TEST(symbols.is_label_known(k) == is_known);
        BOOST_TEST(*symbols.labels(k) == (is_known ? 3 : is_replaced ? 2 : 1));
        BOOST_TEST(*symbols.decided(k) == (is_replaced && !is_known ? 2 : 1));
    }
    symbols.set(5, decided.data(), 1, nullptr); // another symbol
    BOOST_TEST(!symbols.is_label_known(5));
    BOOST_TEST(*symbols.labels(5) == 1);
}

BOOST_AUTO_TEST_CASE(all_of_a_symbol_moves_together)
{
    symbol_labels symbols(size, classes);
    std::vector<std::uint8_t> decided(size), known(size, not_known);
    for (std::size_t k = 0; k < size; ++k)
        decided[k] = static_cast<std::uint8_t>(k % classes);
    known[15] = 2;
    symbols.set(0, decided.data(), size, known.data());
    *symbols.estimates(16) = 0.25f;
    symbols.decisions(16)->received = 0.5f;
    symbols.move_back(7);
    for (std::size_t k = 7; k < size; ++k)
        BOOST_TEST(*symbols.decided(k - 7) == k % classes);
    BOOST_TEST(symbols.is_label_known(8));
    BOOST_TEST(*symbols.labels(8) == 2);
    BOOST_TEST((*symbols.estimates(9) == 0.25f));
    BOOST_TEST((symbols.decisions(9)->received == 0.5f));
    BOOST_TEST(symbols.count_uncertain(0, size - 7) == 1u);
    symbols.relabel(9, decided.data(), 1); // certain
    BOOST_TEST(symbols.count_uncertain(0, size - 7) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
