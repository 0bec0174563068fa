/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/training/loss.h"

#include "core/common/checks.h"
#include "core/common/flush_denormals.h"
#include "core/signal/known_symbols.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

using simd::lanes;
using simd::tile;

training_settings scaled_to(const model& fits, training_settings settings)
{
    const float reach =
        fits.symbols.half_distance() * std::sqrt(static_cast<float>(fits.sps));
    const float noise =
        fits.waveform ? fits.waveform->noise() : std::numeric_limits<float>::infinity();
    if (!settings.sigma)
        settings.sigma = std::min(0.7f * noise, reach / 9);
    if (!settings.epsilon)
        settings.epsilon =
            std::min(2 * noise, reach / (fits.symbols.is_binary() ? 6 : 3));
    if (!settings.learning_rate)
        settings.learning_rate = 0.0045f * fits.symbols.half_distance();
    return settings;
}

namespace {

// Sum of the largest posteriors of the first n symbols.
float sum_of_largest(const pass& passed, std::size_t classes, std::size_t n)
{
    float largest[tile] = {}, sums[lanes] = {};
    for (std::size_t j = 0; j < classes; ++j)
        for (std::size_t t = 0; t < tile; ++t) {
            const float p = passed.posteriors[j * tile + t];
            largest[t] = p > largest[t] ? p : largest[t]; // std::max() would branch
        }
    std::fill(largest + n, largest + tile, 0.0f);
    for (std::size_t t = 0; t < tile; t += lanes)
        for (std::size_t l = 0; l < lanes; ++l)
            sums[l] += largest[t + l];
    return sum_of_lanes(sums);
}

/* Removes the gradient of symbols whose labels are not known. Returns the loss without them,
 * which was computed with label 0 in their place. */
double leave_out(const std::uint8_t* given,
                 const pass& passed,
                 std::size_t classes,
                 std::size_t n,
                 double loss,
                 float* error)
{
    for (std::size_t t = 0; t < n; ++t) {
        if (is_known(given[t], classes))
            continue;
        loss +=
            std::log(std::max(passed.posteriors[t], std::numeric_limits<float>::min()));
        for (std::size_t k = 0; k < classes; ++k)
            error[k * tile + t] = 0;
    }
    return loss;
}

// Weights the columns of `error`, rows, with the labels' posteriors^(1/4), or 1 of known ones.
void weight_by_confidence(const std::uint8_t* labels,
                          const std::uint8_t* known,
                          const pass& passed,
                          std::size_t classes,
                          std::size_t n,
                          float* error)
{
    float weight[tile] = {};
    for (std::size_t t = 0; t < n; ++t)
        weight[t] = known && is_known(known[t], classes)
                        ? 1.0f
                        : passed.posteriors[labels[t] * tile + t];
    for (std::size_t t = 0; t < tile; ++t)
        weight[t] = std::sqrt(std::sqrt(weight[t]));
    for (std::size_t k = 0; k < classes; ++k)
        for (std::size_t t = 0; t < tile; ++t)
            error[k * tile + t] *= weight[t];
}

/* Moves a part of each target from its label to the other classes, which share it as the posteriors
 * do: the gradient of the cross-entropy is posteriors less targets. */
void soften(const std::uint8_t* labels,
            const std::uint8_t* known,
            const float* error_probabilities,
            const pass& clean,
            std::size_t classes,
            std::size_t n,
            float* error)
{
    for (std::size_t t = 0; t < n; ++t) {
        if (known && is_known(known[t], classes))
            continue;
        const auto posterior = [&](std::size_t k) {
            return clean.posteriors[k * tile + t];
        };
        float others = 0;
        for (std::size_t k = 0; k < classes; ++k)
            others += k == labels[t] ? 0.0f : posterior(k);
        const float error_probability =
            std::isnan(error_probabilities[t]) ? others : error_probabilities[t];
        if (!(others > 0))
            continue; // the posteriors favour no other class
        for (std::size_t k = 0; k < classes; ++k)
            error[k * tile + t] += k == labels[t]
                                       ? error_probability
                                       : -error_probability / others * posterior(k);
    }
}

} // namespace

loss_gradient::loss_gradient(const network& shape,
                             const label_parts& parts,
                             noise_kind noise,
                             const simd::kernels& kernels)
    : d_kernels(kernels),
      d_noise(noise),
      d_classes(shape.outputs()),
      d_net(shape),
      d_passes(kernels, shape),
      d_full(kernels, shape),
      d_projected(kernels, shape),
      d_reference(shape),
      d_partner(shape),
      d_perturbation(shape.inputs() * tile),
      d_error(shape.widest_layer() * tile),
      d_sums(shape.parameters().size() * lanes),
      d_balance(parts, kernels),
      d_missing(shape.outputs())
{
}

loss_value loss_gradient::compute(const network& net,
                                  const feature_view& batch,
                                  const std::uint8_t* given_labels,
                                  const float* error_probabilities,
                                  const std::uint8_t* known,
                                  const loss_settings& settings,
                                  noise_source& noise,
                                  std::vector<float>& gradient)
{
    [[maybe_unused]] const flush_denormals flushing;
    const loss_traits takes = row(settings.loss);
    const bool clean = settings.pseudo_label != pseudo_label_kind::perturbed;
    const bool refined = settings.pseudo_label == pseudo_label_kind::refined;
    const bool given = takes.supervised() || (refined && given_labels);
    const bool supervised = takes.supervised();
    const bool weighted =
        !supervised &&
        (refined || settings.pseudo_label == pseudo_label_kind::confidence_weighted);
    const float sigma = takes.augments() ? settings.sigma.value() : 0.0f;
    const float epsilon = takes.adversarial() ? settings.epsilon.value() : 0.0f;

    perturber* around = &d_full;
    if (takes.perturbs() && d_noise == noise_kind::projected)
        around = &d_projected;
    d_net.assign(net);
    around->begin_step(d_net);
    std::fill(d_sums.begin(), d_sums.end(), 0.0f);
    double loss = 0, confidence = 0;
    const bool balances = settings.balance > 0 && !given;
    if (balances) {
        d_balance.begin_step(batch.count);
        d_missing.begin_step();
    }

    for (std::size_t first = 0; first < batch.count; first += tile) {
        const std::size_t n = std::min(tile, batch.count - first);
        tile_noise draws(noise, first);
        around->load(batch.from(first, n));
        around->forward({ nullptr, 0.0f, clean ? 0.0f : sigma }, draws, d_reference);
        if (takes.adversarial()) {
            // Algorithm 1, lines 1 to 8. o' - o is dKL(o‖o')/dlogits; only where it
            // points counts.
            around->forward({ nullptr, settings.xi, sigma }, draws, d_partner);
            d_kernels.posterior_change(d_partner.passed.posteriors.data(),
                                       d_reference.passed.posteriors.data(),
                                       d_classes,
                                       d_error.data());
            d_passes.backward(d_net, d_partner.passed, d_error, nullptr);
            around->direction(d_error, epsilon, d_perturbation.data());
        }
        if (takes.perturbs())
            around->forward(
                { takes.adversarial() ? d_perturbation.data() : nullptr, 0.0f, sigma },
                draws,
                d_partner);

        // One of the two inputs gives the label, the other one is trained.
        const perturbed_input& labelled =
            clean || !takes.perturbs() ? d_reference : d_partner;
        const perturbed_input& trained =
            clean && takes.perturbs() ? d_partner : d_reference;
        const float* decided_by = labelled.passed.logits();
        if (balances)
            decided_by = d_missing.raised(decided_by);
        std::uint8_t labels[tile] = {};
        if (given)
            std::copy_n(given_labels + first, n, labels);
        else
            d_kernels.argmax(decided_by, d_classes, labels);
        const std::uint8_t* const truth = known ? known + first : nullptr;
        for (std::size_t t = 0; t < n; ++t)
            if (truth && is_known(truth[t], d_classes))
                labels[t] = truth[t];
            else if (supervised && !is_known(labels[t], d_classes))
                labels[t] = 0;
        double of_tile = d_kernels.cross_entropy(trained.passed.logits(),
                                                 trained.passed.posteriors.data(),
                                                 d_classes,
                                                 labels,
                                                 n,
                                                 d_error.data());
        if (supervised)
            of_tile = leave_out(given_labels + first,
                                trained.passed,
                                d_classes,
                                n,
                                of_tile,
                                d_error.data());
        loss += of_tile;
        if (given && refined && error_probabilities)
            soften(labels,
                   truth,
                   error_probabilities + first,
                   d_reference.passed,
                   d_classes,
                   n,
                   d_error.data());
        if (weighted)
            weight_by_confidence(
                labels, truth, trained.passed, d_classes, n, d_error.data());
        if (balances) {
            d_missing.count(labels, n);
            std::uint8_t at_reference[tile];
            const std::uint8_t* decided = labels;
            if (decided_by != d_reference.passed.logits()) {
                d_kernels.argmax(d_reference.passed.logits(), d_classes, at_reference);
                decided = at_reference;
            }
            d_balance.add(decided,
                          n,
                          trained.passed.posteriors.data(),
                          settings.balance,
                          d_error.data());
        }
        d_passes.backward(d_net, trained.passed, d_error, d_sums.data());
        around->add_gradient(d_error, trained, d_sums.data());

        confidence += sum_of_largest(d_reference.passed, d_classes, n);
    }
    tile_noise draws(noise, 0);
    around->end_step(draws, d_sums.data());

    const auto learnt = supervised ? std::count_if(given_labels,
                                                   given_labels + batch.count,
                                                   [this](std::uint8_t label) {
                                                       return is_known(label, d_classes);
                                                   })
                                   : static_cast<std::ptrdiff_t>(batch.count);
    const double count = static_cast<double>(std::max<std::ptrdiff_t>(learnt, 1));
    for (std::size_t p = 0; p < gradient.size(); ++p)
        gradient[p] = static_cast<float>(sum_of_lanes(&d_sums[p * lanes]) / count);
    return { loss / count, confidence / static_cast<double>(batch.count) };
}

void loss_gradient::reset()
{
    d_balance.reset();
    d_missing.reset();
}

void loss_gradient::state(archive& members)
{
    members("balance", d_balance);
    members("missing", d_missing);
}

} // namespace gr::adann::core
