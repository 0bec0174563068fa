/* -*- c++ -*- */
/*
 * The losses that train a network without labels, and with them: value and gradient on a
 * batch.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/model.h"
#include "core/training/missing_classes.h"
#include "core/training/pattern_balance.h"
#include "core/training/perturber.h"
#include "core/training/projected_perturber.h"

#include <gnuradio/adann/equalizer_settings.h>

#include <vector>

namespace gr::adann::core {

//! How the noise of a loss is drawn: see loss_gradient.
enum class noise_kind { projected, full };
constexpr std::array<word<noise_kind>, 2> words(noise_kind)
{
    return { { { noise_kind::projected, "projected" }, { noise_kind::full, "full" } } };
}

/*! Replaces automatic settings by values:
 * - sigma and epsilon as 0.7 n and 2 n, n the noise of the model's expected waveform, but
 *   as 1/9 and 1/3 at most of what moves a unit-power symbol by half the distance h of two
 *   neighbours: h·√sps, for a receiver that averages a symbol's samples. These are for
 *   PAM4 at 4 samples a symbol 0.10 and 0.30, for 16QAM 0.07 and 0.21, and what a model
 *   without a waveform has. With two levels (PAM2, QPSK) epsilon is at most half of that:
 *   more makes posteriors flatter and flatter there.
 * - the learning rate as 0.0045 h: 0.0020 for PAM4, 0.0014 for 16QAM. The learner takes
 * six times that for refined labels that the waveform explains. */
training_settings scaled_to(const model& fits, training_settings settings);

//! Result of one pass over a batch.
struct loss_value {
    double loss; //!< mean cross-entropy to the (pseudo-)labels, eq. (3), natural log
    double confidence; //!< mean of the largest posterior
};

/*! Cross-entropy to pseudo-labels and its gradient.
 *
 * With g(x) = x + σ·noise where the loss augments (pi_model, aug_vat; else g(x) = x) and
 * r the virtual adversarial perturbation where it has one (vat, aug_vat; else r = 0):
 *
 * - pseudo_label "clean": the label is the decision at v; the loss is taken at g(v + r).
 * This is the paper's text ("always calculated based on the perturbed input vectors
 * rather than the clean ones") and Miyato's VAT. It is stable.
 * - pseudo_label "confidence_weighted": as "clean", and each symbol's gradient is
 * weighted with p^(1/4), p the label's posterior at g(v + r). That makes the
 * cross-entropy the generalised one of Zhang and Sabuncu (2018), (1 - p^q) / q with
 * q = 1/4, which is more robust to wrong labels: the gradient of plain cross-entropy is
 * largest where the posterior of the label is lowest.
 * - pseudo_label "refined": as "confidence_weighted", with the labels that it is given and without
 * pattern_balance, which needs scrambled data. If no labels are given, as for a model whose refined
 * labels had clearly more errors than the network's, it uses the decisions. With error probabilities d the
 * target is 1 - d for the given label, and d is distributed over the others in proportion to the
 * posteriors at v. So posteriors stay calibrated where labels are uncertain.
 * - pseudo_label "perturbed": the label is the decision at g(v + r); the loss is taken at
 * g(v). This is Algorithm 2 as printed. It is unstable: decision boundaries move into
 * dense regions (docs/results/paper.md).
 *
 * self_training has neither noise nor r, so "clean" and "perturbed" are one. r is
 * Algorithm 1: with o = NN(v) ("perturbed": NN(g(v))) and o' = NN(g(v + ξ·d)), d standard
 * normal, it points along the gradient of KL(o ‖ o') and has length ε. "supervised" takes
 * known labels at v.
 *
 * Noise "full" draws every vector as written. "projected", the default, has the same
 * distribution and costs less: see projected_perturber.
 */
class loss_gradient
{
public:
    loss_gradient(const network& shape,
                  const label_parts& parts,
                  noise_kind noise = noise_kind::projected,
                  const simd::kernels& kernels = simd::active());

    /*! \param batch at least one feature vector, all finite
     * \param given_labels batch.count labels for "supervised", or for "refined" those to
     * learn, if there are any; else not used. With "supervised" nothing is learnt from not_known
     * \param error_probabilities batch.count: of the given refined labels, NaN where only the
     * posteriors at v give one; null: the labels are certain
     * \param known null, or the known label of each symbol, not_known where there is none: such a
     * label is certain and has weight 1, whatever the loss
     * \param settings what the loss needs of sigma and epsilon is not `automatic`
     * \param gradient receives dLoss/dparameters of the batch's mean loss, weighted if
     * "confidence_weighted", and of pattern_balance's term; the value returned has neither */
    loss_value compute(const network& net,
                       const feature_view& batch,
                       const std::uint8_t* given_labels,
                       const float* error_probabilities,
                       const std::uint8_t* known,
                       const loss_settings& settings,
                       noise_source& noise,
                       std::vector<float>& gradient);

    //! Resets pattern_balance and missing_classes.
    void reset();

    void state(archive& members);

private:
    const simd::kernels& d_kernels;
    const noise_kind d_noise;
    const std::size_t d_classes;
    prepared_network d_net;
    passes d_passes;
    full_perturber d_full;
    projected_perturber d_projected;
    perturbed_input d_reference;   // v, or g(v)
    perturbed_input d_partner;     // g(v + r), and on the way to it g(v + ξ·d)
    aligned_floats d_perturbation; // r
    aligned_floats d_error;
    aligned_floats d_sums; // (parameters, lanes)
    pattern_balance d_balance;
    missing_classes d_missing;
};

} // namespace gr::adann::core
