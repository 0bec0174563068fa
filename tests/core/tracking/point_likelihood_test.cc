/* Points in noise against what is not them. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/files/tensor_file.h"
#include "core/tracking/point_likelihood.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;

namespace {

constexpr std::size_t most = 16, set = 100;
const auto alphabets = data::make({ "qpsk", "8psk", "16apsk", "16qam", "64qam" });

//! Estimates of drawn points.
struct drawn_estimates {
    explicit drawn_estimates(const std::string& name)
        : alphabet(name),
          points(alphabet.unit_points()),
          likelihood(
              alphabet,
              std::vector<float>(points.size(), 1.0f / static_cast<float>(points.size())),
              most)
    {
    }
    //! \param deviation of the noise in a dimension, over half the distance of two points
    //! \param cycles by which a symbol rotates relative to the one before
    void add(float deviation, float gain = 1, double cycles = 0, std::size_t sets = most)
    {
        std::normal_distribution<float> normal(0, deviation * alphabet.half_distance());
        std::uniform_int_distribution<std::size_t> any(0, points.size() - 1);
        for (std::size_t s = 0; s < sets; ++s) {
            std::vector<std::complex<float>> z(set);
            for (auto& each : z) {
                each = points[any(random)] * static_cast<std::complex<float>>(
                                                 std::polar(1.0, 2 * M_PI * phase));
                phase += cycles;
                const float re = normal(random);
                each = gain * (each + std::complex<float>(re, normal(random)));
            }
            likelihood.add(z.data(), z.size());
        }
    }

    std::mt19937 random{ 1 };
    double phase = 0;
    const constellation alphabet;
    const std::vector<std::complex<float>> points;
    point_likelihood likelihood;
};

} // namespace

BOOST_AUTO_TEST_SUITE(point_likelihoods)

// A tenth of QPSK's decisions is wrong, a sixth of 64QAM's; any gain.
BOOST_DATA_TEST_CASE(points_in_noise_are_seen,
                     alphabets* data::make({ 0.3f, 1.0f, 7.0f }),
                     name,
                     gain)
{
    drawn_estimates estimates(name);
    BOOST_TEST(!estimates.likelihood.shows_points());
    estimates.add(0.6f, gain);
    BOOST_TEST(estimates.likelihood.shows_points());
    estimates.likelihood.reset();
    BOOST_TEST(!estimates.likelihood.shows_points());
}

// As with an unknown carrier, in little and in much noise: each of 300 means of up to 16 sets.
BOOST_DATA_TEST_CASE(rotating_points_are_not,
                     alphabets* data::make({ 0.05f, 0.3f, 0.65f }),
                     name,
                     deviation)
{
    drawn_estimates estimates(name);
    for (int i = 0; i < 300; ++i) {
        estimates.add(deviation, 1, 0.0437, 1);
        BOOST_TEST(!estimates.likelihood.shows_points());
    }
}

BOOST_DATA_TEST_CASE(gaussian_estimates_are_not, alphabets, name)
{
    drawn_estimates estimates(name);
    for (int i = 0; i < 300; ++i) {
        estimates.add(30, 1, 0, 1);
        BOOST_TEST(!estimates.likelihood.shows_points());
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_number_changes_nothing)
{
    drawn_estimates estimates("16qam");
    std::vector<std::complex<float>> z(set);
    estimates.likelihood.add(z.data(), z.size()); // silence
    z[3] = std::numeric_limits<float>::quiet_NaN();
    estimates.likelihood.add(z.data(), z.size());
    z[3] = std::numeric_limits<float>::infinity();
    estimates.likelihood.add(z.data(), z.size());
    BOOST_TEST(!estimates.likelihood.shows_points());
    estimates.add(0.5f);
    BOOST_TEST(estimates.likelihood.shows_points());
}

BOOST_AUTO_TEST_CASE(its_state_is_kept)
{
    drawn_estimates estimates("qpsk"), other("qpsk");
    estimates.add(0.5f);
    tensor_file file;
    archive saved = archive::saving(file, "points"),
            restored = archive::restoring(file, "points");
    estimates.likelihood.state(saved);
    other.likelihood.state(restored);
    BOOST_TEST(other.likelihood.shows_points());
}

BOOST_AUTO_TEST_SUITE_END()
