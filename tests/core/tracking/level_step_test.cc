/* A front filter whose signal's level steps, against the error rate that decisions have in its noise.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/front_filter.h"
#include "core/tracking/input_level.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

namespace {

constexpr unsigned sps = 2, half_window = 1;
constexpr std::size_t symbols = 65536;

struct level {
    const char* name;
    std::size_t rings; // points of a dimension
    std::size_t dimensions;
};

std::ostream& operator<<(std::ostream& out, const level& each)
{
    return out << each.name;
}

// Half the distance of two points, of unit power; as they are given.
float distance_of(const level& each)
{
    const auto n = static_cast<float>(each.rings * each.rings - 1);
    return std::sqrt(3 / (n * static_cast<float>(each.dimensions)));
}

float half_distance(const constellation& symbols)
{
    const auto& points = symbols.points();
    float least = std::abs(points[0] - points[1]);
    for (const auto& point : points)
        if (point != points[0])
            least = std::min(least, std::abs(point - points[0]));
    return least / 2;
}

// Points of unit power in each of a symbol's samples; the network decides the nearest to one of them.
model slicer(const level& each, float noise)
{
    const constellation points(each.name);
    const std::size_t planes = each.dimensions;
    network net({ planes * sps * (2 * half_window + 1), points.size() });
    auto& parameters = net.parameters();
    std::fill(parameters.begin(), parameters.end(), 0.0f);
    const auto& layer = net.layers().front();
    const float scale = distance_of(each) / half_distance(points);
    for (std::size_t label = 0; label < points.size(); ++label) {
        const std::complex<float> point = scale * points.points()[label];
        const std::size_t middle =
            layer.weights + label * layer.inputs + planes * (sps * half_window + sps / 2);
        parameters[middle] = 10 * point.real();
        if (planes == 2)
            parameters[middle + 1] = 10 * point.imag();
        parameters[layer.biases + label] = -5 * std::norm(point);
    }
    model receiver(net, sps, half_window, planes == 2, each.name);
    expected_waveform waveform(receiver.symbols, sps, planes == 2, 1, 0);
    std::vector<float> affine(waveform.rows() * waveform.stride());
    for (std::size_t d = 0; d < planes; ++d)
        for (std::size_t i = 0; i < sps; ++i)
            affine[(1 + planes + d) * waveform.stride() + i * planes + d] = 1;
    waveform.set(affine, std::vector<float>(waveform.table().size()), noise);
    receiver.set_waveform(waveform);
    return receiver;
}

/* The part of labels that is wrong from a symbol on, behind a filter whose signal has another level from `step`
 * on. Of n points in a line, h from each boundary, noise of deviation s takes 2 (1 - 1 / n) Q(h / s) for
 * others: that is what is wrong behind a filter that was told the new level. */
void check_errors(const level& each, float by, std::size_t step, std::size_t from)
{
    const float deviations = 2.8f, noise = distance_of(each) / deviations;
    const double of_line = (1 - 1 / static_cast<double>(each.rings)) *
                           std::erfc(deviations / std::sqrt(2.0));
    const double expected = 1 - std::pow(1 - of_line, each.dimensions);

    const model receiver = slicer(each, noise);
    const std::size_t planes = each.dimensions;
    front_filter filter(receiver);
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, noise);
    std::vector<std::uint8_t> sent(symbols), found(symbols);
    const std::size_t before = filter.reach() + sps * half_window + sps / 2;
    std::vector<float> samples(planes * (sps * symbols + filter.dimension()));
    const auto& points = receiver.symbols.points();
    const float scale = distance_of(each) / half_distance(receiver.symbols);
    for (std::size_t k = 0; k < symbols; ++k) {
        sent[k] = static_cast<std::uint8_t>(random() & (points.size() - 1));
        const auto point = scale * points[sent[k]];
        const float gain = k < step ? 1 : by;
        float* to = &samples[planes * (before - sps / 2 + k * sps)];
        for (std::size_t i = 0; i < sps; ++i, to += planes) {
            to[0] = gain * (point.real() + normal(random));
            if (planes == 2)
                to[1] = gain * (point.imag() + normal(random));
        }
    }
    const window_geometry window(sps, half_window, planes == 2);
    const prepared_network net(receiver.net, window.stride());
    decider decides(receiver.net);
    for (std::size_t k = 0; k < symbols;) {
        const std::size_t n = std::min(symbols - k, filter.left());
        const auto seen = filter.filter(
            { &samples[k * window.stride()], window.stride(), filter.dimension(), n });
        decides.decide(net, seen, &found[k]);
        filter.decided(&found[k], nullptr, n, decides, net);
        k += n;
    }
    double wrong = 0;
    for (std::size_t k = from; k < symbols; ++k)
        wrong += found[k] != sent[k];
    const auto count = static_cast<double>(symbols - from);
    BOOST_TEST(wrong / count < 1.3 * expected + 5 * std::sqrt(expected / count));
    BOOST_TEST(wrong / count > expected / 1.3 - 5 * std::sqrt(expected / count));
}

} // namespace

BOOST_AUTO_TEST_SUITE(level_steps)

// A look every 1024 symbols tells; the filter that starts then has as many to learn from.
BOOST_DATA_TEST_CASE(errors_are_those_of_a_filter_that_was_told_the_level,
                     data::make({ level{ "pam4", 4, 1 },
                                  level{ "16qam", 4, 2 },
                                  level{ "64qam", 8, 2 } }) *
                         data::make({ 0.25f, 0.5f, 0.7f, 1.0f, 1.4f, 2.0f, 4.0f }),
                     each,
                     by)
{
    check_errors(each, by, 8700, 8700 + 2048);
}

// From the first symbol on, as a receiver's gain or samples as whole numbers have it: five looks.
BOOST_DATA_TEST_CASE(another_level_than_the_models_is_taken_off,
                     data::make({ level{ "pam4", 4, 1 },
                                  level{ "16qam", 4, 2 },
                                  level{ "64qam", 8, 2 } }) *
                         data::make({ 1e-6f, 1e-3f, 0.03f, 0.3f, 3.0f, 30.0f, 32768.0f }),
                     each,
                     by)
{
    check_errors(each, by, 0, input_level::looks * 4 * front_filter::block);
}

BOOST_AUTO_TEST_SUITE_END()
