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

//! How a network is trained. The equalizer's defaults are others:
//! adaptation_settings::automatic_training().
struct training_settings {
    loss_settings loss;
    std::string optimizer = "adam"; //!< one of optimizer::names()
    float learning_rate = 0.002f;   //!< 0 to 10, or automatic: see scaled_to()
    std::uint64_t seed = 0;         //!< of the noise

    static constexpr float automatic = loss_settings::automatic;
    /*! With what is `automatic` found: the learning rate as 0.0045 times half the
     * distance of two neighbours at unit power, 0.0020 for PAM4, 0.0014 for 16QAM; sigma
     * and epsilon as loss_settings::scaled_to(). */
    training_settings scaled_to(const model& fits) const;
};

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
     * balance \throws std::invalid_argument naming the setting that is out of range */
    trainer(const network& initial,
            const label_parts& parts,
            const training_settings& settings,
            const simd::kernels& kernels = simd::active());

    const network& net() const { return d_network; }

    /*! One step: noise, gradient, optimizer. A batch with a sample that is NaN, infinite
     * or beyond ±largest_sample, or whose gradient is not finite, is rejected: the
     * parameters and the optimizer stay as they are. \param batch feature vectors of the
     * network's dimension, at least one \param known_labels batch.count labels 0 … M-1,
     * needed by "supervised" only */
    step_result step(const feature_view& batch,
                     const std::uint8_t* known_labels = nullptr);

    //! \throws std::invalid_argument naming the value that is out of range
    void set_loss(const loss_settings& loss);
    //! \throws std::invalid_argument if out of range
    void set_learning_rate(float rate) { d_optimizer.set_learning_rate(rate); }

    //! Starts over from `parameters`, the optimizer empty.
    void reset(const std::vector<float>& parameters);

    //! What the next step depends on, beside the settings.
    void state(archive& members);

private:
    network d_network;
    loss_settings d_loss;
    loss_gradient d_loss_gradient;
    optimizer d_optimizer;
    generated_noise d_noise;
    std::vector<float> d_gradient;
};

} // namespace gr::adann::core
