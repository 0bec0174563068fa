/* What is kept of a stream, against the stream itself.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/sample_history.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

namespace {

constexpr unsigned half_window = 2;
constexpr std::size_t reach = 9, around = 3, classes = 4, past = 700, most = 256;

struct stream {
    window_geometry window;
    sample_history history;
    std::size_t planes, before;
    std::vector<float> samples; // windows begin at its start
    std::vector<std::uint8_t> labels;
    std::size_t done = 0, moved = 0;

    stream(unsigned sps, bool is_complex, std::size_t symbols)
        : window(sps, half_window, is_complex),
          history(window, reach, around, classes, past, most),
          planes(window.floats_per_sample()),
          before(window.samples_before() + reach),
          samples(planes * (symbols * sps + window.samples() + 2 * reach)),
          labels(symbols)
    {
        std::mt19937 random(sps);
        std::normal_distribution<float> normal;
        for (float& each : samples)
            each = normal(random);
        for (auto& label : labels)
            label = static_cast<std::uint8_t>(random() & (classes - 1));
    }
    feature_view view(std::size_t symbol, std::size_t n) const
    {
        return { &samples[symbol * window.stride()],
                 window.stride(),
                 window.dimension() + 2 * reach * planes,
                 n };
    }
    //! Takes n symbols; what it filters is the stream times two.
    void take(std::size_t n)
    {
        moved += history.make_room(n);
        history.load(view(done, n));
        const std::size_t end = history.window_end(history.next() + n - 1);
        const signal_planes from = history.received(0);
        for (std::size_t i = history.ready(); i < end; ++i) {
            history.filtered(i)[0] = 2 * from.re[i];
            if (planes == 2)
                history.filtered(i)[1] = 2 * from.im[i];
        }
        history.set_ready(end);
        history.note(&labels[done], n);
        done += n;
    }
    //! Of the stream, what the history calls sample i.
    const float* original(std::size_t i) const
    {
        const std::size_t first = history.sample(history.next()); // symbol `done`
        return &samples[planes * (before + done * window.sps() + i - first)];
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(sample_histories)

BOOST_DATA_TEST_CASE(what_is_kept_is_what_came_in_however_often_it_is_moved,
                     data::make({ 1u, 2u, 4u, 8u, 16u }) * data::make({ false, true }),
                     sps,
                     is_complex)
{
    stream it(sps, is_complex, 12000);
    std::mt19937 random(1);
    while (it.done + most <= it.labels.size()) {
        it.take(1 + random() % most);
        if (it.done < past)
            continue;
        const sample_history& history = it.history;
        const std::size_t end = history.ready();
        bool same = history.known() == past;
        for (std::size_t i = history.first_sample(); i < end; ++i) {
            const signal_planes at = history.received(i);
            const float* const expected = it.original(i);
            same = same && *at.re == expected[0] && history.filtered(i)[0] == 2 * *at.re;
            if (is_complex)
                same =
                    same && *at.im == expected[1] && history.filtered(i)[1] == 2 * *at.im;
        }
        for (std::size_t k = 1; k <= past; ++k)
            same = same && *history.symbols().labels(history.next() - k) ==
                               it.labels[it.done - k];
        BOOST_TEST(same);
    }
    BOOST_TEST(it.moved > sample_history::room); // or nothing was tested
}

BOOST_AUTO_TEST_CASE(a_symbol_owns_the_samples_around_its_middle)
{
    for (const unsigned sps : { 1u, 2u, 3u, 8u }) {
        const stream it(sps, false, 100);
        const sample_history& history = it.history;
        BOOST_TEST(history.owned(50) == 50 * sps - sps / 2);
        BOOST_TEST(history.window_begin(50) == history.owned(50 - half_window));
        BOOST_TEST(history.window_end(50) == history.owned(51 + half_window));
        BOOST_TEST(history.latest(10) + 10 + around == history.next());
    }
}

BOOST_DATA_TEST_CASE(samples_that_are_not_usable_are_zero_and_come_out_as_none,
                     data::make({ false, true }),
                     is_complex)
{
    stream it(2, is_complex, 2000);
    const std::size_t planes = is_complex ? 2 : 1, bad = 1000;
    it.samples[planes * bad] = std::nanf("");
    for (int i = 0; i < 8; ++i)
        it.take(100);
    const sample_history& history = it.history;
    std::size_t found = 0;
    for (std::size_t i = history.first_sample(); i < history.ready(); ++i) {
        const bool is_it = it.original(i) == &it.samples[planes * bad];
        found += is_it;
        BOOST_TEST(std::isnan(history.filtered(i)[0]) == is_it);
        if (is_it) {
            BOOST_TEST(*history.received(i).re == 0.0f);
            BOOST_TEST(!history.is_usable(i));
            BOOST_TEST(history.is_usable(i + 1));
        }
    }
    BOOST_TEST(found == 1u);
}

BOOST_AUTO_TEST_CASE(the_samples_tell_whether_a_stream_goes_on)
{
    stream it(2, true, 2000);
    it.take(100);
    BOOST_TEST(it.history.goes_on(it.view(100, 50)));
    BOOST_TEST(!it.history.goes_on(it.view(101, 50)));
    it.history.forget();
    BOOST_TEST(it.history.known() == 0u);
    BOOST_TEST(it.history.goes_on(it.view(700, 50))); // there is nothing to go on from
}

BOOST_AUTO_TEST_CASE(labels_that_are_forgotten_count_from_there_on)
{
    stream it(1, false, 2000);
    it.take(200);
    BOOST_TEST(it.history.knows(200 - 2 * around));
    it.history.forget_labels();
    it.take(20);
    BOOST_TEST(it.history.known() == 20u);
    BOOST_TEST(!it.history.knows(20));
    BOOST_TEST(it.history.knows(20 - 2 * around));
}

BOOST_DATA_TEST_CASE(a_checkpoint_holds_all_that_is_kept,
                     data::make({ false, true }),
                     is_complex)
{
    stream first(4, is_complex, 12000), second(first);
    for (int i = 0; i < 30; ++i)
        first.take(200);
    tensor_file file;
    archive::saving(file, "it")("history", first.history);
    archive::restoring(file, "it")("history", second.history);
    second.done = first.done;
    for (auto* each : { &first, &second })
        each->take(100);
    for (std::size_t i = 1; i <= 4 * (past - 100); ++i) {
        const std::size_t a = first.history.ready() - i, b = second.history.ready() - i;
        BOOST_REQUIRE(*first.history.received(a).re == *second.history.received(b).re);
        BOOST_REQUIRE(first.history.filtered(a)[0] == second.history.filtered(b)[0]);
    }
    for (std::size_t k = 1; k <= past; ++k)
        BOOST_REQUIRE(*first.history.symbols().labels(first.history.next() - k) ==
                      *second.history.symbols().labels(second.history.next() - k));
}

BOOST_AUTO_TEST_CASE(symbols_with_neither_an_estimate_nor_a_known_label_are_not_uncertain)
{
    stream s(1, true, past);
    s.take(64);
    sample_history& history = s.history;
    const std::size_t first = history.next() - 64;
    BOOST_TEST(history.symbols().count_uncertain(first, 64) ==
               0U); // as decided, they count as sure
    for (std::size_t k = 0; k < 24; ++k)
        history.symbols().estimates(first)[k] = 0.5f;
    BOOST_TEST(history.symbols().count_uncertain(first, 64) == 24U);
    const std::vector<std::uint8_t> labels(64);
    history.symbols().relabel(first, labels.data(), 8);
    BOOST_TEST(history.symbols().count_uncertain(first, 64) == 16U);
}

BOOST_AUTO_TEST_SUITE_END()
