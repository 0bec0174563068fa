/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/loss.h"

#include "core/checks.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

const std::vector<std::string>& loss_settings::losses()
{
    static const std::vector<std::string> all{
        "self_training", "pi_model", "vat", "aug_vat", "supervised"
    };
    return all;
}

const std::vector<std::string>& loss_settings::pseudo_labels()
{
    static const std::vector<std::string> all{ "clean", "perturbed" };
    return all;
}

void loss_settings::check() const
{
    choice("loss", loss, losses());
    choice("pseudo_label", pseudo_label, pseudo_labels());
    check_range("sigma", sigma, 0.0f, 10.0f);
    check_range("epsilon", epsilon, 0.0f, 10.0f);
    check_range("xi", xi, 1e-6f, 10.0f);
}

loss_gradient::pass::pass(const network& shape)
    : features(shape.inputs() * lanes), layers(shape), posteriors(shape.outputs() * lanes)
{
}

loss_gradient::loss_gradient(const network& shape)
    : d_reference(shape),
      d_partner(shape),
      d_clean(shape.inputs() * lanes),
      d_perturbation(shape.inputs() * lanes),
      d_noise(shape.inputs() * lanes),
      d_error(shape.widest_layer() * lanes),
      d_scratch(shape.widest_layer() * lanes),
      d_sum(shape.parameters().size())
{
}

void loss_gradient::run(const network& net, pass& at)
{
    forward(net, at.features, at.layers);
    softmax(at.layers.logits(), net.outputs(), at.posteriors.data());
}

namespace {

// y += scale · x
void add_scaled(tile& y, float scale, const tile& x)
{
    for (std::size_t i = 0; i < y.size(); ++i)
        y[i] += scale * x[i];
}

// ln softmax(logits)[label] of one lane
double log_posterior(const float* logits, std::size_t classes, std::size_t label)
{
    double others = 0; // relative to the label's own
    for (std::size_t j = 0; j < classes; ++j)
        if (j != label)
            others +=
                std::exp(static_cast<double>(logits[j * lanes]) - logits[label * lanes]);
    return -std::log1p(others);
}

} // namespace

// Algorithm 1, lines 5 to 8: d_perturbation from o at d_reference and o' at d_partner.
void loss_gradient::adversarial(const network& net, float epsilon)
{
    for (std::size_t i = 0; i < d_partner.posteriors.size(); ++i)
        d_error[i] =
            d_partner.posteriors[i] - d_reference.posteriors[i]; // dKL(o‖o')/dlogits
    backward(net,
             d_partner.features,
             d_partner.layers,
             d_error,
             d_scratch,
             nullptr,
             &d_perturbation);

    // A dead network has a zero gradient and a confident one a tiny one: dividing by the
    // largest element first keeps the squares from vanishing, and zero stays zero.
    for (std::size_t l = 0; l < lanes; ++l) {
        float largest = 0;
        for (std::size_t k = 0; k < net.inputs(); ++k)
            largest = std::max(largest, std::abs(d_perturbation[k * lanes + l]));
        float squares = 0;
        for (std::size_t k = 0; largest > 0 && k < net.inputs(); ++k) {
            const float g = d_perturbation[k * lanes + l] /= largest;
            squares += g * g;
        }
        const float scale = squares > 0 ? epsilon / std::sqrt(squares) : 0.0f;
        for (std::size_t k = 0; k < net.inputs(); ++k)
            d_perturbation[k * lanes + l] *= scale;
    }
}

// Cross-entropy to `labels` and, in d_error, its gradient by the logits; lanes from n on
// count nothing. The label's own p - 1 is taken from the other posteriors: it loses no
// digits near 1.
double
loss_gradient::cross_entropy(const pass& at, const std::uint8_t* labels, std::size_t n)
{
    const std::size_t classes = at.posteriors.size() / lanes;
    double loss = 0;
    std::fill_n(d_error.begin(), classes * lanes, 0.0f);
    for (std::size_t l = 0; l < n; ++l) {
        float others = 0;
        for (std::size_t j = 0; j < classes; ++j)
            if (j != labels[l])
                others += d_error[j * lanes + l] = at.posteriors[j * lanes + l];
        d_error[labels[l] * lanes + l] = -others;
        loss -= log_posterior(at.layers.logits() + l, classes, labels[l]);
    }
    return loss;
}

loss_value loss_gradient::compute(const network& net,
                                  const feature_view& batch,
                                  const std::uint8_t* known_labels,
                                  const loss_settings& settings,
                                  noise_source& noise,
                                  std::vector<float>& gradient)
{
    const bool supervised = settings.loss == "supervised";
    const bool augments = settings.loss == "pi_model" || settings.loss == "aug_vat";
    const bool is_adversarial = settings.loss == "vat" || settings.loss == "aug_vat";
    const bool clean = settings.pseudo_label == "clean";
    const bool moves = augments || is_adversarial;
    const pass& labelled = clean || !moves ? d_reference : d_partner;
    const pass& trained = clean && moves ? d_partner : d_reference;

    std::fill(d_sum.begin(), d_sum.end(), 0.0);
    double loss = 0, confidence = 0;
    for (std::size_t first = 0; first < batch.count; first += lanes) {
        const std::size_t n = std::min(lanes, batch.count - first);
        unsigned use = 0;
        const auto add_noise = [&](tile& features, float scale) {
            noise.fill(use++, first, batch.dimension, d_noise.data());
            add_scaled(features, scale, d_noise);
        };

        gather(batch.from(first, n), d_reference.features);
        if (moves)
            d_partner.features = d_reference.features;
        if (augments && !clean)
            add_noise(d_reference.features, settings.sigma);
        run(net, d_reference);

        if (is_adversarial) {
            d_clean = d_partner.features;
            add_noise(d_partner.features, settings.xi);
            if (augments)
                add_noise(d_partner.features, settings.sigma);
            run(net, d_partner);
            adversarial(net, settings.epsilon);
            d_partner.features = d_clean;
            add_scaled(d_partner.features, 1.0f, d_perturbation);
        }
        if (augments)
            add_noise(d_partner.features, settings.sigma);
        if (moves)
            run(net, d_partner);

        std::uint8_t labels[lanes];
        argmax(labelled.layers.logits(), net.outputs(), labels);
        if (supervised)
            std::copy_n(known_labels + first, n, labels);
        loss += cross_entropy(trained, labels, n);
        backward(
            net, trained.features, trained.layers, d_error, d_scratch, &d_sum, nullptr);

        argmax(d_reference.layers.logits(), net.outputs(), labels);
        for (std::size_t l = 0; l < n; ++l)
            confidence += d_reference.posteriors[labels[l] * lanes + l];
    }
    const double count = static_cast<double>(batch.count);
    std::transform(d_sum.begin(), d_sum.end(), gradient.begin(), [count](double sum) {
        return static_cast<float>(sum / count);
    });
    return { loss / count, confidence / count };
}

} // namespace gr::adann::core
