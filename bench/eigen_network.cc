/* The network in Eigen as one would write it for speed: sizes fixed, blocks of symbols.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench.h"

#include <Eigen/Dense>

#include <stdexcept>

namespace bench {

namespace {

// Symbols of a block, chosen by trial: what lies between the layers stays in the cache.
constexpr int block = 128;

template <int Inputs, int Outputs>
struct dense {
    Eigen::Matrix<float, Outputs, Inputs> weights;
    Eigen::Matrix<float, Outputs, 1> biases;

    void take(const gr::adann::core::network& net, std::size_t k)
    {
        using rows = Eigen::Matrix<float, Outputs, Inputs, Eigen::RowMajor>;
        const auto& layer = net.layers()[k];
        weights = Eigen::Map<const rows>(net.parameters().data() + layer.weights);
        biases = Eigen::Map<const Eigen::Matrix<float, Outputs, 1>>(
            net.parameters().data() + layer.biases);
    }
};

template <int Inputs, int Classes>
struct fixed_network {
    template <int Rows>
    using tile = Eigen::Matrix<float, Rows, block>;

    dense<Inputs, 10> first;
    dense<10, 10> hidden[3];
    dense<10, Classes> last;

    explicit fixed_network(const gr::adann::core::network& net)
    {
        first.take(net, 0);
        for (std::size_t k = 0; k < 3; ++k)
            hidden[k].take(net, k + 1);
        last.take(net, 4);
    }

    template <typename Features>
    void decide(const Features& x, std::uint8_t* labels) const
    {
        tile<10> a, b;
        tile<Classes> logits;
        a.noalias() = first.weights * x;
        a = (a.colwise() + first.biases).cwiseMax(0.0f);
        for (const auto& layer : hidden) {
            b.noalias() = layer.weights * a;
            a = (b.colwise() + layer.biases).cwiseMax(0.0f);
        }
        logits.noalias() = last.weights * a;
        logits.colwise() += last.biases;
        for (int t = 0; t < block; ++t) {
            Eigen::Index label;
            logits.col(t).maxCoeff(&label);
            labels[t] = static_cast<std::uint8_t>(label);
        }
    }
};

template <int Inputs, int Classes, int Stride>
double measure(const scene& data, double seconds)
{
    using features = Eigen::Map<const Eigen::Matrix<float, Inputs, block>,
                                Eigen::Unaligned,
                                Eigen::OuterStride<Stride>>;
    const fixed_network<Inputs, Classes> net(data.net);
    std::vector<std::uint8_t> labels(data.view.count);
    if (data.view.count < block)
        throw std::invalid_argument("Eigen's blocks have 128 symbols");
    return rate(data.view.count, seconds, [&] {
        // The last block overlaps the one before it.
        for (std::size_t i = 0; i < data.view.count; i += block) {
            const std::size_t at = std::min(i, data.view.count - block);
            net.decide(features(data.view[at]), labels.data() + at);
        }
    });
}

} // namespace

double eigen(const scene& data, double seconds)
{
    using sizes = std::vector<std::size_t>;
    if (data.net.sizes() == sizes{ 44, 10, 10, 10, 10, 4 } && data.view.stride == 4)
        return measure<44, 4, 4>(data, seconds);
    if (data.net.sizes() == sizes{ 88, 10, 10, 10, 10, 16 } && data.view.stride == 8)
        return measure<88, 16, 8>(data, seconds);
    throw std::invalid_argument("Eigen's network has fixed sizes: see bench.h");
}

} // namespace bench
