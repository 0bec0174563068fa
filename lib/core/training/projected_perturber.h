/* -*- c++ -*- */
/*
 * Perturbed inputs in coordinates of the first layer's row space (projected noise).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/training/perturber.h"
#include "core/training/row_space.h"

namespace gr::adann::core {

/*! The same distribution as full_perturber's from fewer numbers and products.
 *
 * The first layer's weights are W₁ = L Q (row_space): W₁ (R, D), L (R, C), Q (C, D) with
 * orthonormal rows. Perturbations and r are kept by their C coordinates in Q's rows: m = Q(x -
 * v).
 *
 * - Noise only acts through W₁, by its projection: Q n of a standard normal n is standard normal, C
 *   numbers z. d only occurs in ξ·d + σ·n, which has the deviation √(ξ² + σ²): one z
 *   stands for both.
 * - The first layer's sums at a point are W₁v + b₁ + L m; the first two are the tile's.
 * - The gradient by the input, g = W₁ᵀe, e the error of the first layer's sums, lies in
 *   the row space: its coordinates are Q g = Lᵀe, and |g| = |Lᵀe|. So r comes from Lᵀe.
 * - The gradient of W₁ at the trained points, Σ e xᵀ over the batch, is what e is
 *   multiplied with in three parts, x = v + Qᵀm + σ·n⊥:
 *   Σ e vᵀ + (Σ e mᵀ) Q + σ Σ e n⊥ᵀ.
 *   n⊥ = (I - QᵀQ) n is the noise in the null space of W₁, so it is independent of every
 *   e. Given these, Σ e n⊥ᵀ is normal: F Z (I - QᵀQ), with F Fᵀ = Σ e eᵀ by Cholesky and
 *   Z (R, D) standard normal, drawn once for the whole batch.
 */
class projected_perturber : public perturber
{
public:
    projected_perturber(const simd::kernels& kernels, const network& shape);
    void begin_step(const prepared_network& net) override;
    void load(const feature_view& tile) override;
    void forward(const perturbation& by, tile_noise& noise, perturbed_input& to) override;
    void direction(const aligned_floats& error, float length, float* r) override;
    void add_gradient(const aligned_floats& error,
                      const perturbed_input& at,
                      float* sums) override;
    void end_step(tile_noise& noise, float* sums) override;

private:
    row_space d_space;
    aligned_floats d_first;        // W₁v + b₁
    aligned_floats d_moved_sums;   // (R, C, lanes): Σ e mᵀ
    aligned_floats d_error_sums;   // (R, R, lanes): Σ e eᵀ
    float d_sigma;                 // of the trained points
    aligned_floats d_coefficients; // (R, C): what Q is multiplied with
    aligned_floats d_error_factor; // (R, R): σ F
    aligned_floats d_isotropic;    // Z
    aligned_floats d_in_row_space; // (R, C): Z Qᵀ
    aligned_floats d_gradient;     // (R, D)
};

} // namespace gr::adann::core
