/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/training/neighbourhood.h"

namespace gr::adann::core {

using simd::activation;
using simd::lanes;

neighbourhood::neighbourhood(const simd::kernels& kernels, const network& shape)
    : d_kernels(kernels), d_passes(kernels, shape), d_clean(kernels, shape.inputs())
{
}

literal_neighbourhood::literal_neighbourhood(const simd::kernels& kernels,
                                             const network& shape)
    : neighbourhood(kernels, shape)
{
}

void literal_neighbourhood::go(const displacement& by, tile_noise& noise, point& to)
{
    to.from_v = by;
    to.place = by.r ? tile_rows{ by.r, d_passes.dense() } : d_clean.rows(); // r is v + r
    for (const float scale : { by.xi, by.sigma })
        if (scale > 0) {
            noise.add(to.place, first_layer().inputs, scale, to.moved.data());
            to.place = { to.moved.data(), d_passes.dense() };
        }
    d_passes.forward(*d_net, to.place, to.passed);
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
    d_kernels.set_length(
        d_clean.rows().data, d_clean.rows().row, first_layer().inputs, length, r);
}

void literal_neighbourhood::add_gradient(const aligned_floats& error,
                                         const point& at,
                                         float* sums)
{
    d_kernels.outer(error.data(),
                    first_layer().outputs,
                    at.place.data,
                    at.place.row,
                    first_layer().inputs,
                    sums + first_layer().weights * lanes);
}

} // namespace gr::adann::core
