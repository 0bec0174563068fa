/* How rarely batches are learnt from, and that nothing else depends on it.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/adaptive_equalizer.h"
#include "receivers.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

const std::string path = "pace_test.safetensors";
constexpr std::size_t batch = 256, batches = 1280;
constexpr std::size_t each = 20'000 / batch; // at first

struct fixture {
    fixture()
        : initial(make_followed_receiver()),
          samples(followed_signal(4 * (batches + 1) * batch))
    {
        settings.mode = adaptation_mode::lockstep;
        settings.batch = batch;
    }
    ~fixture() { std::remove(path.c_str()); }

    struct result {
        std::vector<float> posteriors;
        std::vector<std::uint64_t> ends; // of what was learnt from, in batches
    };

    result
    run(const model& from, std::size_t first, std::size_t end, std::size_t piece = batch)
    {
        result found;
        adaptive_equalizer equalizer(
            from, 4, settings, [&](const adaptation_event& event) {
                if (event.what == event_kind::step)
                    found.ends.push_back(first + event.symbols / batch);
            });
        equalizer.start();
        std::vector<std::uint8_t> labels(piece);
        found.posteriors.resize(4 * (end - first) * batch);
        for (std::size_t done = 0, n; done < (end - first) * batch; done += n) {
            n = std::min(piece, (end - first) * batch - done);
            equalizer.decide(
                { &samples[4 * (first * batch + done)], 4, equalizer.dimension(), n },
                nullptr,
                labels.data(),
                &found.posteriors[4 * done]);
        }
        return found;
    }

    model initial;
    std::vector<float> samples;
    adaptation_settings settings;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(pace, fixture)

BOOST_AUTO_TEST_CASE(each_batch_then_one_in_eight)
{
    const auto ends = run(initial, 0, batches).ends;
    BOOST_REQUIRE(ends.size() > each);
    for (std::size_t i = 0; i < each; ++i)
        BOOST_TEST(ends[i] == i + 1);
    // 10,000 learnt symbols for each further batch between, the rest of them one in eight.
    const auto steps = [](std::size_t symbols) { return symbols / batch; };
    std::size_t expected = steps(20'000), passed = steps(20'000);
    for (std::size_t apart = 2; apart < 8; ++apart) {
        expected += steps(10'000);
        passed += apart * steps(10'000);
    }
    expected += (batches - passed) / 8;
    BOOST_TEST(ends.size() > expected - 10);
    BOOST_TEST(ends.size() < expected + 30); // of labels that are not refined at first
    std::size_t widest = 0;
    for (std::size_t i = 1; i < ends.size(); ++i)
        widest = std::max<std::size_t>(widest, ends[i] - ends[i - 1]);
    BOOST_TEST(widest == 8u);
    for (const std::size_t piece : { 37, 1000 })
        BOOST_TEST(run(initial, 0, batches, piece).ends == ends,
                   boost::test_tools::per_element());
    settings.front_filter = false; // then nobody knows whether the link moves
    BOOST_TEST(run(initial, 0, batches).ends.size() == batches);
}

BOOST_AUTO_TEST_CASE(each_batch_again_when_the_link_moves)
{
    const std::size_t jump = 1200;
    // An echo that comes and then fades in and out: while the stream is lost no batch is learnt from.
    for (std::size_t i = samples.size(); i-- > 4 * jump * batch;) {
        const float moves =
            std::sin(static_cast<float>(i - 4 * jump * batch) / (8 * batch));
        samples[i] += (0.3f + 0.1f * moves) * samples[i - 4];
    }
    const auto ends = run(initial, 0, batches).ends;
    const auto first = std::upper_bound(ends.begin(), ends.end(), jump + 1);
    BOOST_TEST((*first <= jump + 8)); // the next one that is due
    for (std::size_t i = 1; i < 8; ++i)
        BOOST_TEST(first[i] == *first + i);
}

BOOST_AUTO_TEST_CASE(a_restart_keeps_it_to_the_bit)
{
    settings.decisions = decision_kind::network; // of refined ones it is measured anew
    const result whole = run(initial, 0, batches);
    for (const std::size_t stop : { 1200, 1201, 1202, 1207 }) {
        settings.checkpoint = path;
        run(initial, 0, stop);
        settings.checkpoint.clear();
        const result rest = run(load_model(path), stop, batches);
        BOOST_TEST(std::equal(rest.posteriors.begin(),
                              rest.posteriors.end(),
                              whole.posteriors.begin() + 4 * stop * batch));
        BOOST_TEST(std::equal(rest.ends.rbegin(), rest.ends.rend(), whole.ends.rbegin()));
    }
}

BOOST_AUTO_TEST_SUITE_END()
