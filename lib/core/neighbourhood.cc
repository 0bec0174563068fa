/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/neighbourhood.h"

namespace gr::adann::core {

using simd::activation;
using simd::lanes;
using simd::tile;

neighbourhood::neighbourhood(const simd::kernels& kernels, const network& shape)
    : d_kernels(kernels), d_passes(kernels, shape), d_clean(kernels, shape.inputs())
{
}

literal_neighbourhood::literal_neighbourhood(const simd::kernels& kernels,
                                             const network& shape)
    : neighbourhood(kernels, shape), d_noise(shape.inputs() * tile)
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
    if (!by.is_none()) {
        float* moved = to.moved.data();
        if (by.xi > 0)
            noise.draw(inputs, moved);
        if (by.sigma > 0)
            noise.draw(inputs, d_noise.data());
        d_kernels.compose(d_clean.rows().data,
                          d_clean.rows().row,
                          inputs,
                          by.xi > 0 ? moved : by.r,
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
