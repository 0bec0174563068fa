/* -*- c++ -*- */
/*
 * Perturbed inputs of the losses, v + r + noise, for a tile of feature vectors v, and the
 * first layer at them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/forward_backward.h"
#include "core/training/noise.h"

namespace gr::adann::core {

//! The noise of one tile: one vector per symbol after the other.
class tile_noise
{
public:
    tile_noise(noise_source& source, std::size_t first_symbol)
        : d_source(source), d_first(first_symbol)
    {
    }
    //! y = x + scale · the next vector, x null for none.
    void add(tile_rows x, std::size_t rows, float scale, float* y)
    {
        d_source.add(d_use++, d_first, x.data, x.row, rows, scale, y);
    }

private:
    noise_source& d_source;
    std::size_t d_first;
    unsigned d_use = 0;
};

//! A perturbation: the input is v + r + ξ·d + σ·n, d and n standard normal.
struct perturbation {
    const float* r; //!< as perturber::direction wrote it; null for none
    float xi;
    float sigma;
};

//! A forward pass at a perturbed input, kept for back-propagation. Invalid after the next
//! direction().
struct perturbed_input {
    explicit perturbed_input(const network& shape)
        : passed(shape), moved(shape.inputs() * simd::tile)
    {
    }
    pass passed;
    perturbation from_v;
    tile_rows place{};    //!< the input, as the subclass represents it
    aligned_floats moved; //!< memory for it, if noise is part of it
};

/*! Makes perturbed inputs of a tile, and does the first layer's part of the forward pass
 * and of back-propagation. How inputs and r are represented is up to the subclass.
 *
 * A step is begin_step(); for each tile load() and the others; end_step(). Nothing
 * allocates but load(), see tile_features. */
class perturber
{
public:
    perturber(const simd::kernels& kernels, const network& shape);
    virtual ~perturber() = default;

    //! \param net stays as it is until end_step()
    virtual void begin_step(const prepared_network& net) { d_net = &net; }
    virtual void load(const feature_view& tile) { d_clean.load(tile); }

    //! Forward pass at v + `by`.
    virtual void
    forward(const perturbation& by, tile_noise& noise, perturbed_input& to) = 0;

    /*! The r of the given length that points along a gradient.
     * \param error of the first layer's sums, rows; from posterior_change(), so that
     * squares do not underflow where the network is confident
     * \param r rows, as many as there are inputs at most */
    virtual void direction(const aligned_floats& error, float length, float* r) = 0;

    //! Adds the first layer's weights' gradient at a point to `sums`, as
    //! passes::backward.
    virtual void
    add_gradient(const aligned_floats& error, const perturbed_input& at, float* sums) = 0;

    //! Adds the part of the gradient that is known only after the whole batch.
    virtual void end_step(tile_noise&, float*) {}

protected:
    const network::layer& first_layer() const { return d_net->layers().front(); }

    const simd::kernels& d_kernels;
    passes d_passes;
    const prepared_network* d_net = nullptr;
    tile_features d_clean; // v
};

//! Explicit noise: every vector is drawn as written, in feature space. The reference.
class full_perturber : public perturber
{
public:
    full_perturber(const simd::kernels& kernels, const network& shape);
    void forward(const perturbation& by, tile_noise& noise, perturbed_input& to) override;
    void direction(const aligned_floats& error, float length, float* r) override;
    void add_gradient(const aligned_floats& error,
                      const perturbed_input& at,
                      float* sums) override;
};

} // namespace gr::adann::core
