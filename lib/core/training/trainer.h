/* -*- c++ -*- */
/*
 * Training: one optimizer step on one batch.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/training/loss.h"
#include "core/training/noise.h"
#include "core/training/optimizer.h"

namespace gr::adann::core {

struct step_result {
    double loss;       //!< before the step; NaN if the batch was rejected unseen
    double confidence; //!< mean largest posterior; NaN if the batch was rejected unseen
    bool accepted;     //!< whether the parameters changed
};

//! A network that learns: Algorithm 2 for any of the losses.
class trainer
{
public:
    /*! \param parts of the labels, which pattern_balance balances; default: none, no
     * balance
     * \param settings with nothing that it needs `automatic`: see scaled_to()
     * \throws std::invalid_argument naming the setting that is out of range */
    trainer(const network& initial,
            const label_parts& parts,
            const training_settings& settings,
            noise_kind noise = noise_kind::projected,
            const simd::kernels& kernels = simd::active());

    const network& net() const { return d_network; }

    /*! One step: noise, gradient, optimizer. A batch with a sample that is NaN, infinite
     * or beyond ±largest_sample, or whose gradient is not finite, is rejected: the
     * parameters and the optimizer stay as they are. So do the parameters if they, or the
     * optimizer, would not be finite afterwards; the optimizer is empty then.
     * \param batch feature vectors of the network's dimension, at least one
     * \param given_labels batch.count labels 0 … M-1, needed by losses with known labels, not_known where
     * one is not, and taken by pseudo-labels that are refined; else not used. If none is known, the
     * batch is rejected
     * \param error_probabilities null, or of each refined label: loss_gradient
     * \param known null, or of each symbol what it is known to be, see loss_gradient */
    step_result step(const feature_view& batch,
                     const std::uint8_t* given_labels = nullptr,
                     const float* error_probabilities = nullptr,
                     const std::uint8_t* known = nullptr);

    //! All but optimizer and seed.
    //! \throws std::invalid_argument naming the setting that is out of range
    void set(const training_settings& settings);
    void set_learning_rate(float rate) { d_optimizer.set_learning_rate(rate); }

    //! Starts over from `parameters`, the optimizer empty; the noise goes on.
    void reset(const std::vector<float>& parameters);
    //! Starts the noise over.
    void seed(std::uint64_t seed) { d_noise.seed(seed); }

    //! What the next step depends on, besides the settings.
    void state(archive& members);

private:
    network d_network;
    loss_settings d_loss;
    loss_gradient d_loss_gradient;
    optimizer d_optimizer;
    generated_noise d_noise;
    std::vector<float> d_gradient;
    std::vector<float> d_before; // the parameters, while they are changed
};

} // namespace gr::adann::core
