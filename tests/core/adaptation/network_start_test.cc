/* What a start's network is trained on.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/network_start.h"
#include "receivers.h"

#include <boost/test/unit_test.hpp>

using namespace gr::adann::core;

namespace {

constexpr std::size_t batch = 16, stride = 4, window = 44;

// A start whose batches are too short for waveform_judge: 2048 symbols in a row are a part.
struct short_batches {
    void take(std::uint64_t end)
    {
        adaptation_batch next;
        const std::size_t first = end - batch;
        next.samples.assign(&samples[stride * first],
                            &samples[stride * (first + batch - 1)] + window);
        next.labels.assign(&sent[first + 5], &sent[first + 5] + batch);
        next.truth.assign(batch, not_known);
        next.end = end;
        said = start.take(next, linear.net, [] { return true; });
    }

    static constexpr std::size_t symbols = 40'000;
    std::vector<float> samples = followed_signal(stride * symbols + window);
    std::vector<std::uint8_t> sent = [] {
        std::vector<std::uint8_t> labels(symbols + 11);
        std::mt19937 random(1); // followed_signal()'s
        for (auto& label : labels) {
            const unsigned rank = random() & 3;
            label = rank ^ (rank >> 1);
        }
        return labels;
    }();
    model linear = make_followed_receiver();
    network_start start{
        { linear, 0, 0.1, false, blind_start::first_look }, stride, batch, 1
    };
    std::string said;
};

} // namespace

BOOST_AUTO_TEST_SUITE(starts_of_networks)

BOOST_FIXTURE_TEST_CASE(it_ends_with_so_many_symbols, short_batches)
{
    for (std::uint64_t end = batch; end < network_start::symbols; end += batch)
        take(end);
    BOOST_TEST(!start.done());
    take(network_start::symbols);
    BOOST_TEST(start.done());
    BOOST_TEST(said.find("started, modulation error ratio") == 0u);
    take(network_start::symbols + batch);
    BOOST_TEST(said == "");
}

BOOST_FIXTURE_TEST_CASE(batches_that_do_not_follow_each_other_are_not_joined,
                        short_batches)
{
    for (std::uint64_t end = batch; end <= symbols; end += batch)
        if (end % 2000) // one in 125 is not taken
            take(end);
    BOOST_TEST(!start.done());
}

BOOST_FIXTURE_TEST_CASE(what_is_forgotten_does_not_count, short_batches)
{
    for (std::uint64_t end = batch; end < network_start::symbols; end += batch)
        take(end);
    start.forget();
    take(network_start::symbols);
    BOOST_TEST(!start.done());
}

BOOST_AUTO_TEST_SUITE_END()
