/* How fast a matrix of filters is, and the network that decides in it, on two channels in which
 * the model's transmitters are mixed.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench.h"

#include "core/network/model.h"
#include "core/tracking/mimo_filter.h"

#include <array>
#include <cmath>
#include <random>
#include <stdexcept>

namespace bench {

using namespace gr::adann::core;

namespace {

constexpr std::size_t inputs = 2;
constexpr std::size_t symbols = 1 << 17; // goes round
constexpr std::size_t call = 8192;       // symbols

struct record {
    std::array<std::vector<float>, inputs> samples;
    std::vector<std::vector<std::uint8_t>> labels; // of each transmitter
};

/* One transmitter for each output, by the model's waveform for random labels. Two channels see them
 * turned by an angle, 0.6 radians, or, if it moves, once round in 2^17 symbols; each has noise of
 * its own. One transmitter so fades in two antennas in turn. */
record received(const model& link, std::size_t transmitters, bool moves)
{
    const expected_waveform& waveform = *link.waveform;
    const std::size_t n = symbols * waveform.stride();
    std::mt19937 random(1);
    std::array<std::vector<float>, inputs> sent;
    record all;
    for (auto& samples : sent)
        samples.assign(n, 0.0f);
    for (std::size_t t = 0; t < transmitters; ++t) {
        std::vector<std::uint8_t> labels(symbols + 2 * waveform.reach());
        for (std::size_t i = 0; i < labels.size(); ++i)
            labels[i] = i < symbols ? random() % waveform.classes() : labels[i - symbols];
        waveform.expect(&labels[waveform.reach()], symbols, sent[t].data());
        all.labels.emplace_back(labels.begin() + waveform.reach(),
                                labels.begin() + waveform.reach() + symbols);
    }
    std::vector<float> noise(n);
    for (std::size_t c = 0; c < inputs; ++c) {
        auto& samples = all.samples[c];
        samples.resize(n);
        gaussian_noise(2 + c).fill(noise.data(), n);
        for (std::size_t i = 0; i < n; ++i) {
            const double angle =
                moves ? 2 * M_PI * static_cast<double>(i / 2 * 2) / static_cast<double>(n)
                      : 0.6;
            const auto cosine = static_cast<float>(std::cos(angle)),
                       sine = static_cast<float>(std::sin(angle));
            samples[i] = (c ? cosine * sent[1][i] - sine * sent[0][i]
                            : cosine * sent[0][i] + sine * sent[1][i]) +
                         0.5f * waveform.noise() * noise[i];
        }
    }
    return all;
}

} // namespace

double channels(const std::string& path,
                std::size_t outputs,
                const std::string& what,
                double seconds)
{
    const model link = load_model(path);
    const record all = received(link, outputs, what == "moving");
    mimo_filter filter(link, { inputs, outputs });
    const std::size_t stride = link.waveform->stride();
    std::vector<std::vector<float>> out(outputs, std::vector<float>(call * stride));
    std::vector<const std::uint8_t*> labels;
    std::vector<float*> filtered;
    for (std::size_t o = 0; o < outputs; ++o) {
        labels.push_back(all.labels[o].data());
        filtered.push_back(out[o].data());
    }
    const float* start[inputs] = { all.samples[0].data(), all.samples[1].data() };
    filter.start(start, mimo_streams::start_symbols, labels.data());
    std::size_t at = 0;
    const auto some = [&] {
        const float* from[inputs] = { &all.samples[0][at * stride],
                                      &all.samples[1][at * stride] };
        filter.run(from, call / mimo_filter::step, filtered.data());
        at = (at + call) % symbols;
    };
    for (std::size_t i = 0; i < symbols / call; ++i)
        some(); // until it has settled
    const double found = rate(call, seconds, some);
    for (std::size_t o = 0; o < outputs; ++o)
        if (const auto status = filter.status(o); !status.found || status.starts != 1)
            throw std::runtime_error("the matrix of filters does not follow the signal");
    return found;
}

} // namespace bench
