/* Linear prediction of noise.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/noise_prediction.h"
#include "core/files/tensor_file.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

using namespace gr::adann::core;

namespace {

constexpr std::size_t batch = 512, sps = 2, samples = batch * sps;
constexpr double white = 0.1; // of the power, added to the matrix
using taps = std::vector<std::complex<float>>;

/* First-order autoregressive noise: v(i) = ρ v(i - 1) + white noise, whose autocorrelation is proportional to ρ^lag. Its
 * real part is the noise for one plane, with a real ρ. */
class autoregressive
{
public:
    autoregressive(std::size_t planes, unsigned seed) : d_planes(planes), d_random(seed)
    {
    }

    const std::vector<float>& next(std::complex<double> correlation)
    {
        for (std::size_t i = 0; i < samples; ++i) {
            d_last = correlation * d_last +
                     std::complex<double>(d_normal(d_random), d_normal(d_random));
            d_residual[i * d_planes] = static_cast<float>(d_last.real());
            if (d_planes == 2)
                d_residual[2 * i + 1] = static_cast<float>(d_last.imag());
        }
        return d_residual;
    }

private:
    const std::size_t d_planes;
    std::mt19937 d_random;
    std::normal_distribution<double> d_normal;
    std::complex<double> d_last = 0;
    std::vector<float> d_residual = std::vector<float>(samples * d_planes);
};

taps whitening(noise_prediction& from, std::size_t lags)
{
    taps found(lags + 1);
    from.write(found);
    return found;
}

} // namespace

BOOST_AUTO_TEST_SUITE(the_prediction_of_noise)

// Of lags 1 and 2: the equations of r(lag) = ρ^lag, solved by Cramer's rule. 64 batches have the correlation to 0.006.
BOOST_AUTO_TEST_CASE(its_equations_are_those_of_the_autocorrelation)
{
    for (const std::size_t planes : { 1, 2 }) {
        const std::complex<double> rho(0.6, planes == 2 ? 0.3 : 0.0);
        noise_prediction prediction(2, planes, samples);
        autoregressive noise(planes, 1);
        BOOST_TEST(!prediction.known());
        for (int i = 0; i < 64; ++i)
            prediction.add(noise.next(rho).data(), samples, batch);
        BOOST_TEST(prediction.known());
        // Rows j of r(j - k), with r(-1) the conjugate; right sides r(j).
        const std::complex<double> d = 1 + white, a = std::conj(rho), c = rho;
        const std::complex<double> first = rho, second = rho * rho;
        const auto det = d * d - a * c;
        const auto found = whitening(prediction, 2);
        BOOST_TEST(found[0] == 1.0f);
        BOOST_TEST(std::abs(std::complex<double>(found[1]) +
                            (first * d - a * second) / det) < 0.03);
        BOOST_TEST(std::abs(std::complex<double>(found[2]) +
                            (d * second - c * first) / det) < 0.03);
    }
}

// Of stationary noise a shorter average has more error, by 6 lags over its number of samples: 0.6 % of 512 symbols.
BOOST_AUTO_TEST_CASE(stationary_noise_is_averaged_for_long)
{
    noise_prediction prediction(6, 2, samples);
    autoregressive noise(2, 2);
    for (int i = 0; i < 200; ++i)
        prediction.add(noise.next({ 0.5, 0.2 }).data(), samples, batch);
    BOOST_TEST(prediction.memory() == 8192u);
}

// The correlation rotates once in so many symbols: the nearest prediction is a recent one.
BOOST_AUTO_TEST_CASE(noise_that_changes_is_averaged_briefly)
{
    const auto memory = [](double period) {
        noise_prediction prediction(6, 2, samples);
        autoregressive noise(2, 3);
        for (int i = 0; i < 200; ++i)
            prediction.add(
                noise.next(std::polar(0.5, 2 * M_PI * i * batch / period)).data(),
                samples,
                batch);
        return prediction.memory();
    };
    BOOST_TEST(memory(10'000) == 512u);
    BOOST_TEST(memory(100'000) == 2048u);
    BOOST_TEST(memory(10'000'000) == 8192u);
}

// And soon after it has begun to change.
BOOST_AUTO_TEST_CASE(the_average_follows_what_the_noise_does)
{
    noise_prediction prediction(6, 2, samples);
    autoregressive noise(2, 4);
    const auto send = [&](int batches, double turns) {
        for (int i = 0; i < batches; ++i)
            prediction.add(
                noise.next(std::polar(0.5, 2 * M_PI * i * turns)).data(), samples, batch);
    };
    send(100, 0);
    BOOST_TEST(prediction.memory() == 8192u);
    send(20, 0.05);
    BOOST_TEST(prediction.memory() == 512u);
    send(100, 0);
    BOOST_TEST(prediction.memory() == 8192u);
}

// No time constant is better before the longest one is over.
BOOST_AUTO_TEST_CASE(all_of_the_first_symbols_are_averaged)
{
    noise_prediction prediction(6, 2, samples);
    autoregressive noise(2, 8);
    for (std::size_t i = 0; i + 1 < 8192 / batch; ++i) {
        prediction.add(
            noise.next(std::polar(0.5, static_cast<double>(i))).data(), samples, batch);
        BOOST_TEST(prediction.memory() == 8192u);
    }
}

// What was before 100,000 skipped symbols counts exp(-12) and less.
BOOST_AUTO_TEST_CASE(time_constants_are_of_the_stream)
{
    autoregressive noise(1, 5);
    const auto before = noise.next(0.9), after = noise.next(-0.5);
    noise_prediction one(4, 1, samples), both(4, 1, samples);
    one.add(after.data(), samples, batch);
    both.add(before.data(), samples, batch);
    both.add(after.data(), samples, 100'000);
    const auto alone = whitening(one, 4), found = whitening(both, 4);
    for (std::size_t k = 0; k <= 4; ++k)
        BOOST_TEST(std::abs(alone[k] - found[k]) < 1e-3f);
}

BOOST_AUTO_TEST_CASE(silence_is_left_as_it_is)
{
    noise_prediction prediction(3, 1, samples);
    const std::vector<float> silence(samples);
    for (int i = 0; i < 3; ++i)
        prediction.add(silence.data(), samples, batch);
    BOOST_TEST(!prediction.known());
    BOOST_TEST((whitening(prediction, 3) == taps{ 1, 0, 0, 0 }));
    autoregressive noise(1, 6);
    prediction.add(noise.next(0.5).data(), samples, batch);
    BOOST_TEST(prediction.known());
    BOOST_TEST(std::abs(whitening(prediction, 3)[1] + 0.5f) < 0.15f);
}

BOOST_AUTO_TEST_CASE(a_checkpoint_goes_on_to_the_bit)
{
    noise_prediction prediction(6, 2, samples), restored(6, 2, samples);
    autoregressive noise(2, 7);
    for (int i = 0; i < 40; ++i)
        prediction.add(noise.next(std::polar(0.5, i * 0.3)).data(), samples, 3 * batch);
    tensor_file saved;
    archive::saving(saved, "")("prediction", prediction);
    archive::restoring(saved, "")("prediction", restored);
    BOOST_TEST(restored.memory() == prediction.memory());
    for (int i = 0; i < 40; ++i) {
        const auto& residual = noise.next(0.5);
        prediction.add(residual.data(), samples, batch);
        restored.add(residual.data(), samples, batch);
        BOOST_TEST((whitening(prediction, 6) == whitening(restored, 6)));
        BOOST_TEST(restored.memory() == prediction.memory());
    }
    prediction.reset();
    BOOST_TEST(!prediction.known());
}

BOOST_AUTO_TEST_SUITE_END()
