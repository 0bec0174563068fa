/* The kernels that move and multiply, of every instruction set, against the plain ones.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/common/aligned.h"
#include "kernel_tables.h"

using namespace gr::adann;
using namespace gr::adann::core;
using namespace kernel_tables;
using simd::activation;
using simd::lanes;
using simd::tile;

BOOST_AUTO_TEST_SUITE(products)

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

BOOST_AUTO_TEST_CASE(dot_is_the_sum_of_products_of_any_length)
{
    for_each_table([](const auto& fast) {
        for (const std::size_t n : { 0, 1, 15, 16, 17, 64, 100, 1000 }) {
            const auto a = random_floats(n), b = random_floats(n);
            double products = 0, sum = 0;
            for (std::size_t i = 0; i < n; ++i) {
                products += double{ a[i] } * b[i];
                sum += a[i];
            }
            BOOST_TEST(std::abs(fast.dot(a.data(), b.data(), n) - products) < 1e-4);
            BOOST_TEST(std::abs(fast.dot(a.data(), nullptr, n) - sum) < 1e-4);
        }
    });
}

BOOST_AUTO_TEST_CASE(covariance_rows_are_the_sums_over_all_windows)
{
    for_each_table([](const auto& fast) {
        for (const std::size_t n : { 1, 20, 256 })
            for (const std::size_t taps : { 1, 2, 16, 25, 49, 64, 65, 97 }) {
                const std::size_t pitch = simd::whole_lanes(taps) + lanes;
                auto x = random_floats(n + taps - 1 + lanes);
                std::fill(x.end() - lanes, x.end(), std::nanf("")); // only read
                const auto sum = [&](std::size_t k, std::size_t j) {
                    double total = 0;
                    for (std::size_t i = 0; i < n; ++i)
                        total += double{ x[i + k] } * x[i + j];
                    return total;
                };
                std::vector<float> found(taps * pitch, -1);
                for (std::size_t j = 0; j < taps; ++j)
                    found[j] = static_cast<float>(sum(0, j));
                fast.covariance_rows(x.data(), n, taps, pitch, found.data());
                double most = 0;
                for (std::size_t k = 1; k < taps; ++k)
                    for (std::size_t j = 0; j < pitch; ++j)
                        most = std::max(
                            most,
                            std::abs(found[k * pitch + j] - (j < taps ? sum(k, j) : 0)));
                BOOST_TEST(most < 1e-3); // of sums up to 100
            }
    });
}

BOOST_AUTO_TEST_SUITE_END()
