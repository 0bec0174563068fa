/* Windows decided in pairs against the same windows decided one by one.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "random_windows.h"

#include "core/network/decider.h"
#include "core/training/initialize.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace gr::adann::core;
using simd::tile;

namespace gr::adann::core::simd::wide {
extern const kernels table;
}

namespace {

struct decisions {
    std::vector<std::uint8_t> labels;
    std::vector<float> posteriors;
};

struct windows : random_windows {
    using random_windows::random_windows;

    decisions in_pairs(const simd::kernels& kernels, std::size_t position = 0) const
    {
        return decide(prepared_network(net, view.stride), view, kernels, position);
    }

    //! The windows copied, so that they are separate vectors to the plain kernels.
    decisions one_by_one() const
    {
        std::vector<float> copies;
        for (std::size_t i = 0; i < view.count; ++i)
            copies.insert(copies.end(), view[i], view[i] + view.dimension);
        return decide(prepared_network(net),
                      { copies.data(), view.dimension, view.dimension, view.count },
                      simd::plain,
                      0);
    }

    decisions decide(const prepared_network& prepared,
                     const feature_view& of,
                     const simd::kernels& kernels,
                     std::size_t position) const
    {
        decisions found{ std::vector<std::uint8_t>(of.count),
                         std::vector<float>(of.count * net.outputs()) };
        decider(net, kernels)
            .decide(prepared, of, found.labels.data(), found.posteriors.data(), position);
        // The labels alone, as most ask for them.
        std::vector<std::uint8_t> labels(of.count);
        decider(net, kernels).decide(prepared, of, labels.data(), nullptr, position);
        BOOST_TEST((labels == found.labels));
        return found;
    }

    void compare(const simd::kernels& kernels) const
    {
        const std::size_t classes = net.outputs();
        const decisions expected = one_by_one();
        for (const std::size_t position : { 0, 1 }) {
            const decisions found = in_pairs(kernels, position);
            for (std::size_t i = 0; i < view.count; ++i) {
                float at_label = 0, most = 0;
                for (std::size_t j = 0; j < classes; ++j) {
                    const float p = expected.posteriors[i * classes + j];
                    BOOST_REQUIRE_SMALL(found.posteriors[i * classes + j] - p, 1e-5f);
                    at_label = j == found.labels[i] ? p : at_label;
                    most = std::max(most, p);
                }
                BOOST_REQUIRE_SMALL(most - at_label, 1e-5f); // equal but for ties
            }
        }
    }
};

std::vector<const simd::kernels*> all_kernels()
{
    auto tables = simd::available();
    tables.push_back(&simd::wide::table);
    return tables;
}

} // namespace

BOOST_AUTO_TEST_SUITE(window_pairs)

BOOST_AUTO_TEST_CASE(they_pair_when_they_overlap_by_whole_symbols)
{
    BOOST_TEST(windows_pair(44, 4));
    BOOST_TEST(windows_pair(2, 1));
    BOOST_TEST(!windows_pair(44, 44)); // separate vectors
    BOOST_TEST(!windows_pair(44, 8));
    BOOST_TEST(!windows_pair(44, 0));
}

BOOST_AUTO_TEST_CASE(pairs_are_decided_as_single_windows)
{
    for (const auto* kernels : all_kernels())
        BOOST_TEST_CONTEXT(kernels->name)
        {
            for (const std::size_t stride : { 1, 2, 3, 4, 5, 8, 16 })
                for (const std::size_t symbols : { 2, 3, 8, 11 })
                    windows({ stride * symbols, 5, 5, 4 }, stride, 300).compare(*kernels);
            for (std::size_t width = 1; width <= simd::widest_narrow + 2; ++width)
                windows({ 22, width, width, width, 4 }, 2, 300).compare(*kernels);
            for (const std::size_t classes : { 2, 3, 4, 5, 8, 16, 64 })
                windows({ 22, 10, classes }, 2, 300).compare(*kernels);
            windows({ 22, 10, 9, 4 }, 2, 300).compare(*kernels); // widths that differ
            windows({ 22, 4 }, 2, 300).compare(*kernels);        // no hidden layer
            for (const std::size_t count : { 1, 2, 3, 255, 256, 257, 511, 513 })
                windows({ 44, 10, 10, 4 }, 4, count).compare(*kernels);
        }
}

BOOST_AUTO_TEST_CASE(the_bits_are_the_same_however_the_stream_is_cut)
{
    std::mt19937 random(1);
    for (const auto* kernels : all_kernels())
        BOOST_TEST_CONTEXT(kernels->name)
        {
            const windows stream({ 44, 10, 10, 10, 4 }, 4, 3000);
            const decisions whole = stream.in_pairs(*kernels);
            for (std::size_t first = 0; first < stream.view.count;) {
                const std::size_t n =
                    std::min<std::size_t>(1 + random() % 700, stream.view.count - first);
                const decisions part = stream.decide(prepared_network(stream.net, 4),
                                                     stream.view.from(first, n),
                                                     *kernels,
                                                     first);
                BOOST_TEST(std::equal(part.posteriors.begin(),
                                      part.posteriors.end(),
                                      &whole.posteriors[4 * first]));
                BOOST_TEST(std::equal(
                    part.labels.begin(), part.labels.end(), &whole.labels[first]));
                first += n;
            }
        }
}

BOOST_AUTO_TEST_CASE(a_bad_sample_costs_the_windows_that_hold_it)
{
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const auto* kernels : all_kernels())
        for (const float bad : { std::nanf(""), infinity, 1e30f })
            for (const std::size_t at : { 799, 800, 803, 804 }) {
                windows stream({ 44, 10, 10, 4 }, 4, 400);
                const decisions clean = stream.in_pairs(*kernels);
                stream.samples[at] = bad;
                const decisions found = stream.in_pairs(*kernels);
                for (std::size_t i = 0; i < stream.view.count; ++i)
                    if (at < 4 * i || at >= 4 * i + 44)
                        for (std::size_t j = 0; j < 4; ++j)
                            BOOST_REQUIRE(found.posteriors[4 * i + j] ==
                                          clean.posteriors[4 * i + j]);
                    else
                        for (std::size_t j = 0; j < 4; ++j)
                            BOOST_REQUIRE(std::isfinite(found.posteriors[4 * i + j]));
            }
}

BOOST_AUTO_TEST_CASE(a_pair_takes_17_products_for_22)
{
    const windows stream({ 44, 10, 4 }, 4, 2 * tile);
    const std::size_t before = simd::multiplications;
    std::vector<std::uint8_t> labels(stream.view.count);
    decider(stream.net, simd::counting)
        .decide(prepared_network(stream.net, 4), stream.view, labels.data());
    const std::size_t last_layer = 2 * tile * 10 * 4;
    BOOST_TEST(simd::multiplications - before - last_layer == tile * 4 * 10 * 17);
}

BOOST_AUTO_TEST_SUITE_END()
