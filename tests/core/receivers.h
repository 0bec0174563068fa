/* -*- c++ -*- */
/*
 * Models and a signal for tests.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/model.h"
#include "core/signal/windows.h"
#include "core/training/initialize.h"
#include "core/training/noise.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

//! Untrained, half_window 5, four hidden layers of ten.
inline gr::adann::core::model make_model(unsigned sps, bool complex, const char* alphabet)
{
    using namespace gr::adann::core;
    const std::size_t inputs = window_geometry(sps, 5, complex).dimension();
    network net({ inputs, 10, 10, 10, 10, constellation(alphabet).size() });
    initialize(net, 1);
    return model(net, sps, 5, complex, alphabet);
}

/*! Its four labels come equally often from white noise, and independently: they tell
 * which quarter of the normal distribution the middle sample lies in, so a guard takes
 * noise for a signal.
 * \param sharpness of its posteriors
 * \param echo how much of the symbol before's middle sample it adds
 * \param spacing of its levels */
inline gr::adann::core::model
make_receiver(float sharpness = 8, float echo = 0, float spacing = 0.6745f)
{
    using namespace gr::adann::core;
    model receiver = make_model(4, false, "pam4");
    auto& parameters = receiver.net.parameters();
    std::fill(parameters.begin(), parameters.end(), 0.0f);
    const auto weight =
        [&](std::size_t layer, std::size_t out, std::size_t in) -> float& {
        const auto& l = receiver.net.layers()[layer];
        return parameters[l.weights + out * l.inputs + in];
    };
    weight(0, 0, 22) = 1; // the positive part
    weight(0, 0, 18) = echo;
    weight(0, 1, 22) = -1;
    weight(0, 1, 18) = -echo;
    for (std::size_t layer : { 1, 2, 3 })
        weight(layer, 0, 0) = weight(layer, 1, 1) = 1;
    for (std::size_t label = 0; label < 4; ++label) {
        const std::size_t rank = label ^ (label >> 1); // labels are a Gray code
        const float level =
            spacing * (static_cast<float>(rank) - 1.5f); // the nearest wins
        weight(4, label, 0) = sharpness * level;
        weight(4, label, 1) = -sharpness * level;
        parameters[receiver.net.layers()[4].biases + label] =
            -0.5f * sharpness * level * level;
    }
    receiver.symbol_error_rate = 0.1f; // a guard watches over calibrated models
    return receiver;
}

//! The same with an expected waveform, the label's own point: a front filter comes
//! before it.
inline gr::adann::core::model make_followed_receiver(float spacing = 2 / std::sqrt(5.0f))
{
    using namespace gr::adann::core;
    model receiver = make_receiver(8, 0, spacing);
    expected_waveform waveform(receiver.symbols, 4, false, 1, 0);
    std::vector<float> affine(waveform.rows() * 4);
    for (std::size_t j = 8; j < 12; ++j)
        affine[j] = 1;
    waveform.set(affine, std::vector<float>(4), 0.1f);
    receiver.set_waveform(waveform);
    return receiver;
}

//! What that receives: random labels as rectangles of four samples, with an echo and
//! noise.
inline std::vector<float> followed_signal(std::size_t count)
{
    std::vector<float> samples(count);
    gr::adann::core::gaussian_noise noise(1);
    noise.fill(samples.data(), count);
    std::mt19937 random(1);
    float held = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (i % 4 == 0)
            held = (2.0f * (random() & 3) - 3) / std::sqrt(5.0f);
        samples[i] = held + (i < 6 ? 0 : 0.3f * samples[i - 6]) + 0.1f * samples[i];
    }
    return samples;
}

//! The Gray labels of followed_signal(), of 4 samples each.
inline std::vector<std::uint8_t> followed_labels(std::size_t count)
{
    std::vector<std::uint8_t> labels(count);
    std::mt19937 random(1);
    for (auto& label : labels) {
        const unsigned rank = random() & 3;
        label = rank ^ (rank >> 1);
    }
    return labels;
}

//! Batches of 512 windows on white noise; 200 of them, then the first ones again.
struct noisy_signal {
    static constexpr std::size_t batch = 512;

    noisy_signal() : samples(4 * batch * 200 + 44)
    {
        gr::adann::core::gaussian_noise(1).fill(samples.data(), samples.size());
    }
    gr::adann::core::feature_view next()
    {
        return { samples.data() + 4 * batch * (count++ % 200), 4, 44, batch };
    }
    std::vector<float> samples;
    std::size_t count = 0;
};
