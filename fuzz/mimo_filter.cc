/* A matrix of filters on mixed, silent, equal and broken channels: finite, and the same however it is cut.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "input.h"

#include "core/tracking/mimo_filter.h"
#include "core/training/noise.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

constexpr unsigned half_window = 1;
constexpr std::size_t points = 4, most_known = 1000; // symbols that a start is told
constexpr std::size_t most_steps = 128;              // behind that

//! A QPSK receiver whose network slices the middle sample, and whose waveform is the point.
model slicer(unsigned sps)
{
    const std::size_t inputs = 2 * sps * (2 * half_window + 1);
    model made(network({ inputs, points, points }), sps, half_window, true, "qpsk");
    expected_waveform waveform(made.symbols, sps, true, half_window, 1);
    std::vector<float> affine(waveform.rows() * waveform.stride());
    const std::size_t own =
        1 + 2 * half_window; // the row of the middle symbol's real part
    for (unsigned k = 0; k < sps; ++k)
        for (std::size_t plane : { 0, 1 })
            affine[(own + plane) * waveform.stride() + 2 * k + plane] = 1;
    waveform.set(
        affine, std::vector<float>(waveform.patterns() * waveform.stride()), 0.2f);
    made.set_waveform(waveform);
    made.symbol_error_rate = 0.01f;
    auto& weights = made.net.parameters();
    const auto layers = made.net.layers();
    const std::size_t middle = 2 * (sps * half_window + sps / 2);
    for (std::size_t hidden = 0; hidden < points; ++hidden) { // I, -I, Q, -Q, rectified
        const float sign = hidden % 2 ? -1 : 1;
        weights[layers[0].weights + hidden * inputs + middle + hidden / 2] = sign;
        for (std::size_t label = 0; label < points; ++label) {
            const auto point = made.symbols.points()[label];
            weights[layers[1].weights + label * points + hidden] =
                5 * sign * (hidden < 2 ? point.real() : point.imag());
        }
    }
    return made;
}

using channel = std::vector<float>;

//! What the channels receive of `sent`, each transmitter with a gain and a carrier of its own, in noise.
std::vector<channel> mixed(fuzz::input& from,
                           const model& behind,
                           std::size_t channels,
                           const std::vector<std::vector<std::uint8_t>>& sent)
{
    const std::size_t sps = behind.window.sps(), symbols = sent[0].size();
    std::vector<channel> all(channels, channel(2 * sps * symbols));
    for (auto& each : all) {
        gaussian_noise(from.take<std::uint8_t>()).fill(each.data(), each.size());
        const float noise = 0.02f * from.up_to(20);
        for (float& sample : each)
            sample *= noise;
        for (const auto& labels : sent) {
            const std::complex<float> gain(from.up_to(200) / 100.f - 1,
                                           from.up_to(200) / 100.f - 1);
            const float turn = 5e-4f * (from.up_to(10) - 5.f);
            for (std::size_t i = 0; i < symbols; ++i) {
                const auto sample = behind.symbols.points()[labels[i]] * gain *
                                    std::polar(1.f, turn * float(i));
                for (std::size_t k = 2 * sps * i; k < 2 * sps * (i + 1); k += 2) {
                    each[k] += sample.real();
                    each[k + 1] += sample.imag();
                }
            }
        }
    }
    return all;
}

void spoil(fuzz::input& from, std::vector<channel>& all)
{
    const auto scaled = [](channel& each, std::size_t first, float factor) {
        for (std::size_t i = first; i < each.size(); ++i)
            each[i] *= factor;
    };
    switch (from.up_to(7)) {
    case 0:
        scaled(all[0], 0, 0);
        break;
    case 1:
        all[0] = all.back();
        break;
    case 2:
        scaled(all[0], 0, 1e-20f);
        break;
    case 3:
        scaled(all[0], 0, 900);
        break;
    case 4:
        scaled(all[0], 0, std::numeric_limits<float>::quiet_NaN());
        break;
    case 5:
        for (auto& each : all)
            scaled(each, each.size() / 2, 0.3f);
        break;
    }
    for (std::size_t n = from.up_to(16); n-- > 0;) {
        channel& each = all[from.up_to(all.size() - 1)];
        each[from.up_to(each.size() - 1)] = from.take<float>();
    }
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    static const model receivers[] = { slicer(1), slicer(2) };
    fuzz::input from(bytes, size);
    const model& behind = receivers[from.flag()];
    mimo_filter_settings settings;
    settings.channels = 1 + from.up_to(3);
    settings.outputs = 1 + from.up_to(settings.channels - 1);
    settings.length = 1 + from.up_to(4);
    const std::size_t known = from.size_up_to(most_known);
    const bool told = from.up_to(63) > 0; // else it starts blindly, which takes long
    const std::size_t least = told ? known : mimo_streams::start_symbols;
    const std::size_t steps = least / mimo_filter::step + from.size_up_to(most_steps);
    std::vector<std::vector<std::uint8_t>> sent(
        settings.outputs, std::vector<std::uint8_t>(steps * mimo_filter::step));
    std::uint32_t state = from.take<std::uint32_t>() | 1;
    for (auto& labels : sent)
        for (auto& label : labels)
            label = ((state = state * 1664525 + 1013904223) >> 16) % points;
    auto received = mixed(from, behind, settings.channels, sent);
    spoil(from, received);

    mimo_filter whole(behind, settings), cut(behind, settings);
    const auto at = [&](std::vector<channel>& all, std::size_t step) {
        std::vector<float*> first;
        for (auto& each : all)
            first.push_back(&each[2 * mimo_filter::step * behind.window.sps() * step]);
        return first;
    };
    const auto samples = [&](std::size_t step) {
        const auto first = at(received, step);
        return std::vector<const float*>(first.begin(), first.end());
    };
    if (told) {
        std::vector<const std::uint8_t*> labels;
        for (const auto& each : sent)
            labels.push_back(each.data());
        for (auto* filter : { &whole, &cut })
            try {
                filter->start(samples(0).data(), known, labels.data());
            } catch (const std::exception&) { // which leaves it as it was
            }
    }
    std::vector<channel> outputs(settings.outputs, channel(received[0].size())),
        in_parts = outputs;
    whole.run(samples(0).data(), steps, at(outputs, 0).data());
    for (std::size_t done = 0; done < steps;) {
        const std::size_t count = std::min(steps - done, 1 + from.up_to(90));
        cut.run(samples(done).data(), count, at(in_parts, done).data());
        done += count;
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) {
        fuzz::require(std::memcmp(outputs[o].data(),
                                  in_parts[o].data(),
                                  outputs[o].size() * sizeof(float)) == 0,
                      "the same however it is cut");
        for (const float sample : outputs[o])
            fuzz::require(std::isfinite(sample), "finite samples");
    }
    return 0;
}
