/*
 * The core's speed without Python around it: one measurement per call.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "bench.h"

#include "core/common/checks.h"
#include "core/network/decider.h"
#include "core/network/quantized_decider.h"
#include "core/training/trainer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

constexpr auto usage = R"(usage: kernels_bench WHAT ...

  isas                                               instruction sets that this machine runs
  peak ISA SECONDS                                   flop/s of one core
  inference ISA SIZES STRIDE COUNT SECONDS           symbols/s to labels
  quantized ISA BITS SIZES STRIDE COUNT SECONDS      the same in whole numbers
  eigen SIZES STRIDE COUNT SECONDS                   the same by Eigen
  step ISA LOSS NOISE SIZES STRIDE COUNT SECONDS     symbols/s of adaptation steps
  tracking MODEL WHAT SECONDS                        symbols/s: network, still, moving
  channels MODEL OUTPUTS WHAT SECONDS                the same of two channels: still, moving
  profile ISA SIZES STRIDE COUNT SECONDS             ns per symbol of each kernel

SIZES: neurons of each layer, e.g. 44-10-10-10-10-4. STRIDE: floats per symbol.
COUNT: symbols of a call. SECONDS of processor time that one measurement takes.
)";

const simd::kernels& table(const std::string& isa)
{
    std::vector<std::string> names;
    for (const auto* kernels : simd::available())
        names.push_back(kernels->name);
    return *simd::available()[choice("ISA", isa, names)];
}

//! SIZES STRIDE COUNT, as they stand at words[first].
bench::scene scene(const std::vector<std::string>& words, std::size_t first)
{
    std::vector<std::size_t> sizes;
    std::istringstream list(words[first]);
    for (std::string size; std::getline(list, size, '-');)
        sizes.push_back(std::stoul(size));
    return { sizes, std::stoul(words[first + 1]), std::stoul(words[first + 2]) };
}

double inference(const simd::kernels& kernels, const bench::scene& data, double seconds)
{
    decider decide(data.net, kernels);
    const prepared_network prepared(data.net, data.view.stride);
    std::vector<std::uint8_t> labels(data.view.count);
    return bench::rate(data.view.count, seconds, [&] {
        decide.decide(prepared, data.view, labels.data());
    });
}

//! \param bits of weights and values, whose formats suit the scene's numbers
double quantized(const simd::kernels& kernels,
                 unsigned bits,
                 const bench::scene& data,
                 double seconds)
{
    quantization formats{ bits, {}, {} };
    for (const auto& layer : data.net.layers()) {
        formats.values.push_back(std::min(static_cast<int>(bits) - 4, 8));
        formats.weights.emplace_back(layer.outputs,
                                     std::min(static_cast<int>(bits) - 2, 9));
    }
    quantized_decider decide(kernels);
    const prepared_quantized prepared(quantized_network(data.net, formats), kernels);
    std::vector<std::uint8_t> labels(data.view.count);
    return bench::rate(data.view.count, seconds, [&] {
        decide.decide(prepared, data.view, labels.data());
    });
}

double step(const simd::kernels& kernels,
            const std::string& loss,
            const std::string& noise,
            const bench::scene& data,
            double seconds)
{
    training_settings settings;
    settings.loss = value_of<loss_kind>("loss", loss);
    settings.pseudo_label = pseudo_label_kind::clean;
    settings.sigma = settings.epsilon = 0.1f;
    settings.learning_rate = 0.002f;
    settings.balance = 0; // torch does without
    trainer trained(
        data.net, {}, settings, value_of<noise_kind>("noise", noise), kernels);
    return bench::rate(data.view.count, seconds, [&] { trained.step(data.view); });
}

bool measure(const std::vector<std::string>& words)
{
    const std::string what = words.empty() ? "" : words[0];
    const double seconds = words.size() > 1 ? std::atof(words.back().c_str()) : 0;
    if (what == "isas" && words.size() == 1)
        for (const auto* kernels : simd::available())
            std::printf("%s\n", kernels->name);
    else if (what == "peak" && words.size() == 3)
        std::printf("%.6g\n", bench::peak(table(words[1]).name, seconds));
    else if (what == "inference" && words.size() == 6)
        std::printf("%.6g\n", inference(table(words[1]), scene(words, 2), seconds));
    else if (what == "quantized" && words.size() == 7)
        std::printf("%.6g\n",
                    quantized(table(words[1]),
                              static_cast<unsigned>(std::stoul(words[2])),
                              scene(words, 3),
                              seconds));
    else if (what == "eigen" && words.size() == 5)
        std::printf("%.6g\n", bench::eigen(scene(words, 1), seconds));
    else if (what == "step" && words.size() == 8)
        std::printf("%.6g\n",
                    step(table(words[1]), words[2], words[3], scene(words, 4), seconds));
    else if (what == "tracking" && words.size() == 4)
        std::printf("%.6g\n", bench::tracking(words[1], words[2], seconds));
    else if (what == "channels" && words.size() == 5)
        std::printf("%.6g\n",
                    bench::channels(words[1], std::stoul(words[2]), words[3], seconds));
    else if (what == "profile" && words.size() == 6)
        bench::profile(table(words[1]), scene(words, 2), seconds);
    else
        return false;
    return true;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        if (measure({ argv + 1, argv + argc }))
            return 0;
        std::fputs(usage, stderr);
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "kernels_bench: %s\n", error.what());
        return 1;
    }
}
