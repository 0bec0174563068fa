/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/neighbourhood.h"

#include <algorithm>

namespace gr::adann::core {

using simd::activation;
using simd::lanes;
using simd::tile;

neighbourhood::neighbourhood(const simd::kernels& kernels, const network& shape)
    : d_kernels(kernels), d_passes(kernels, shape), d_clean(kernels, shape.inputs())
{
}

namespace {
// Rows of noise that are drawn and added while they are in the nearest cache.
constexpr std::size_t part = 4;
} // namespace

literal_neighbourhood::literal_neighbourhood(const simd::kernels& kernels,
                                             const network& shape)
    : neighbourhood(kernels, shape), d_noise(part * tile)
{
}

tile_rows literal_neighbourhood::features(const point& at) const
{
    return at.from_v.is_none() ? d_clean.rows()
                               : tile_rows{ at.moved.data(), d_passes.dense() };
}

void literal_neighbourhood::go(const displacement& by, tile_noise& noise, point& to)
{
    const std::size_t inputs = first_layer().inputs;
    to.from_v = by;
    const unsigned direction = by.xi > 0 ? noise.next() : 0;
    const unsigned augmentation = by.sigma > 0 ? noise.next() : 0;
    for (std::size_t k = 0; k < inputs && !by.is_none(); k += part) {
        const std::size_t rows = std::min(part, inputs - k);
        float* moved = &to.moved[k * tile];
        if (by.xi > 0)
            noise.draw(direction, k, rows, moved);
        if (by.sigma > 0)
            noise.draw(augmentation, k, rows, d_noise.data());
        const float* r = by.r ? by.r + k * tile : nullptr;
        d_kernels.compose(d_clean.rows().data,
                          d_clean.rows().row + k,
                          rows,
                          by.xi > 0 ? moved : r,
                          by.xi > 0 ? by.xi : 1.0f,
                          by.sigma > 0 ? d_noise.data() : nullptr,
                          by.sigma,
                          moved);
    }
    d_passes.forward(*d_net, features(to), to.passed);
}

void literal_neighbourhood::direction(const aligned_floats& error, float length, float* r)
{
    d_kernels.affine(d_net->weights(0),
                     nullptr,
                     nullptr,
                     first_layer().outputs,
                     first_layer().inputs,
                     error.data(),
                     d_passes.dense(),
                     activation::none,
                     nullptr,
                     r);
    d_kernels.set_length(r, first_layer().inputs, length);
}

void literal_neighbourhood::add_gradient(const aligned_floats& error,
                                         const point& at,
                                         float* sums)
{
    d_kernels.outer(error.data(),
                    first_layer().outputs,
                    features(at).data,
                    features(at).row,
                    first_layer().inputs,
                    sums + first_layer().weights * lanes);
}

} // namespace gr::adann::core
