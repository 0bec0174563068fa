/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/training/trainer.h"

#include "core/common/checks.h"
#include "core/signal/known_symbols.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gr::adann::core {

namespace {

// What a loss takes, and nobody but scaled_to() finds.
void check_given(const char* name, bool given)
{
    if (!given)
        refuse(name, "automatic", "a number, for nothing here knows the constellation");
}

const training_settings& checked(const training_settings& settings)
{
    training_settings::visit(settings, setting_checks{});
    const loss_traits takes = row(settings.loss);
    check_given("sigma", settings.sigma || !takes.augments());
    check_given("epsilon", settings.epsilon || !takes.adversarial());
    check_given("learning_rate", settings.learning_rate.has_value());
    return settings;
}

} // namespace

trainer::trainer(const network& initial,
                 const label_parts& parts,
                 const training_settings& settings,
                 noise_kind noise,
                 const simd::kernels& kernels)
    : d_network(initial),
      d_loss(checked(settings)),
      d_loss_gradient(initial, parts, noise, kernels),
      d_optimizer(
          settings.optimizer, *settings.learning_rate, initial.parameters().size()),
      d_noise(settings.seed, kernels),
      d_gradient(initial.parameters().size()),
      d_before(initial.parameters().size())
{
}

void trainer::set(const training_settings& settings)
{
    d_loss = checked(settings);
    d_optimizer.set_learning_rate(*settings.learning_rate);
}

step_result trainer::step(const feature_view& batch,
                          const std::uint8_t* given_labels,
                          const float* error_probabilities,
                          const std::uint8_t* known)
{
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    check_range<std::size_t>(
        "batch", batch.count, 1, std::numeric_limits<std::size_t>::max());
    if (batch.dimension != d_network.inputs())
        refuse("feature dimension", batch.dimension, std::to_string(d_network.inputs()));
    const bool supervised = row(d_loss.loss).supervised();
    if (supervised && !given_labels)
        refuse("labels", "missing", "one per feature vector for the loss 'supervised'");
    bool teaches = !supervised;
    for (std::size_t i = 0; given_labels && i < batch.count; ++i) {
        if (supervised && given_labels[i] == not_known)
            continue;
        check_range<std::size_t>("label", given_labels[i], 0, d_network.outputs() - 1);
        teaches = true;
    }
    if (!teaches)
        return { none, none, false };
    if (!all_usable(batch.data, batch.floats()))
        return { none, none, false };

    const auto value = d_loss_gradient.compute(d_network,
                                               batch,
                                               given_labels,
                                               error_probabilities,
                                               known,
                                               d_loss,
                                               d_noise,
                                               d_gradient);
    // The optimizers square the gradient, so its squares must be finite too.
    const float squares = std::inner_product(
        d_gradient.begin(), d_gradient.end(), d_gradient.begin(), 0.0f);
    if (!std::isfinite(value.loss) || !std::isfinite(squares))
        return { value.loss, value.confidence, false };
    auto& parameters = d_network.parameters();
    std::copy(parameters.begin(), parameters.end(), d_before.begin());
    d_optimizer.update(parameters, d_gradient);
    const bool accepted = d_optimizer.is_finite() &&
                          std::all_of(parameters.begin(), parameters.end(), [](float x) {
                              return std::isfinite(x);
                          });
    if (!accepted) {
        std::copy(d_before.begin(), d_before.end(), parameters.begin());
        d_optimizer.reset();
    }
    return { value.loss, value.confidence, accepted };
}

void trainer::reset(const std::vector<float>& parameters)
{
    d_network.parameters() = parameters;
    d_optimizer.reset();
    d_loss_gradient.reset();
}

void trainer::state(archive& members)
{
    members("network", d_network.parameters());
    members("optimizer", d_optimizer);
    members("loss", d_loss_gradient);
    members("noise", d_noise);
}

} // namespace gr::adann::core
