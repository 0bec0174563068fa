/* Frames of known symbols in random ones, decided wrongly in part.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/known_frame.h"

#include "core/signal/known_symbols.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <random>
#include <stdexcept>
#include <string>

using namespace gr::adann;
using namespace gr::adann::core;
namespace data = boost::unit_test::data;
using labels = std::vector<std::uint8_t>;

namespace {

const constellation qpsk("qpsk");

// Random decisions that have the frame at a position, rotated, and some labels of anything.
labels decisions(const labels& frame, std::size_t position, std::size_t n, double wrong)
{
    std::mt19937 random(7);
    std::uniform_real_distribution<> chance;
    labels found(n);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t place = (i + frame.size() - position) % frame.size();
        const bool random_one = frame[place] == not_known || chance(random) < wrong;
        found[i] = random_one ? static_cast<std::uint8_t>(random() % 4)
                              : qpsk.symmetries()[1][frame[place]];
    }
    return found;
}

labels pilots(std::size_t n)
{
    std::mt19937 random(3);
    labels drawn(n);
    for (auto& label : drawn)
        label = static_cast<std::uint8_t>(random() % 4);
    return drawn;
}

void push(known_frame& to, const labels& decided, std::size_t from, std::size_t end)
{
    while (from < end) {
        const std::size_t n = std::min(end - from, to.left());
        to.take(&decided[from], n);
        from += n;
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(known_frames)

BOOST_AUTO_TEST_CASE(patterns_become_one_frame)
{
    const labels expected{ 1, 255, 2, 3, 1, 255, 255, 3 };
    BOOST_TEST(frame_of({ { { 3, 1 }, 4, 3 }, { { 2 }, 8, 2 } }, 4) == expected,
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_by_name)
{
    const std::pair<std::vector<known_pattern>, const char*> wrong[] = {
        { { { { 0, 1, 2 }, 2, 0 } }, "number of labels is 3, allowed: 1 to 2" },
        { { { { 4 }, 8, 0 } }, "label is 4, allowed: 0 to 3" },
        { { { { 1 }, 8, 8 } }, "offset is 8, allowed: 0 to 7" },
        { { { { 1 }, 8, 0 }, { { 1 }, 3, 0 } }, "period is 3" },
        { { { { 1 }, 8, 0 }, { { 2 }, 4, 0 } }, "two labels for symbol 0" },
        { { { { 255 }, 8, 0 } }, "all 255" },
    };
    for (const auto& [patterns, message] : wrong)
        BOOST_CHECK_EXCEPTION(frame_of(patterns, 4),
                              std::invalid_argument,
                              [message = message](const auto& e) {
                                  return std::string(e.what()).find(message) !=
                                         std::string::npos;
                              });
}

// Each within the frames that ln T + 16 needs of pilots of which one in five is anything.
BOOST_DATA_TEST_CASE(a_rotated_frame_is_found,
                     data::make({ 16, 36, 15, 10 }) ^ data::make({ 64, 1476, 45, 255 }) ^
                         data::make({ 4, 2, 4, 6 }),
                     known,
                     period,
                     frames)
{
    const labels frame = frame_of({ { pilots(known), period, 5 } }, 4);
    const std::size_t position = period / 3;
    const labels decided = decisions(frame, position, period * frames, 0.2);
    known_frame finder(qpsk, frame);
    push(finder, decided, 0, decided.size());
    BOOST_REQUIRE(finder.position().has_value());
    BOOST_TEST(*finder.position() == position);
    const std::uint8_t* const told = finder.next();
    for (std::size_t i = 0; i < finder.left(); ++i)
        BOOST_TEST(told[i] == frame[(i + period - position) % period]);
}

BOOST_AUTO_TEST_CASE(random_data_has_no_frame_and_a_lost_one_is_searched_for_again)
{
    const labels frame = frame_of({ { pilots(16), 64, 0 } }, 4);
    const labels nothing = decisions(labels(64, not_known), 0, 1 << 16, 0);
    known_frame finder(qpsk, frame);
    for (std::size_t from = 0; from < nothing.size(); from += 64) {
        push(finder, nothing, from, from + 64);
        BOOST_REQUIRE(!finder.position());
    }
    push(finder, decisions(frame, 9, 1024, 0), 0, 1024);
    BOOST_TEST(finder.position().value() == 9u);
    push(finder, decisions(frame, 20, 2048, 0), 0, 2048);
    BOOST_TEST(finder.position().value() == 20u);
}

BOOST_AUTO_TEST_SUITE_END()
