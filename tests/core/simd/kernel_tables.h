/* -*- c++ -*- */
/*
 * Every instruction set's kernels, and what to compare them with the plain ones by.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/simd/kernels.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>
#include <vector>

namespace gr::adann::core::simd::wide {
extern const kernels table;
}

namespace kernel_tables {

using namespace gr::adann::core;

inline std::vector<const simd::kernels*> vector_kernels()
{
    auto tables = simd::available();
    tables.erase(tables.begin()); // plain
    tables.push_back(&simd::wide::table);
    return tables;
}

inline std::mt19937 generator(3);

inline std::vector<float> random_floats(std::size_t n, float scale = 1.0f)
{
    std::normal_distribution<float> normal(0.0f, scale);
    std::vector<float> values(n);
    for (auto& value : values)
        value = normal(generator);
    return values;
}

// |a - b| relative to b's length: what rounding leaves of two ways to add the same
// numbers.
inline double difference(const std::vector<float>& a, const std::vector<float>& b)
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
        BOOST_TEST_CONTEXT(table->name)
        {
            generator.seed(1); // the same numbers on every machine, whatever ran before
            test(*table);
        }
}

} // namespace kernel_tables
