/* Every instruction set's kernels against the plain ones, and the algorithms on top of
 * them. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/common/flush_denormals.h"
#include "core/network/decider.h"
#include "core/training/initialize.h"
#include "core/training/trainer.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <random>

using namespace gr::adann;
using namespace gr::adann::core;
using simd::activation;
using simd::lanes;
using simd::tile;

namespace gr::adann::core::simd::wide {
extern const kernels table;
}

namespace {

std::vector<const simd::kernels*> vector_kernels()
{
    auto tables = simd::available();
    tables.erase(tables.begin()); // plain
    tables.push_back(&simd::wide::table);
    return tables;
}

std::mt19937 generator(3);

std::vector<float> random_floats(std::size_t n, float scale = 1.0f)
{
    std::normal_distribution<float> normal(0.0f, scale);
    std::vector<float> values(n);
    for (auto& value : values)
        value = normal(generator);
    return values;
}

// |a - b| relative to b's length: what rounding leaves of two ways to add the same
// numbers.
double difference(const std::vector<float>& a, const std::vector<float>& b)
{
    double error = 0, length = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        error += std::pow(static_cast<double>(a[i]) - b[i], 2);
        length += std::pow(static_cast<double>(b[i]), 2);
    }
    return std::sqrt(error / length);
}

template <typename Test>
void for_each_table(Test test)
{
    for (const auto* table : vector_kernels())
        BOOST_TEST_CONTEXT(table->name) { test(*table); }
}

} // namespace

BOOST_AUTO_TEST_SUITE(kernels)

BOOST_AUTO_TEST_CASE(split_sorts_every_stride_by_phase)
{
    for_each_table([](const auto& fast) {
        for (const std::size_t stride : { 1, 2, 3, 4, 5, 8, 16, 44 })
            for (const std::size_t missing : { 0, 1, 7, 200 }) {
                const std::size_t columns = tile + 10, pitch = tile + 16;
                const std::size_t available =
                    stride * columns - std::min(missing, stride * 99);
                // No float more than there is: AddressSanitizer watches the end.
                const auto samples = random_floats(available);
                std::vector<float> found(stride * pitch, -1),
                    expected(stride * pitch, -1);
                fast.split(
                    samples.data(), available, stride, columns, found.data(), pitch);
                simd::plain.split(
                    samples.data(), available, stride, columns, expected.data(), pitch);
                BOOST_TEST((found == expected));
            }
    });
}

BOOST_AUTO_TEST_CASE(affine_and_outer_are_the_plain_sums_for_every_size)
{
    for_each_table([](const auto& fast) {
        for (std::size_t outputs = 1; outputs <= 30; ++outputs)
            for (const std::size_t inputs : { 1, 2, 3, 10, 44 }) {
                const auto weights = random_floats(inputs * outputs);
                const auto biases = random_floats(outputs);
                const auto active = random_floats(outputs * tile);
                const auto x = random_floats(inputs * tile + 3);
                std::vector<std::uint32_t> row(inputs);
                for (std::size_t i = 0; i < inputs; ++i) // any order, any alignment
                    row[i] = static_cast<std::uint32_t>((inputs - 1 - i) * tile + i % 4);
                std::vector<float> found(outputs * tile), expected(outputs * tile);
                for (const auto then :
                     { activation::none, activation::relu, activation::masked }) {
                    const auto run =
                        [&](const auto& k, float* bias, std::vector<float>& y) {
                            k.affine(weights.data(),
                                     bias,
                                     bias ? nullptr : active.data(),
                                     inputs,
                                     outputs,
                                     x.data(),
                                     row.data(),
                                     then,
                                     active.data(),
                                     y.data());
                        };
                    auto bias = biases;
                    run(fast, bias.data(), found);
                    run(simd::plain, bias.data(), expected);
                    BOOST_TEST(difference(found, expected) < 1e-6);
                    run(fast, nullptr, found);
                    run(simd::plain, nullptr, expected);
                    BOOST_TEST(difference(found, expected) < 1e-6);
                }
                const auto dy = random_floats(outputs * tile);
                const auto start = random_floats(outputs * inputs * lanes);
                // Which lane takes which symbol is the kernel's choice: the totals count.
                const auto totals =
                    [&](const auto& k, std::size_t columns, bool rows_only) {
                        auto sums = start;
                        if (rows_only)
                            k.row_sums(dy.data(), outputs, sums.data());
                        else
                            k.outer(dy.data(),
                                    outputs,
                                    x.data(),
                                    row.data(),
                                    inputs,
                                    sums.data());
                        std::vector<float> total(outputs * columns);
                        for (std::size_t i = 0; i < total.size() * lanes; ++i)
                            total[i / lanes] += sums[i];
                        return total;
                    };
                BOOST_TEST(difference(totals(fast, inputs, false),
                                      totals(simd::plain, inputs, false)) < 1e-5);
                BOOST_TEST(difference(totals(fast, 1, true),
                                      totals(simd::plain, 1, true)) < 1e-5);
            }
    });
}

BOOST_AUTO_TEST_CASE(slide_is_the_plain_sum_wherever_it_comes_in_a_row)
{
    for_each_table([](const auto& fast) {
        for (const std::size_t rows : { 1, 2, 3, 4 })
            for (const std::size_t n : { 1, 2, 49 })
                for (const std::size_t step : { 1, 5, 64 })
                    for (const std::size_t columns : { lanes, 3 * lanes, 11 * lanes })
                        for (const float keep : { 0.0f, 0.75f }) {
                            const auto factors = random_floats(rows * n);
                            const auto x = random_floats((n - 1) * step + columns);
                            auto found = random_floats(rows * columns);
                            if (keep == 0)
                                found[0] = std::nanf("");
                            auto expected = found, part = found;
                            const float* a[4];
                            float *to[4], *wanted[4], *end[4];
                            for (std::size_t r = 0; r < rows; ++r) {
                                a[r] = &factors[r * n];
                                to[r] = &found[r * columns];
                                wanted[r] = &expected[r * columns];
                                end[r] = &part[(r + 1) * columns - lanes];
                            }
                            fast.slide(a, rows, n, x.data(), step, columns, keep, to);
                            simd::plain.slide(
                                a, rows, n, x.data(), step, columns, keep, wanted);
                            BOOST_TEST(difference(found, expected) < 1e-6);
                            fast.slide(a,
                                       rows,
                                       n,
                                       x.data() + columns - lanes,
                                       step,
                                       lanes,
                                       keep,
                                       end);
                            BOOST_TEST(std::equal(
                                end[0], end[0] + lanes, to[0] + columns - lanes));
                        }
    });
}

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
