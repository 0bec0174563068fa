/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/training/trainer.h"

#include "core/common/checks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gr::adann::core {

training_settings training_settings::scaled_to(const model& fits) const
{
    training_settings scaled = *this;
    scaled.loss = loss.scaled_to(fits);
    if (learning_rate == automatic)
        scaled.learning_rate = 0.0045f * fits.symbols.half_distance();
    return scaled;
}

trainer::trainer(const network& initial,
                 const label_parts& parts,
                 const training_settings& settings,
                 const simd::kernels& kernels)
    : d_network(initial),
      d_loss_gradient(initial, parts, kernels),
      d_optimizer(
          settings.optimizer, settings.learning_rate, initial.parameters().size()),
      d_noise(settings.seed, kernels),
      d_gradient(initial.parameters().size())
{
    set_loss(settings.loss);
}

void trainer::set_loss(const loss_settings& loss)
{
    loss.check();
    d_loss = loss;
}

step_result trainer::step(const feature_view& batch, const std::uint8_t* known_labels)
{
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    check_range<std::size_t>(
        "batch", batch.count, 1, std::numeric_limits<std::size_t>::max());
    if (batch.dimension != d_network.inputs())
        refuse("feature dimension", batch.dimension, std::to_string(d_network.inputs()));
    if (d_loss.loss == "supervised" && !known_labels)
        refuse("labels", "missing", "one per feature vector for the loss 'supervised'");
    if (d_loss.loss == "supervised")
        check_range<std::size_t>(
            "label",
            *std::max_element(known_labels, known_labels + batch.count),
            0,
            d_network.outputs() - 1);
    if (!all_usable(batch.data, batch.floats()))
        return { none, none, false };

    const auto value = d_loss_gradient.compute(
        d_network, batch, known_labels, d_loss, d_noise, d_gradient);
    // The optimizers square the gradient, so its squares must be finite too.
    const float squares = std::inner_product(
        d_gradient.begin(), d_gradient.end(), d_gradient.begin(), 0.0f);
    const bool finite = std::isfinite(value.loss) && std::isfinite(squares);
    if (finite)
        d_optimizer.update(d_network.parameters(), d_gradient);
    const auto& p = d_network.parameters();
    const bool accepted = finite && std::all_of(p.begin(), p.end(), [](float x) {
                              return std::isfinite(x);
                          });
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
