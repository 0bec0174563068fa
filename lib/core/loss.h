/* -*- c++ -*- */
/*
 * The losses that train a network without labels, and with them: value and gradient on a
 * batch.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/noise.h"
#include "core/tile.h"

#include <string>
#include <vector>

namespace gr::adann::core {

//! Which loss, and its parameters (the paper's names).
struct loss_settings {
    std::string loss = "aug_vat";       //!< one of losses()
    std::string pseudo_label = "clean"; //!< or "perturbed": see loss_gradient
    float sigma = 0.1f;                 //!< deviation of the augmentation noise, 0 to 10
    float epsilon = 0.1f; //!< length of the adversarial perturbation, 0 to 10
    float xi = 0.1f;      //!< its finite-difference step, 1e-6 to 10

    static const std::vector<std::string>& losses();
    static const std::vector<std::string>& pseudo_labels();
    //! \throws std::invalid_argument naming the parameter that is out of range
    void check() const;
};

//! Where a loss takes its standard normal numbers from.
class noise_source
{
public:
    virtual ~noise_source() = default;
    /*! Fills `rows` rows of `lanes` numbers for the symbols first_symbol, first_symbol +
     * 1, …. \param use 0, 1, 2, … : which of the loss's noise vectors, in the order they
     * are needed */
    virtual void
    fill(unsigned use, std::size_t first_symbol, std::size_t rows, float* out) = 0;
};

//! What one pass over a batch found.
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
 * - pseudo_label "perturbed": the label is the decision at g(v + r); the loss is taken at
 * g(v). This is Algorithm 2 as printed. It draws boundaries into dense regions.
 *
 * self_training has neither noise nor r, so both readings are one. r is Algorithm 1: with
 * o = NN(v) ("perturbed": NN(g(v))) and o' = NN(g(v + ξ·d)), d standard normal, it points
 * along the gradient of KL(o ‖ o') and has length ε. "supervised" takes known labels at
 * v.
 */
class loss_gradient
{
public:
    explicit loss_gradient(const network& shape);

    /*! \param batch at least one feature vector, all finite
     * \param known_labels batch.count labels for "supervised", else not used
     * \param gradient receives dLoss/dparameters of the batch's mean loss */
    loss_value compute(const network& net,
                       const feature_view& batch,
                       const std::uint8_t* known_labels,
                       const loss_settings& settings,
                       noise_source& noise,
                       std::vector<float>& gradient);

private:
    struct pass { // a point of feature space and what the network makes of it
        explicit pass(const network& shape);
        tile features;
        activations layers;
        tile posteriors;
    };

    void run(const network& net, pass& at);
    void adversarial(const network& net, float epsilon);
    double cross_entropy(const pass& at, const std::uint8_t* labels, std::size_t n);

    pass d_reference;    // v, or g(v)
    pass d_partner;      // g(v + r), and on the way to it g(v + xi·d)
    tile d_clean;        // v
    tile d_perturbation; // r
    tile d_noise;
    tile d_error;
    tile d_scratch;
    std::vector<double> d_sum;
};

} // namespace gr::adann::core
