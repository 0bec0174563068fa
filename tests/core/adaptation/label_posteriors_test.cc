/* How probable each label of refined symbols is.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_posteriors.h"
#include "nonlinear_link.h"

#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>
#include <string>

using namespace gr::adann::core;
using namespace nonlinear;
namespace data = boost::unit_test::data;

namespace {

constexpr std::size_t window = label_posteriors::window,
                      around = label_posteriors::around;

// A waveform over two symbols, and matches of which some symbols in the middle are unsure.
struct fixture {
    explicit fixture(const kind& of, float sure = 20)
        : received(of.symbols, of.sps, of.is_complex, 3),
          descent(received.symbols, received.trained),
          points(received.symbols.unit_points()),
          labels(window),
          matches(window)
    {
        refinement signal(received.trained);
        signal.known = true;
        signal.number = 1;
        signal.taps[signal.taps.size() / 2 - 1] = signal.whitening[0] = 1;
        signal.power = signal.power_along = 1;
        descent.use(signal);
        // So that the other symbols are sure: exp(-20) of the labels that are nearest.
        power = descent.alternatives().least_energy() / (2 * sure);
        signal.power = signal.power_along = power;
        descent.use(signal);
        for (auto& label : labels)
            label = received.random() % received.symbols.size();
        // Nearly half a step towards another label, of its own response.
        for (std::size_t i = 0; i < unsure; ++i)
            move(first + i, 0.47f - 0.02f * static_cast<float>(i % 3));
    }

    //! From one label's point to another's, in dimension d.
    double step(std::size_t from, std::size_t to, std::size_t d) const
    {
        const auto change = points[to] - points[from];
        return d ? change.imag() : change.real();
    }
    void move(std::size_t symbol, float part)
    {
        const auto other = received.symbols.neighbours(labels[symbol])[0];
        for (std::size_t d = 0; d < descent.responses().dimensions(); ++d)
            for (std::size_t e = 0; e < descent.responses().dimensions(); ++e)
                matches[symbol].along[d] +=
                    part * descent.responses().product(0, d, e) *
                    static_cast<float>(step(labels[symbol], other, e));
    }

    //! ln of the likelihood of labels over that of those decided: (e·b - e·A e / 2) / power.
    double likelihood(const std::vector<std::uint8_t>& others) const
    {
        const std::size_t dimensions = descent.responses().dimensions();
        double sum = 0;
        for (std::size_t i = 0; i < window; ++i)
            for (std::size_t d = 0; d < dimensions; ++d) {
                const double own = step(labels[i], others[i], d);
                sum += own * matches[i].along[d];
                for (std::size_t k = i; own != 0 && k < std::min(window, i + 9); ++k)
                    for (std::size_t e = 0; e < dimensions; ++e)
                        sum -= (k == i ? 0.5 : 1) * own *
                               descent.responses().product(k - i, d, e) *
                               step(labels[k], others[k], e);
            }
        return sum / power;
    }

    //! Of the unsure symbols, by all combinations of their labels.
    std::vector<double> by_brute_force() const
    {
        const std::size_t classes = points.size();
        std::vector<double> found(unsure * classes);
        std::vector<std::uint8_t> others(labels);
        double all = 0;
        const auto visit = [&](const auto& self, std::size_t i) -> void {
            if (i < unsure) {
                for (std::size_t m = 0; m < classes; ++m) {
                    others[first + i] = static_cast<std::uint8_t>(m);
                    self(self, i + 1);
                }
                return;
            }
            const double likely = std::exp(likelihood(others));
            all += likely;
            for (std::size_t k = 0; k < unsure; ++k)
                found[k * classes + others[first + k]] += likely;
        };
        visit(visit, 0);
        for (double& each : found)
            each /= all;
        return found;
    }

    static constexpr std::size_t unsure = 4, first = around + 3;
    float power = 1;
    nonlinear_link received;
    label_descent descent;
    const std::vector<std::complex<float>> points;
    std::vector<std::uint8_t> labels;
    std::vector<label_descent::match> matches;
};

} // namespace

BOOST_AUTO_TEST_SUITE(posteriors_of_labels)

BOOST_DATA_TEST_CASE(they_are_those_of_all_combinations, data::make(kinds), kind)
{
    fixture link(kind);
    const std::size_t classes = link.points.size();
    label_posteriors soft(link.received.symbols);
    std::vector<float> found(label_posteriors::block * classes);
    soft.use(link.descent);
    soft.find(link.labels.data(), link.matches.data(), window);
    for (std::size_t i = 0; i < label_posteriors::block; ++i)
        soft.write(i, &found[i * classes]);
    const auto expected = link.by_brute_force();
    double least_sure = 1;
    for (std::size_t i = 0; i < fixture::unsure; ++i) {
        std::vector<float> own(classes);
        for (std::size_t m = 0; m < classes; ++m)
            own[m] = static_cast<float>(expected[i * classes + m]);
        const std::uint8_t label = link.labels[fixture::first + i];
        label_posteriors::favour(label, own.data(), classes);
        least_sure = std::min<double>(least_sure, own[label]);
        const std::size_t at = fixture::first + i - around;
        for (std::size_t m = 0; m < classes; ++m)
            // Of QPSK, states that differ in a label two symbols ago are merged.
            BOOST_TEST(std::abs(found[at * classes + m] - own[m]) <
                       (kind.symbols == std::string("qpsk") ? 0.05 : 0.02));
    }
    BOOST_TEST(least_sure < 0.9);
    for (std::size_t i = 0; i < label_posteriors::block; ++i) {
        const float* const own = &found[i * classes];
        BOOST_TEST(std::max_element(own, own + classes) - own == link.labels[around + i]);
    }
}

// Of symbols that were looked at before the noise rose: changes of their labels were hardly worth a look then.
BOOST_DATA_TEST_CASE(they_are_probabilities_where_the_noise_rises,
                     data::make(kinds) * data::make({ 2.0f, 2.5f, 3.0f, 3.5f, 4.0f }),
                     kind,
                     sure)
{
    fixture link(kind, sure);
    const std::size_t classes = link.points.size();
    label_posteriors soft(link.received.symbols);
    soft.use(link.descent);
    std::vector<label_descent::match> quiet(window), loud(quiet);
    for (std::size_t i = window - label_posteriors::block; i < window; ++i)
        loud[i].along[0] =
            30 * std::sqrt(link.power * link.descent.responses().product(0, 0, 0));
    for (const auto* matches : { &loud, &quiet, &quiet }) {
        soft.find(link.labels.data(), matches->data(), label_posteriors::block);
        std::vector<float> found(classes);
        for (std::size_t i = 0; i < label_posteriors::block; ++i) {
            soft.write(i, found.data());
            BOOST_TEST(std::all_of(found.begin(), found.end(), [](float each) {
                return each >= 0 && each <= 1;
            }));
            BOOST_TEST(std::accumulate(found.begin(), found.end(), 0.0f) == 1.0f,
                       boost::test_tools::tolerance(1e-3f));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
