/* A carrier that is known, followed through decisions. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/rotate.h"
#include "core/tracking/carrier_follower.h"
#include "tracking/links.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

namespace {

constexpr std::size_t step = carrier_follower::step, past = 1024;

// A stream that nothing but a carrier turns, decided at the nearest points.
struct turning_link {
    model receiver;
    std::shared_ptr<const expected_waveform> waveform;
    sample_history history;
    learning_target target;
    carrier_follower carrier;
    decider decides;
    prepared_network net;
    std::vector<double> phases; // of the samples
    sent_symbols sent;
    std::vector<float> samples;
    std::vector<std::uint8_t> decided;

    turning_link(const char* name,
                 unsigned sps,
                 std::size_t symbols,
                 double frequency,
                 double linewidth,
                 unsigned seed)
        : receiver(make_slicer(name, sps, 1, 0.1f)),
          waveform(std::make_shared<const expected_waveform>(*receiver.waveform)),
          history(
              receiver.window, 0, waveform->reach(), receiver.symbols.size(), past, step),
          target(waveform, receiver.symbols, 192),
          carrier(*waveform, receiver.symbols, history),
          decides(receiver.net),
          net(receiver.net, receiver.window.stride()),
          sent(name, symbols + 64, sps, seed)
    {
        std::mt19937 random(seed + 1);
        std::normal_distribution<double> walk(0, std::sqrt(whole_turn * linewidth / sps));
        double phase = 0;
        for (auto& sample : sent.samples) {
            sample *= std::complex<float>(std::polar(1.0, phase));
            phases.push_back(phase);
            phase += whole_turn * frequency / sps + walk(random);
        }
        sent.add_noise(0.01f, true, seed + 2);
        samples = sent.floats(true, receiver.window.samples_before(), 0);
    }

    // So many symbols more; then the line's view of them.
    std::optional<carrier_line::line> run(std::size_t symbols, bool settled)
    {
        std::vector<std::uint8_t> labels(step);
        for (std::size_t k = 0; k < symbols; k += step) {
            if (const std::size_t moved = history.make_room(step))
                carrier.move_back(history, moved);
            history.load({ &samples[decided.size() * receiver.window.stride()],
                           receiver.window.stride(),
                           receiver.window.dimension(),
                           step });
            const std::size_t first = history.ready();
            const std::size_t end = history.window_end(history.next() + step - 1);
            const signal_planes from = history.received(first);
            carrier.loop().prepare(first, end);
            carrier.loop().rotate_back(
                from.re, from.im, first, end - first, history.filtered(first));
            history.set_ready(end);
            const network_decider by{ decides, net };
            by(history.windows(history.next(), step), labels.data());
            carrier.note(history, history.next(), step);
            history.note(labels.data(), step);
            decided.insert(decided.end(), labels.begin(), labels.end());
            carrier.search(history, target, by, step, 0.01f);
            carrier.measure(history, target, step, true);
            carrier.settled().pass(step);
        }
        return carrier.check(history, settled);
    }
    double phase_error() const
    {
        const double now = carrier.loop().phase_at(history.sample(history.next()));
        return std::remainder(now - phases[decided.size() * receiver.sps], whole_turn);
    }
    //! \param turned symmetry by which labels are rotated
    double errors_in_latest(std::size_t n, std::size_t turned = 0) const
    {
        const auto& symmetry = receiver.symbols.symmetries()[turned];
        double wrong = 0;
        for (std::size_t k = decided.size() - n; k < decided.size(); ++k)
            wrong += decided[k] != symmetry[sent.labels[k]];
        return wrong / static_cast<double>(n);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(carrier_followers)

BOOST_DATA_TEST_CASE(the_phase_is_the_carriers,
                     data::make({ "qpsk", "16qam" }) *
                         data::make({ 1u, 2u, 4u, 8u, 16u }),
                     name,
                     sps)
{
    turning_link link(name, sps, 4096, 1e-4, 0, 3);
    for (int i = 0; i < 4; ++i)
        BOOST_TEST(!link.run(1024, true));
    BOOST_TEST(std::abs(link.carrier.loop().frequency() - 1e-4) < 1e-5);
    BOOST_TEST(std::abs(link.phase_error()) < 0.1);
    BOOST_TEST(
        std::abs(std::remainder(link.carrier.settled().phase() - link.phases[4096 * sps],
                                whole_turn)) < 0.1);
    BOOST_TEST(link.carrier.slips() == 0u);
}

BOOST_DATA_TEST_CASE(a_carrier_that_is_too_fast_is_found_by_its_line,
                     data::make({ "qpsk", "16qam" }) *
                         data::make({ 1u, 2u, 4u, 8u, 16u }) *
                         data::make({ 3e-3, -9e-3 }),
                     name,
                     sps,
                     frequency)
{
    turning_link link(name, sps, 4096, frequency, 0, 5);
    const auto line = link.run(1024 + 256, false);
    BOOST_REQUIRE(line.has_value());
    // A fifteenth of what 1280 symbols resolve; it is off by 7e-6, a third more of 16QAM at one sample a symbol.
    BOOST_TEST(std::abs(line->frequency - frequency) < 5e-5);
    link.carrier.reset();
    link.carrier.begin(link.history, *line);
    link.history.forget_labels();
    link.run(1024, true);
    // Which of the symmetries it has nothing tells yet.
    const double step_of = link.carrier.symmetry();
    BOOST_TEST(std::abs(std::remainder(link.phase_error(), step_of)) < 0.15);
    BOOST_TEST(std::abs(link.carrier.loop().frequency() - frequency) < 2e-5);
}

// The loop is led by a symmetry, behind which decisions look alike.
BOOST_DATA_TEST_CASE(a_slip_is_undone_where_the_line_predicts_the_phase,
                     data::make({ 1u, 2u, 4u, 8u, 16u }),
                     sps)
{
    turning_link link("qpsk", sps, 8192, 1e-4, 0, 7);
    for (int i = 0; i < 5; ++i)
        link.run(1024, true);
    BOOST_TEST(link.errors_in_latest(512) < 0.01);
    link.carrier.loop().turn(link.carrier.symmetry());
    link.run(1024, false);
    BOOST_TEST(link.errors_in_latest(512) > 0.9);
    BOOST_TEST(link.carrier.slips() == 1u);
    link.run(512, true);
    BOOST_TEST(link.errors_in_latest(256) < 0.01);
}

// The frequency of the stream is known, and its phase is zero: from the first symbol on no label rotates.
BOOST_DATA_TEST_CASE(a_carrier_that_is_known_is_followed_from_the_first_symbol_on,
                     data::make({ "qpsk", "16qam" }) * data::make({ 1u, 2u, 4u, 16u }) *
                         data::make({ -0.01, 3e-3 }),
                     name,
                     sps,
                     frequency)
{
    turning_link link(name, sps, 2048, frequency, 0, 15);
    link.carrier.begin(link.history, frequency, 0);
    link.run(1024, true);
    BOOST_TEST(link.errors_in_latest(1024) == 0);
    BOOST_TEST(std::abs(link.phase_error()) < 0.05);
    turning_link other(name, sps, 2048, frequency, 0, 15);
    other.run(1024, true);
    BOOST_TEST(other.errors_in_latest(1024) > 0.05);
}

// Decisions have started a symmetry aside before there is a line: it then tells the rotation of the start.
BOOST_AUTO_TEST_CASE(what_began_turned_is_undone_by_the_first_line)
{
    turning_link link("qpsk", 2, 4096, 1e-4, 0, 7);
    link.run(512, false);
    link.carrier.loop().turn(link.carrier.symmetry());
    link.carrier.settled().set(link.carrier.present(link.history, 0));
    link.run(1024, true);
    BOOST_TEST(link.errors_in_latest(512) > 0.9);
    BOOST_TEST(link.carrier.slips() == 1u);
    link.run(512, true);
    BOOST_TEST(link.errors_in_latest(256) < 0.01);
}

// Its skirt is not a line of another frequency.
BOOST_AUTO_TEST_CASE(a_line_beyond_what_is_searched_is_none)
{
    constexpr double frequency = 1e-3, width = 1.2e-4;
    const turning_link link("qpsk", 1, carrier_line::symbols, frequency, 0, 7);
    carrier_line line(*link.waveform, link.receiver.symbols);
    for (std::size_t k = 0; k < carrier_line::symbols; ++k)
        line.take(link.sent.samples[k]);
    BOOST_REQUIRE(line.find(frequency + 0.9 * width, width).has_value());
    BOOST_TEST(std::abs(line.find(frequency + 0.9 * width, width)->frequency -
                        frequency) < 1e-5);
    for (const double around : { frequency - 2 * width, frequency + 2 * width })
        BOOST_TEST(!line.find(around, width));
}

BOOST_DATA_TEST_CASE(phase_noise_is_no_slip, data::make({ 1u, 4u, 16u }), sps)
{
    turning_link link("qpsk", sps, 16384, 0, 2e-5, 11);
    for (int i = 0; i < 16; ++i)
        link.run(1024, true);
    BOOST_TEST(link.carrier.slips() == 0u);
    BOOST_TEST(link.errors_in_latest(4096) < 0.01);
}

// 16 points tolerate 0.24 radians of a phase that wanders by some 0.05 in a step.
BOOST_AUTO_TEST_CASE(a_phase_that_wanders_is_searched)
{
    turning_link link("16qam", 2, 8192, 0, 3e-5, 13);
    int searching = 0;
    for (int i = 0; i < 8; ++i) {
        link.run(1024, true);
        searching += link.carrier.selection().is_on();
    }
    BOOST_TEST(searching >= 3);
    BOOST_TEST(link.carrier.selection().residual() < 0.05f);
    turning_link still("16qam", 2, 8192, 0, 0, 13);
    for (int i = 0; i < 8; ++i)
        still.run(1024, true);
    BOOST_TEST(!still.carrier.selection().is_on());
}

// As known symbols ask for it: the phase goes on, searched or not, and labels are rotated back by as much.
BOOST_DATA_TEST_CASE(an_added_rotation_changes_nothing_else,
                     data::make({ 0.0, 3e-5 }) * data::xrange(1u, 4u),
                     linewidth,
                     turned)
{
    turning_link link("16qam", 2, 16384, 1e-5, linewidth, 14);
    for (int i = 0; i < 8; ++i)
        link.run(1024, true);
    link.carrier.add_ambiguity(link.history, turned);
    for (int i = 0; i < 8; ++i)
        link.run(1024, true);
    BOOST_TEST(link.errors_in_latest(8000, 4 - turned) < 0.01);
}

// A test that comes before the line has all of its symbols is no time to compare phases. With the phase of that test and
// the time of the resumption, k symbols before, a slip by 2 pi f k was found: QPSK was rotated.
BOOST_DATA_TEST_CASE(no_slip_is_found_after_a_stream_has_resumed,
                     data::make({ 896, 960, 1024 }) *
                         data::make({ 2.6e-4, 5.2e-4, 7.8e-4, 1.3e-3, 2e-3 }),
                     symbols,
                     frequency)
{
    turning_link link("qpsk", 4, 20'480, frequency, 0, 3);
    link.carrier.begin(link.history, frequency, 0);
    for (int i = 0; i < 8; ++i)
        link.run(1024, true);
    const std::size_t first = link.history.owned(link.history.latest(128));
    const auto from = link.carrier.current(link.history);
    link.history.filter_again();
    link.carrier.go_on(link.history, first, first + link.history.sample(128), from);
    link.run(static_cast<std::size_t>(symbols), true);
    for (int i = 0; i < 4; ++i)
        link.run(1024, true);
    BOOST_TEST(link.carrier.slips() == 0u);
    BOOST_TEST(link.errors_in_latest(4096) == 0);
}

// By a right angle, without a carrier: that of the samples that are decided next, too.
BOOST_AUTO_TEST_CASE(a_known_rotation_stays_when_a_stream_resumes)
{
    turning_link link("qpsk", 4, 8192, 0, 0, 3);
    link.run(1024, true);
    link.carrier.add_ambiguity(link.history, 1);
    const auto from = link.carrier.current(link.history);
    BOOST_TEST(from.phase == M_PI / 2, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(from.frequency == 0);
    link.run(1024, true);
    BOOST_TEST(link.errors_in_latest(1024, 1) == 1);
    BOOST_TEST(link.errors_in_latest(1024, 3) == 0);
    link.history.filter_again();
    link.carrier.go_on(link.history, 0, 0, from);
    link.run(1024, true);
    BOOST_TEST(link.carrier.loop().idle());
    BOOST_TEST(link.errors_in_latest(1024, 3) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
