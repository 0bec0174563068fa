/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/training/perturber.h"

namespace gr::adann::core {

using simd::activation;
using simd::lanes;

perturber::perturber(const simd::kernels& kernels, const network& shape)
    : d_kernels(kernels), d_passes(kernels, shape), d_clean(kernels, shape.inputs())
{
}

full_perturber::full_perturber(const simd::kernels& kernels, const network& shape)
    : perturber(kernels, shape)
{
}

void full_perturber::forward(const perturbation& by,
                             tile_noise& noise,
                             perturbed_input& to)
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

void full_perturber::direction(const aligned_floats& error, float length, float* r)
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

void full_perturber::add_gradient(const aligned_floats& error,
                                  const perturbed_input& at,
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
