/* Networks in whole numbers: every instruction set against sums by hand.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "random_windows.h"

#include "core/network/decider.h"
#include "core/network/quantized_decider.h"
#include "core/training/initialize.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <random>

using namespace gr::adann::core;
using simd::tile;

namespace gr::adann::core::simd::wide {
extern const kernels table;
}

namespace {

std::vector<const simd::kernels*> all_kernels()
{
    auto tables = simd::available();
    tables.push_back(&simd::wide::table);
    return tables;
}

//! Formats that fill the bits of what `initialize` makes.
quantization formats_of(const network& net, unsigned bits)
{
    quantization formats{ bits, {}, {} };
    const int fine = static_cast<int>(bits);
    for (std::size_t k = 0; k < net.layers().size(); ++k) {
        const bool is_last = k + 1 == net.layers().size();
        formats.values.push_back(std::min(fine - 4, 8));
        std::vector<int> rows(net.layers()[k].outputs, std::min(fine - 2, 9));
        for (std::size_t o = 0; !is_last && o < rows.size(); ++o)
            rows[o] -= o % 3;
        formats.weights.push_back(rows);
    }
    return formats;
}

struct decisions {
    decisions(const quantized_network& net,
              const feature_view& view,
              const simd::kernels& kernels = simd::active())
        : labels(view.count), logits(view.count * net.outputs())
    {
        quantized_decider(kernels).decide(
            prepared_quantized(net, kernels), view, labels.data(), logits.data());
    }

    std::vector<std::uint8_t> labels;
    std::vector<std::int32_t> logits;
};

//! The definition, by numbers of 64 bits and in doubles where it rounds.
std::vector<std::int64_t>
by_hand(const quantized_network& net, const float* window, bool& overflows)
{
    const double largest = net.formats().largest();
    std::vector<std::int64_t> x;
    for (std::size_t i = 0; i < net.inputs(); ++i)
        x.push_back(std::llround(std::clamp(
            static_cast<double>(window[i]) * net.sample_scale(), -largest, largest)));
    for (const auto& layer : net.layers()) {
        std::vector<std::int64_t> y;
        for (std::size_t o = 0; o < layer.outputs; ++o) {
            std::int64_t sum = layer.biases[o];
            for (std::size_t i = 0; i < layer.inputs; ++i)
                sum += layer.weights[o * layer.inputs + i] * x[i];
            overflows |= std::abs(sum) > std::numeric_limits<std::int32_t>::max();
            if (&layer != &net.layers().back())
                sum =
                    std::min<std::int64_t>(std::llround(std::max<std::int64_t>(sum, 0) /
                                                        std::ldexp(1.0, layer.shifts[o])),
                                           net.formats().largest_hidden());
            y.push_back(sum);
        }
        x = y;
    }
    return x;
}

} // namespace

BOOST_AUTO_TEST_SUITE(quantized)

BOOST_AUTO_TEST_CASE(every_instruction_set_gives_the_sums_by_hand)
{
    for (const unsigned bits : { 4, 6, 8, 12, 16 })
        for (const auto& sizes : std::vector<std::vector<std::size_t>>{
                 { 44, 10, 10, 10, 10, 4 }, { 7, 5, 3, 2 }, { 3, 1, 13, 16 }, { 6, 8 } })
            for (const std::size_t stride :
                 { std::size_t(1), std::size_t(4), sizes[0] }) {
                const random_windows of(sizes, stride, 2 * tile + 3);
                const quantized_network net(of.net, formats_of(of.net, bits));
                const decisions plain(net, of.view, simd::plain);
                bool overflows = false;
                for (std::size_t i = 0; i < of.view.count; ++i) {
                    const auto logits = by_hand(net, of.view[i], overflows);
                    const auto* found = &plain.logits[i * net.outputs()];
                    BOOST_TEST(std::equal(logits.begin(), logits.end(), found));
                    BOOST_TEST(plain.labels[i] ==
                               std::max_element(logits.begin(), logits.end()) -
                                   logits.begin());
                }
                BOOST_TEST(!overflows);
                for (const auto* kernels : all_kernels())
                    BOOST_TEST_CONTEXT(kernels->name)
                    {
                        const decisions found(net, of.view, *kernels);
                        BOOST_TEST((found.logits == plain.logits));
                        BOOST_TEST((found.labels == plain.labels));
                    }
            }
}

BOOST_AUTO_TEST_CASE(samples_are_limited_and_halves_go_away_from_zero)
{
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> samples{
        0.5f,   -0.5f,       1.49999f,  -2.5f,  1e30f,
        -1e30f, infinity,    -infinity, 7.4f,   -7.6f,
        -0.0f,  0.49999997f, 3.5f,      1e-40f, std::numeric_limits<float>::quiet_NaN(),
        -6.5f
    };
    const std::vector<std::int32_t> expected{ 1, -1, 1, -3, 7, -7, 7, -7,
                                              7, -7, 0, 0,  4, 0,  0, -7 };
    for (const auto* kernels : all_kernels())
        BOOST_TEST_CONTEXT(kernels->name)
        {
            std::vector<float> halved;
            for (const float sample : samples)
                halved.push_back(sample / 2);
            const std::size_t n = halved.size() - 1; // the last one is a tail
            std::vector<std::int16_t> pairs(n + simd::lanes);
            kernels->integers->pairs.quantise(halved.data(), n, 2, 7, pairs.data());
            BOOST_TEST(std::equal(expected.begin(), expected.end() - 1, pairs.begin()));
            if (!kernels->integers->quads.quantise)
                continue;
            std::vector<std::uint8_t> quads(n + simd::lanes);
            kernels->integers->quads.quantise(halved.data(), n, 2, 7, quads.data());
            for (std::size_t i = 0; i < n; ++i)
                BOOST_TEST(quads[i] - simd::word_kernels::offset == expected[i]);
        }
}

BOOST_AUTO_TEST_CASE(more_bits_come_closer_to_the_network)
{
    const random_windows of({ 44, 10, 10, 4 }, 4, 4096);
    std::vector<std::uint8_t> labels(of.view.count);
    decider(of.net).decide(prepared_network(of.net), of.view, labels.data());
    std::vector<std::size_t> differ;
    for (const unsigned bits : { 4, 6, 8, 12 }) {
        const quantized_network net(of.net, formats_of(of.net, bits));
        const decisions found(net, of.view);
        std::size_t count = 0;
        for (std::size_t i = 0; i < labels.size(); ++i)
            count += found.labels[i] != labels[i];
        differ.push_back(count);
    }
    BOOST_TEST(std::is_sorted(differ.rbegin(), differ.rend()));
    BOOST_TEST(differ.back() < 0.015 * labels.size());
}

BOOST_AUTO_TEST_CASE(rows_that_outgrow_their_format_become_coarser)
{
    const random_windows of({ 44, 10, 10, 4 }, 4, 500);
    network net = of.net;
    const quantization formats = formats_of(net, 8);
    prepared_quantized kept{ quantized_network(net, formats) };
    kept.assign(net);
    BOOST_TEST((kept.net().formats() == formats));

    const auto& hidden = net.layers()[1];
    const auto& last = net.layers()[2];
    float* const row = &net.parameters()[hidden.weights];
    net.parameters()[last.weights] = row[3] = 0.99f * 127 / 64 * 4; // two bits too many
    net.parameters()[last.weights + 1] = -0.1f;
    kept.assign(net);
    auto expected = formats;
    expected.weights[1][0] = 4;
    expected.weights[2].assign(4, 4);
    BOOST_TEST((kept.net().formats() == expected));
    BOOST_TEST(kept.net().layers()[1].weights[3] == 126);
    std::vector<std::uint8_t> labels(of.view.count);
    std::vector<std::int32_t> logits(4 * labels.size());
    quantized_decider().decide(kept, of.view, labels.data(), logits.data());
    bool overflows = false;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto sums = by_hand(kept.net(), of.view[i], overflows);
        BOOST_TEST(std::equal(sums.begin(), sums.end(), &logits[4 * i]));
    }

    kept.assign(of.net);
    BOOST_TEST((kept.net().formats() == formats));
}

BOOST_AUTO_TEST_CASE(formats_that_do_not_fit_are_refused)
{
    network net({ 44, 10, 4 });
    initialize(net, 1);
    const quantization good = formats_of(net, 8);
    const auto refused = [&](auto change, const std::string& said) {
        auto changed = good;
        change(changed);
        BOOST_CHECK_EXCEPTION(quantized_network(net, changed),
                              std::invalid_argument,
                              [&](const auto& error) {
                                  BOOST_TEST_MESSAGE(error.what());
                                  return std::string(error.what()).find(said) !=
                                         std::string::npos;
                              });
    };
    refused([](auto& f) { f.bits = 3; }, "bits is 3, allowed: 4 to 16");
    refused([](auto& f) { f.bits = 17; }, "bits is 17");
    refused([](auto& f) { f.values.pop_back(); }, "layers of the quantization");
    refused([](auto& f) { f.weights.push_back({}); }, "allowed: 2, the network's");
    refused([](auto& f) { f.weights[0].pop_back(); }, "weight exponents of layer 0 is 9");
    refused([](auto& f) { f.weights[0][2] = 31; }, "allowed: -30 to 30");
    refused([](auto& f) { f.values[0] = -31; }, "input exponent of layer 0");
    refused([](auto& f) { f.values[1] = 30; }, "shift of layer 0");
    refused([](auto& f) { f.weights[1][3] = 0; }, "as of its other rows");
    refused(
        [](auto& f) {
            f.bits = 16;
            f.weights[0].assign(10, 18);
            f.weights[1].assign(4, 16);
        },
        "largest sum of layer");
}

BOOST_AUTO_TEST_SUITE_END()
