/* -*- c++ -*- */
/*
 * A link of rectangular pulses, at any number of samples per symbol, for tests.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/model.h"

#include <algorithm>
#include <complex>
#include <random>
#include <string>
#include <vector>

//! Its network decides the point nearest to a symbol's middle sample; its waveform has the symbol's
//! point of unit power in all samples, and noise.
inline gr::adann::core::model
make_slicer(const std::string& name, unsigned sps, unsigned half_window, float noise)
{
    using namespace gr::adann::core;
    const constellation alphabet(name);
    const bool is_complex = alphabet.is_complex();
    const std::size_t planes = is_complex ? 2 : 1;
    const auto points = alphabet.unit_points();
    network net({ planes * sps * (2 * half_window + 1), points.size() });
    auto& parameters = net.parameters();
    std::fill(parameters.begin(), parameters.end(), 0.0f);
    const auto& layer = net.layers().front();
    for (std::size_t label = 0; label < points.size(); ++label) {
        const std::size_t middle =
            layer.weights + label * layer.inputs + planes * (sps * half_window + sps / 2);
        parameters[middle] = 10 * points[label].real();
        if (is_complex)
            parameters[middle + 1] = 10 * points[label].imag();
        parameters[layer.biases + label] = -5 * std::norm(points[label]);
    }
    model receiver(net, sps, half_window, is_complex, name);
    expected_waveform waveform(receiver.symbols, sps, is_complex, 1, 0);
    std::vector<float> affine(waveform.rows() * waveform.stride());
    for (std::size_t d = 0; d < planes; ++d)
        for (std::size_t i = 0; i < sps; ++i)
            affine[(1 + planes + d) * waveform.stride() + i * planes + d] = 1;
    waveform.set(affine, std::vector<float>(waveform.table().size()), noise);
    receiver.set_waveform(waveform);
    return receiver;
}

//! Random symbols of a constellation, and their samples.
struct sent_symbols {
    std::vector<std::uint8_t> labels;
    std::vector<std::complex<float>> samples; //!< symbol k's middle is sample k·sps

    sent_symbols(const std::string& name, std::size_t count, unsigned sps, unsigned seed)
        : labels(count), samples(count * sps)
    {
        const auto points = gr::adann::core::constellation(name).unit_points();
        std::mt19937 random(seed);
        for (std::size_t k = 0; k < count; ++k) {
            labels[k] = static_cast<std::uint8_t>(random() & (points.size() - 1));
            for (std::size_t i = 0; i < sps; ++i)
                if (const std::size_t at = k * sps + i; at >= sps / 2)
                    samples[at - sps / 2] = points[labels[k]];
        }
    }
    //! White noise of this power in each sample; that of real samples has all of it.
    void add_noise(float power, bool is_complex, unsigned seed)
    {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal(0,
                                               std::sqrt(power / (is_complex ? 2 : 1)));
        for (auto& sample : samples) {
            const float re = normal(random);
            sample += std::complex<float>(re, is_complex ? normal(random) : 0.0f);
        }
    }
    //! Interleaved, or the real parts, with zeros before the first one and behind the last one.
    std::vector<float>
    floats(bool is_complex, std::size_t before, std::size_t behind) const
    {
        const std::size_t planes = is_complex ? 2 : 1;
        std::vector<float> all(planes * (before + samples.size() + behind));
        for (std::size_t i = 0; i < samples.size(); ++i) {
            all[planes * (before + i)] = samples[i].real();
            if (is_complex)
                all[planes * (before + i) + 1] = samples[i].imag();
        }
        return all;
    }
};
