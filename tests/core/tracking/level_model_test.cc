/* Outputs of the eight levels, drawn from what the model assumes.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/level_model.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <random>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(level_models)

// With means s and variance v: Bayes' formula.
BOOST_AUTO_TEST_CASE(an_estimate_is_the_posteriors)
{
    level_model model;
    model.start(0.5f);
    const double gain = 1 / (1 + 0.5 / 21), variance = 0.5 * gain;
    for (double y = -9; y < 9; y += 0.37) {
        double sum = 0, first = 0, second = 0;
        for (int s = -7; s <= 7; s += 2) {
            const double weight =
                std::exp(-(y - gain * s) * (y - gain * s) / 2 / variance);
            sum += weight, first += weight * s, second += weight * s * s;
        }
        const auto found = model.find(static_cast<float>(y));
        const double mean = first / sum;
        BOOST_TEST(std::abs(found.mean - mean) < 1e-4);
        BOOST_TEST(std::abs(found.variance - (second / sum - mean * mean)) < 1e-4);
        BOOST_TEST(std::abs(model.level_of(static_cast<float>(y)) - y / gain) < 1e-4);
    }
}

// An amplifier's bend is learnt where one decision in ten is wrong, without a known symbol.
BOOST_DATA_TEST_CASE(a_bend_is_learnt_from_the_outputs_alone,
                     data::make({ 0.0f, 0.1f }),
                     bend)
{
    const auto sent_as = [bend](float s) {
        return 0.97f * s - bend * s * s * s / 49 + 0.1f;
    };
    level_model model;
    model.start(0.5f);
    std::mt19937 random(1);
    std::normal_distribution<float> noise(0, 0.55f);
    for (int block = 0; block < 1000; ++block) {
        for (int i = 0; i < 208; ++i)
            model.learn(sent_as(2 * static_cast<float>(random() % 8) - 7) + noise(random),
                        0);
        model.update(208);
    }
    for (float s = -7; s <= 7; s += 2)
        BOOST_TEST(std::abs(model.level_of(sent_as(s)) - s) < 0.1f);
}

BOOST_AUTO_TEST_SUITE_END()
