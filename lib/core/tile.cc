/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tile.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

// y = W x + b
void affine(const float* weights,
            const float* biases,
            std::size_t inputs,
            std::size_t outputs,
            const float* x,
            float* y)
{
    for (std::size_t o = 0; o < outputs; ++o, weights += inputs, y += lanes) {
        float sum[lanes];
        std::fill_n(sum, lanes, biases[o]);
        for (std::size_t i = 0; i < inputs; ++i)
            for (std::size_t l = 0; l < lanes; ++l)
                sum[l] += weights[i] * x[i * lanes + l];
        std::copy_n(sum, lanes, y);
    }
}

// dx = Wᵀ dy
void affine_backward(const float* weights,
                     std::size_t inputs,
                     std::size_t outputs,
                     const float* dy,
                     float* dx)
{
    for (std::size_t i = 0; i < inputs; ++i, dx += lanes) {
        float sum[lanes] = {};
        for (std::size_t o = 0; o < outputs; ++o)
            for (std::size_t l = 0; l < lanes; ++l)
                sum[l] += weights[o * inputs + i] * dy[o * lanes + l];
        std::copy_n(sum, lanes, dx);
    }
}

double dot(const float* a, const float* b)
{
    double sum = 0;
    for (std::size_t l = 0; l < lanes; ++l)
        sum += static_cast<double>(a[l]) * b[l];
    return sum;
}

} // namespace

activations::activations(const network& net)
{
    for (const auto& layer : net.layers())
        outputs.emplace_back(layer.outputs * lanes);
}

void gather(const feature_view& view, tile& out)
{
    for (std::size_t l = 0; l < lanes; ++l) {
        const float* vector = view[std::min(l, view.count - 1)];
        for (std::size_t k = 0; k < view.dimension; ++k)
            out[k * lanes + l] = vector[k];
    }
}

void forward(const network& net, const tile& features, activations& result)
{
    const float* p = net.parameters().data();
    const float* x = features.data();
    for (std::size_t k = 0; k < net.layers().size(); ++k) {
        const auto& layer = net.layers()[k];
        tile& y = result.outputs[k];
        affine(p + layer.weights,
               p + layer.biases,
               layer.inputs,
               layer.outputs,
               x,
               y.data());
        if (k + 1 < net.layers().size())
            for (auto& value : y)
                value = value > 0.0f ? value : 0.0f;
        x = y.data();
    }
}

void backward(const network& net,
              const tile& features,
              const activations& passed,
              tile& error,
              tile& scratch,
              std::vector<double>* parameter_gradient,
              tile* input_gradient)
{
    const float* p = net.parameters().data();
    for (std::size_t k = net.layers().size(); k-- > 0;) {
        const auto& layer = net.layers()[k];
        const float* x = k ? passed.outputs[k - 1].data() : features.data();
        if (parameter_gradient) {
            double* dw = parameter_gradient->data() + layer.weights;
            double* db = parameter_gradient->data() + layer.biases;
            for (std::size_t o = 0; o < layer.outputs; ++o) {
                const float* dy = error.data() + o * lanes;
                for (std::size_t i = 0; i < layer.inputs; ++i)
                    dw[o * layer.inputs + i] += dot(dy, x + i * lanes);
                for (std::size_t l = 0; l < lanes; ++l)
                    db[o] += dy[l];
            }
        }
        if (k > 0) {
            affine_backward(p + layer.weights,
                            layer.inputs,
                            layer.outputs,
                            error.data(),
                            scratch.data());
            for (std::size_t i = 0; i < layer.inputs * lanes; ++i)
                error[i] = x[i] > 0.0f ? scratch[i] : 0.0f; // ReLU
        } else if (input_gradient) {
            affine_backward(p + layer.weights,
                            layer.inputs,
                            layer.outputs,
                            error.data(),
                            input_gradient->data());
        }
    }
}

void softmax(const float* logits, std::size_t classes, float* posteriors)
{
    for (std::size_t l = 0; l < lanes; ++l) {
        float largest = logits[l];
        for (std::size_t j = 1; j < classes; ++j)
            largest = std::max(largest, logits[j * lanes + l]);
        float sum = 0;
        for (std::size_t j = 0; j < classes; ++j)
            sum += posteriors[j * lanes + l] = std::exp(logits[j * lanes + l] - largest);
        for (std::size_t j = 0; j < classes; ++j)
            posteriors[j * lanes + l] /= sum;
    }
}

void argmax(const float* rows, std::size_t classes, std::uint8_t* labels)
{
    for (std::size_t l = 0; l < lanes; ++l) {
        std::size_t best = 0;
        for (std::size_t j = 1; j < classes; ++j)
            if (rows[j * lanes + l] > rows[best * lanes + l])
                best = j;
        labels[l] = static_cast<std::uint8_t>(best);
    }
}

} // namespace gr::adann::core
