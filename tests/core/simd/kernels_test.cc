/* Every instruction set's kernels against the plain ones, and the algorithms on top of
 * them. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/common/flush_denormals.h"
#include "core/network/decider.h"
#include "core/training/initialize.h"
#include "core/training/trainer.h"
#include "kernel_tables.h"

#include <limits>

using namespace gr::adann;
using namespace gr::adann::core;
using namespace kernel_tables;
using simd::activation;
using simd::lanes;
using simd::tile;

BOOST_AUTO_TEST_SUITE(kernels)

BOOST_AUTO_TEST_CASE(softmax_argmax_and_cross_entropy_are_the_plain_ones)
{
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for_each_table([&](const auto& fast) {
        for (const std::size_t classes : { 2, 4, 7, 16 })
            for (const float scale : { 0.1f, 3.0f, 30.0f }) {
                auto logits = random_floats(classes * tile, scale);
                logits[0] = logits[tile] = 500; // a tie: the first counts
                logits[5] = std::nanf("");
                logits[tile + 6] = infinity;
                logits[tile + 7] = -infinity;
                std::vector<float> found(classes * tile), expected(classes * tile);
                std::vector<std::uint8_t> labels(tile), expected_labels(tile);
                fast.softmax(logits.data(), classes, found.data());
                simd::plain.softmax(logits.data(), classes, expected.data());
                for (std::size_t i = 0; i < found.size(); ++i)
                    // Below e^-60 the fast ones stop: see vector.h.
                    BOOST_TEST(std::abs(found[i] - expected[i]) <
                               1e-6 * expected[i] + 9e-27);
                auto moved = logits;
                for (auto& value : moved)
                    value *= 1.01f;
                std::vector<float> to(classes * tile), change(classes * tile),
                    expected_change(classes * tile);
                fast.softmax(moved.data(), classes, to.data());
                fast.posterior_change(to.data(), found.data(), classes, change.data());
                simd::plain.posterior_change(
                    to.data(), found.data(), classes, expected_change.data());
                BOOST_TEST(difference(change, expected_change) < 1e-6);
                fast.argmax(logits.data(), classes, labels.data());
                simd::plain.argmax(logits.data(), classes, expected_labels.data());
                BOOST_TEST(labels == expected_labels, boost::test_tools::per_element());
                BOOST_TEST(labels[0] == 0);
                BOOST_TEST(labels[5] == 0);

                logits[5] = logits[tile + 6] = logits[tile + 7] = 1;
                simd::plain.softmax(logits.data(), classes, expected.data());
                for (auto& label : labels)
                    label = static_cast<std::uint8_t>(generator() % classes);
                std::vector<float> error(classes * tile), expected_error(classes * tile);
                const std::size_t n = tile - 3;
                const double loss = fast.cross_entropy(logits.data(),
                                                       expected.data(),
                                                       classes,
                                                       labels.data(),
                                                       n,
                                                       error.data());
                const double expected_loss =
                    simd::plain.cross_entropy(logits.data(),
                                              expected.data(),
                                              classes,
                                              labels.data(),
                                              n,
                                              expected_error.data());
                BOOST_TEST(loss == expected_loss, boost::test_tools::tolerance(1e-5));
                BOOST_TEST(difference(error, expected_error) < 1e-6);
            }
    });
}

BOOST_AUTO_TEST_CASE(the_row_functions_are_the_plain_ones)
{
    for_each_table([](const auto& fast) {
        const std::size_t rows = 9;
        const auto x = random_floats(rows * tile);
        std::vector<std::uint32_t> row(rows);
        for (std::size_t k = 0; k < rows; ++k)
            row[k] = static_cast<std::uint32_t>((rows - 1 - k) * tile);
        std::vector<float> found(rows * tile), expected(rows * tile);
        fast.rectify(x.data(), rows, found.data());
        simd::plain.rectify(x.data(), rows, expected.data());
        BOOST_TEST((found == expected));
        for (const float* from : { static_cast<const float*>(nullptr), x.data() })
            for (const float size : { 1e15f, 1.0f, 1e-15f, 0.0f }) {
                auto columns = random_floats(rows * tile, size), reference = columns;
                fast.set_length(from, row.data(), rows, 0.3f, columns.data());
                simd::plain.set_length(from, row.data(), rows, 0.3f, reference.data());
                for (std::size_t i = 0; i < columns.size(); ++i)
                    BOOST_TEST(std::abs(columns[i] - reference[i]) < 1e-6);
            }
    });
}

BOOST_AUTO_TEST_CASE(differences_are_the_plain_ones)
{
    const std::size_t n = 3 * lanes;
    const auto even = random_floats(n + 1), odd = random_floats(n);
    std::vector<float> same(n), next(n), expected_same(n), expected_next(n);
    simd::plain.differences(
        even.data(), odd.data(), n, expected_same.data(), expected_next.data());
    BOOST_TEST(expected_next[1] == even[2] - odd[1]);
    for_each_table([&](const auto& fast) {
        fast.differences(even.data(), odd.data(), n, same.data(), next.data());
        BOOST_TEST((same == expected_same));
        BOOST_TEST((next == expected_next));
    });
}

BOOST_AUTO_TEST_CASE(a_posteriors_change_has_its_direction_however_small)
{
    const auto check = [](const auto& kernels) {
        const std::size_t classes = 4;
        const auto direction = random_floats(classes * tile);
        const std::vector<float> from(classes * tile);
        std::vector<float> to(classes * tile), found(classes * tile);
        for (const float size : { 1.0f, 1e-35f, 0.0f }) {
            for (std::size_t i = 0; i < to.size(); ++i)
                to[i] = size * direction[i];
            kernels.posterior_change(to.data(), from.data(), classes, found.data());
            for (std::size_t t = 0; t < tile; ++t) {
                // The first class is the largest of equals: its change is the others'.
                float expected[classes] = {}, largest = 0;
                for (std::size_t j = 1; j < classes; ++j) {
                    expected[j] = direction[j * tile + t];
                    expected[0] -= expected[j];
                }
                for (const float change : expected)
                    largest = std::max(largest, std::abs(change));
                for (std::size_t j = 0; j < classes; ++j)
                    BOOST_TEST(std::abs(found[j * tile + t] -
                                        (size > 0 ? expected[j] / largest : 0)) < 1e-5);
            }
        }
    };
    check(simd::plain);
    for_each_table(check);
}

BOOST_AUTO_TEST_CASE(logarithms_are_right_to_the_last_digits)
{
    std::vector<float> x(2 * lanes), found(x.size());
    for (int i = 0; i < 12; ++i) {
        x[i] = std::ldexp(1.0f, -i);
        x[12 + i] = 1 + x[i];
        x[20 + i] = 1 - std::ldexp(1.0f, -i - 1);
    }
    for_each_table([&](const auto& fast) {
        fast.logarithm(x.data(), x.size(), found.data());
        for (std::size_t i = 0; i < x.size(); ++i)
            BOOST_TEST(std::abs(found[i] - std::log(double{ x[i] })) <=
                       2e-7 * std::abs(std::log(double{ x[i] })));
    });
}

BOOST_AUTO_TEST_CASE(noise_is_the_same_stream_everywhere)
{
    for_each_table([](const auto& fast) {
        gaussian_noise noise(5, fast), reference(5, simd::plain);
        std::vector<float> found(100'000), expected(100'000);
        for (int round = 0; round < 3; ++round) {
            noise.fill(found.data(), found.size() - round);
            reference.fill(expected.data(), expected.size() - round);
            for (std::size_t i = 0; i < found.size(); ++i)
                BOOST_REQUIRE_SMALL(found[i] - expected[i], 1e-4f);
        }
        const auto x = random_floats(5 * tile);
        const std::vector<std::uint32_t> row{ 7, 2 * tile };
        std::vector<float> moved(2 * tile), expected_moved(2 * tile);
        noise.add(x.data(), row.data(), 2, 0.3f, moved.data());
        reference.add(x.data(), row.data(), 2, 0.3f, expected_moved.data());
        for (std::size_t i = 0; i < moved.size(); ++i)
            BOOST_REQUIRE_SMALL(moved[i] - expected_moved[i], 3e-5f);
    });
}

#ifdef __SSE2__
BOOST_AUTO_TEST_CASE(denormal_numbers_are_zero_for_as_long_as_asked)
{
    const volatile float tiny = 1e-39f;
    {
        const flush_denormals flushing;
        BOOST_TEST((tiny * 1e10f == 0.0f));
    }
    BOOST_TEST((tiny * 1e10f > 0.0f));
}
#endif

BOOST_AUTO_TEST_CASE(decisions_and_training_are_the_plain_ones)
{
    for_each_table([](const auto& fast) {
        for (const std::size_t stride : { 4, 8, 44 }) {
            const std::size_t count = 1000; // no multiple of the tile
            network net({ 44, 10, 10, 16 });
            initialize(net, 1);
            const auto samples = random_floats((count - 1) * stride + 44);
            const feature_view view{ samples.data(), stride, 44, count };
            std::vector<std::uint8_t> labels(count), expected_labels(count);
            std::vector<float> posteriors(count * 16), expected(count * 16);
            decider(net, fast).decide(
                prepared_network(net), view, labels.data(), posteriors.data());
            decider(net, simd::plain)
                .decide(
                    prepared_network(net), view, expected_labels.data(), expected.data());
            BOOST_TEST(difference(posteriors, expected) < 1e-5);
            BOOST_TEST(labels == expected_labels, boost::test_tools::per_element());
            for (const auto& loss : words(loss_kind{}))
                for (const auto& noise : words(noise_kind{})) {
                    training_settings settings;
                    settings.optimizer = optimizer_kind::sgd;
                    settings.learning_rate = 1.0f;
                    settings.loss = loss.value;
                    settings.pseudo_label = pseudo_label_kind::clean;
                    settings.sigma = settings.epsilon = 0.1f;
                    const auto parts = constellation("16qam").parts();
                    trainer found(net, parts, settings, noise.value, fast),
                        reference(net, parts, settings, noise.value, simd::plain);
                    const auto value = found.step(view, expected_labels.data());
                    const auto wanted = reference.step(view, expected_labels.data());
                    BOOST_TEST(value.loss == wanted.loss,
                               boost::test_tools::tolerance(1e-4));
                    // Some symbols lie so near to a ReLU's kink or a decision's boundary
                    // that the last bit of their noise moves them across: 1e-3 of 1000
                    // symbols.
                    BOOST_TEST(difference(found.net().parameters(),
                                          reference.net().parameters()) < 1e-3);
                }
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()
