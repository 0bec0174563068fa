/* Decisions that are refined as they come.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_refiner.h"
#include "core/adaptation/refined_stream.h"
#include "core/tracking/carrier.h"
#include "nonlinear_link.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

using namespace gr::adann::core;
using namespace nonlinear;
namespace data = boost::unit_test::data;

namespace {

// A signal whose first batches a judge and a refiner have seen, and whose decisions are wrong
// now and then.
struct fixture {
    static constexpr std::size_t seen = 12 * batch, symbols = 40 * batch;

    //! \param walk rms of the steps that a carrier's phase makes from symbol to symbol
    explicit fixture(const kind& of, float walk = 0)
        : received(of.symbols, of.sps, of.is_complex, 3)
    {
        received.send(symbols, received.symbols.size());
        if (walk > 0)
            turn(walk);
        decided.assign(received.sent(0), received.sent(0) + symbols);
        std::mt19937 random(4);
        for (auto& label : decided)
            if (random() % 20 == 0) {
                const auto& near = received.symbols.neighbours(label);
                label = near[random() % near.size()];
            }
        waveform_judge judge(received.trained, received.window, batch);
        label_refiner refiner(received.symbols, received.trained, batch);
        for (std::size_t first = 0; first < seen; first += batch) {
            std::vector<std::uint8_t> labels(decided.begin() + first,
                                             decided.begin() + first + batch);
            judge.look(received.view(first), labels.data());
            refiner.refine(judge, labels.data());
        }
        signal = refiner.found();
    }

    // A phase that a loop pulls towards zero.
    void turn(float walk)
    {
        std::mt19937 random(6);
        std::normal_distribution<float> normal(0, walk);
        float phase = 0;
        const std::size_t stride = received.trained.stride();
        for (std::size_t i = 0; i + 1 < received.samples.size(); i += 2) {
            if (i % stride == 0)
                phase = 0.97f * phase + normal(random);
            const std::complex<float> turned =
                std::complex<float>(received.samples[i], received.samples[i + 1]) *
                std::polar(1.0f, phase);
            received.samples[i] = turned.real();
            received.samples[i + 1] = turned.imag();
        }
    }

    std::vector<std::uint8_t> refine(std::size_t piece)
    {
        refined_stream stream(received.symbols, received.trained);
        return refine(stream, piece);
    }
    std::vector<std::uint8_t> refine(refined_stream& stream, std::size_t piece)
    {
        std::vector<std::uint8_t> labels(symbols);
        std::size_t written = 0;
        for (std::size_t done = 0, n; done < symbols; done += n) {
            n = std::min(piece, symbols - done);
            feature_view view = received.view(done);
            view.count = n;
            written +=
                stream.take(view, decided.data() + done, signal, labels.data() + written);
            const std::size_t delay = std::min(done + n, stream.delay());
            BOOST_REQUIRE(written == done + n - delay);
        }
        for (std::size_t n; (n = stream.flush(labels.data() + written, 20));
             written += n) {
        }
        BOOST_REQUIRE(written == symbols);
        return labels;
    }

    //! With posteriors of those decided, and of what is written; and ratios of bits, or none.
    std::vector<std::uint8_t> refine(std::size_t piece,
                                     const std::vector<float>& of_decided,
                                     std::vector<float>& posteriors,
                                     const std::vector<float>& a_priori = {})
    {
        refined_stream stream(received.symbols, received.trained);
        const std::size_t classes = received.symbols.size(),
                          bits = received.symbols.bits_per_symbol();
        std::vector<std::uint8_t> labels(symbols);
        posteriors.assign(symbols * classes, -1);
        std::size_t written = 0;
        for (std::size_t done = 0, n; done < symbols; done += n) {
            n = std::min(piece, symbols - done);
            feature_view view = received.view(done);
            view.count = n;
            written += stream.take(view,
                                   &decided[done],
                                   signal,
                                   labels.data() + written,
                                   {},
                                   &of_decided[done * classes],
                                   posteriors.data() + written * classes,
                                   a_priori.empty() ? nullptr : &a_priori[done * bits]);
        }
        for (std::size_t n;
             (n = stream.flush(
                  labels.data() + written, 20, posteriors.data() + written * classes));
             written += n) {
        }
        BOOST_REQUIRE(written == symbols);
        return labels;
    }

    std::size_t wrong(const std::vector<std::uint8_t>& labels,
                      std::size_t first,
                      std::size_t last) const
    {
        std::size_t found = 0;
        for (std::size_t i = first; i < last; ++i)
            found += labels[i] != received.sent(0)[i];
        return found;
    }

    nonlinear_link received;
    refinement signal;
    std::vector<std::uint8_t> decided;
};

} // namespace

BOOST_AUTO_TEST_SUITE(refined_streams)

BOOST_DATA_TEST_CASE(wrong_neighbours_are_put_right_however_the_stream_is_cut,
                     data::make(kinds),
                     kind)
{
    fixture link(kind);
    const auto labels = link.refine(fixture::symbols);
    // The noise is a tenth of half the distance of two points, or less: no error is due.
    const std::size_t first = 100, last = labels.size() - 100;
    BOOST_TEST(link.wrong(link.decided, first, last) > 300u);
    BOOST_TEST(link.wrong(labels, first, last) * 50 <=
               link.wrong(link.decided, first, last));
    for (const std::size_t piece : { 1, 7, 16, 300 })
        BOOST_TEST((link.refine(piece) == labels));
}

// 0.19 radians rms that last some thirty symbols; 0.24 take 16QAM's outer points half way to the
// next ones.
BOOST_AUTO_TEST_CASE(what_a_loop_leaves_of_the_phase_is_taken_off)
{
    fixture link(kinds[4], 0.045f);
    BOOST_TEST(link.signal.gain_weights.phase[0] > 0.3f);
    const std::size_t first = fixture::seen, last = fixture::symbols - 100;
    const auto labels = link.refine(100);
    BOOST_TEST((link.refine(7) == labels));
    link.signal.gain_weights.phase = {};
    const std::size_t turned = link.wrong(link.refine(100), first, last);
    BOOST_TEST(turned > 30u);
    BOOST_TEST(2 * link.wrong(labels, first, last) < turned);
}

// Each step of a front filter brings the right samples and labels of its symbols, those before are
// of another phase.
BOOST_AUTO_TEST_CASE(what_is_known_in_hindsight_is_refined_however_the_stream_is_cut)
{
    fixture link(kinds[4]);
    const auto expected = link.refine(100);
    const std::vector<float> right = link.received.samples;
    for (std::size_t i = 0; i + 1 < right.size(); i += 2) {
        link.received.samples[i] = -right[i + 1];
        link.received.samples[i + 1] = right[i];
    }
    const std::size_t step = carrier::step;
    for (const std::size_t piece : { 1, 7, 16 }) {
        refined_stream stream(link.received.symbols, link.received.trained);
        const std::size_t many = step + 2 * link.received.trained.reach();
        std::vector<std::uint8_t> labels(fixture::symbols), decided(piece, 0);
        std::size_t written = 0;
        for (std::size_t done = 0, n; done < fixture::symbols; done += n) {
            n = std::min({ piece, fixture::symbols - done, step - done % step });
            feature_view view = link.received.view(done);
            view.count = n;
            hindsight latest;
            if ((done + n) % step == 0) {
                const std::size_t count = std::min(many, done + n);
                const feature_view as_it_was = link.received.view(done + n - count);
                latest.windows = as_it_was;
                latest.windows.data = &right[static_cast<std::size_t>(
                    as_it_was.data - link.received.samples.data())];
                latest.windows.count = count;
                latest.labels = link.decided.data() + (done + n - count);
            }
            written += stream.take(
                view, decided.data(), link.signal, labels.data() + written, latest);
        }
        BOOST_TEST(
            std::equal(labels.begin(), labels.begin() + written, expected.begin()));
    }
}

BOOST_DATA_TEST_CASE(what_is_known_of_bits_counts_however_the_stream_is_cut,
                     data::make(kinds),
                     kind)
{
    fixture link(kind);
    const std::size_t classes = link.received.symbols.size(), n = fixture::symbols,
                      bits = link.received.symbols.bits_per_symbol();
    std::vector<float> decided(n * classes, 0.1f / static_cast<float>(classes - 1));
    for (std::size_t i = 0; i < n; ++i)
        decided[i * classes + link.decided[i]] = 0.9f;
    std::vector<float> posteriors, told, in_parts;
    const auto labels = link.refine(n, decided, posteriors);
    BOOST_TEST((link.refine(n, decided, told, std::vector<float>(n * bits)) == labels));
    BOOST_TEST((told == posteriors)); // to the bit
    // The bits that were sent, and at every 16th symbol others; without noise the samples say more than that.
    link.signal.power = link.signal.power_along = 100;
    std::vector<float> a_priori(n * bits);
    std::vector<std::uint8_t> known(link.received.sent(0), link.received.sent(0) + n);
    for (std::size_t i = 0; i < n; ++i) {
        known[i] ^= i % 16 == 0;
        for (std::size_t b = 0; b < bits; ++b)
            a_priori[i * bits + b] = known[i] >> (bits - 1 - b) & 1 ? 20 : -20;
    }
    const auto certain = link.refine(n, decided, told, a_priori);
    BOOST_TEST((certain == known));
    for (const std::size_t piece : { 1, 7, 300 }) {
        BOOST_TEST((link.refine(piece, decided, in_parts, a_priori) == certain));
        BOOST_TEST((in_parts == told));
    }
}

// As decided: 0.9 for the label, which is wrong now and then.
BOOST_DATA_TEST_CASE(posteriors_are_of_the_labels_beside_them, data::make(kinds), kind)
{
    fixture link(kind);
    const std::size_t classes = link.received.symbols.size(), n = fixture::symbols;
    std::vector<float> decided(n * classes, 0.1f / static_cast<float>(classes - 1));
    for (std::size_t i = 0; i < n; ++i)
        decided[i * classes + link.decided[i]] = 0.9f;
    std::vector<float> posteriors, in_parts;
    const auto labels = link.refine(n, decided, posteriors);
    BOOST_TEST((labels == link.refine(n)));
    for (const std::size_t piece : { 1, 7, 300 }) {
        BOOST_TEST((link.refine(piece, decided, in_parts) == labels));
        BOOST_TEST((in_parts == posteriors));
    }
    std::size_t differ = 0, sure = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const float* const own = &posteriors[i * classes];
        differ += static_cast<std::size_t>(std::max_element(own, own + classes) - own) !=
                  labels[i];
        sure += own[labels[i]] > 0.99f;
    }
    BOOST_TEST(differ == 0u);
    BOOST_TEST(sure > n * 9 / 10); // the noise is a tenth of half the distance, or less

    link.signal.known = false;
    link.refine(100, decided, posteriors);
    BOOST_TEST((posteriors == decided));
}

// Whose square is no float. It stays as decided, and is forgotten.
BOOST_DATA_TEST_CASE(a_sample_that_is_far_too_large_spoils_no_posterior,
                     data::make(kinds) * data::make({ 1e20f, -1e25f, INFINITY, NAN }),
                     kind,
                     large)
{
    fixture stream(kind);
    const std::size_t classes = stream.received.symbols.size();
    const std::vector<float> even(fixture::symbols * classes,
                                  1 / static_cast<float>(classes));
    std::vector<float> right, posteriors;
    const auto labels = stream.refine(100, even, right);
    const std::size_t at = fixture::symbols / 2, behind = at + 2 * batch;
    stream.received.samples[at * stream.received.trained.stride()] = large;
    const auto spoilt = stream.refine(100, even, posteriors);
    for (const float posterior : posteriors)
        BOOST_REQUIRE(posterior >= 0 && posterior <= 1);
    // Which block has not told of the noise shows a little.
    BOOST_TEST(
        std::equal(labels.begin() + behind, labels.end(), spoilt.begin() + behind));
    for (std::size_t i = behind * classes; i < right.size(); ++i)
        BOOST_REQUIRE_SMALL(posteriors[i] - right[i], 0.02f);
}

BOOST_AUTO_TEST_CASE(behind_the_last_label_another_stream_begins)
{
    fixture link(kinds[1]);
    refined_stream stream(link.received.symbols, link.received.trained);
    const auto labels = link.refine(stream, 100);
    BOOST_TEST((link.refine(stream, 100) == labels));
}

// Labels from `first` on of a stream from `begin` on; the signal is not known in five batches before `back`.
static std::vector<std::uint8_t>
refine_part(fixture& link, std::size_t begin, std::size_t first, std::size_t back = 0)
{
    refined_stream stream(link.received.symbols, link.received.trained);
    stream.continue_at(begin % refined_stream::block);
    std::vector<std::uint8_t> labels(fixture::symbols);
    std::size_t written = begin;
    for (std::size_t done = begin, n; done < fixture::symbols; done += n) {
        n = std::min(batch - done % batch, fixture::symbols - done);
        feature_view view = link.received.view(done);
        view.count = n;
        link.signal.number = 1 + done / batch;
        link.signal.known = done + 5 * batch < back || done >= back;
        written += stream.take(view, &link.decided[done], link.signal, &labels[written]);
    }
    return std::vector(labels.begin() + first, labels.begin() + written);
}

// As after a checkpoint, and after a signal that was another one: what came before is not known, and
// the refinement is found anew with each batch. The first hundred labels or so have no past.
BOOST_DATA_TEST_CASE(a_stream_that_goes_on_is_refined_as_the_whole,
                     data::make(kinds),
                     kind)
{
    fixture link(kind);
    for (const std::size_t begin : { 10 * batch, 10 * batch + 7, 10 * batch + 8 })
        BOOST_TEST(
            (refine_part(link, begin, begin + 150) == refine_part(link, 0, begin + 150)));
    for (std::size_t back = 8 * batch; back < 30 * batch; back += batch)
        BOOST_TEST((refine_part(link, back - batch, back, back) ==
                    refine_part(link, 0, back, back)));
}

BOOST_AUTO_TEST_CASE(a_longer_delay_changes_nothing_else)
{
    fixture link(kinds[1]);
    refined_stream stream(link.received.symbols, link.received.trained, 150);
    BOOST_TEST(stream.delay() == 150u);
    BOOST_TEST((link.refine(stream, 100) == link.refine(100)));
}

BOOST_AUTO_TEST_CASE(labels_stay_without_a_refinement)
{
    fixture link(kinds[1]);
    link.signal.known = false;
    const auto labels = link.refine(100);
    BOOST_TEST(std::equal(labels.begin(), labels.end(), link.decided.begin()));
}

BOOST_AUTO_TEST_CASE(labels_stay_where_the_signal_is_another_one)
{
    fixture link(kinds[1]);
    const std::size_t from = 20 * batch, to = 25 * batch;
    std::mt19937 random(9);
    std::normal_distribution<float> normal;
    const std::size_t stride = link.received.trained.stride();
    for (std::size_t i = from * stride; i < to * stride; ++i)
        link.received.samples[nonlinear_link::margin * stride + i] = normal(random);
    const auto labels = link.refine(100);
    BOOST_TEST(std::equal(labels.begin() + from + 20,
                          labels.begin() + to - 20,
                          link.decided.begin() + from + 20));
    BOOST_TEST(link.wrong(labels, to + 200, labels.size() - 100) * 50 <=
               link.wrong(link.decided, to + 200, labels.size()));
}

BOOST_AUTO_TEST_SUITE_END()
