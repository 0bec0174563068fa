/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/loss.h"

#include "core/checks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gr::adann::core {

using simd::activation;
using simd::lanes;
using simd::tile;

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

const std::vector<std::string>& loss_settings::noises()
{
    static const std::vector<std::string> all{ "reduced", "literal" };
    return all;
}

void loss_settings::check() const
{
    choice("loss", loss, losses());
    choice("pseudo_label", pseudo_label, pseudo_labels());
    choice("noise", noise, noises());
    check_range("sigma", sigma, 0.0f, 10.0f);
    check_range("epsilon", epsilon, 0.0f, 10.0f);
    check_range("xi", xi, 1e-6f, 10.0f);
    check_range("balance", balance, 0.0f, 10.0f);
}

loss_settings loss_settings::scaled_to(const constellation& symbols, unsigned sps) const
{
    double power = 0; // neighbours are 2 apart
    for (const auto& point : symbols.points())
        power += std::norm(point) / static_cast<double>(symbols.size());
    const float reach = static_cast<float>(std::sqrt(sps / power));
    loss_settings scaled = *this;
    if (sigma == automatic)
        scaled.sigma = reach / 9;
    if (epsilon == automatic)
        scaled.epsilon = reach / 3;
    return scaled;
}

namespace {

// By halves: short chains of additions, which the compiler puts into vectors.
float sum_of_lanes(const float* partial)
{
    float sum[lanes];
    std::copy_n(partial, lanes, sum);
    for (std::size_t half = lanes / 2; half; half /= 2)
        for (std::size_t l = 0; l < half; ++l)
            sum[l] += sum[l + half];
    return sum[0];
}

} // namespace

//! The noise of one tile, use after use.
class loss_gradient::tile_noise
{
public:
    tile_noise(noise_source& source, std::size_t first, aligned_floats& buffer)
        : d_source(source), d_first(first), d_buffer(buffer)
    {
    }
    const float* draw(std::size_t rows)
    {
        d_source.fill(d_use++, d_first, rows, d_buffer.data());
        return d_buffer.data();
    }

private:
    noise_source& d_source;
    std::size_t d_first;
    aligned_floats& d_buffer;
    unsigned d_use = 0;
};

loss_gradient::loss_gradient(const network& shape, const simd::kernels& kernels)
    : d_kernels(kernels),
      d_inputs(shape.inputs()),
      d_classes(shape.outputs()),
      d_net(shape),
      d_passes(kernels, shape),
      d_clean(kernels, shape.inputs()),
      d_reference(shape),
      d_partner(shape),
      d_reference_features(d_inputs * tile),
      d_partner_features(d_inputs * tile),
      d_perturbation(d_inputs * tile),
      d_noise(std::max(d_inputs, shape.layers().front().outputs) * tile),
      d_error(shape.widest_layer() * tile),
      d_first_factor(shape.layers().front().outputs * shape.layers().front().outputs),
      d_first_noise(shape.layers().front().outputs * tile),
      d_sums(shape.parameters().size() * lanes),
      d_balance(shape.outputs())
{
}

/* Cholesky's factor L of W₁W₁ᵀ, scaled, as the kernels read a matrix: transposed. A row
 * that depends on those before it (a dead neuron) has nothing of its own left: its pivot
 * is zero. */
void loss_gradient::factor_first_layer(const network& net, float scale)
{
    const auto& layer = net.layers().front();
    const std::size_t size = layer.outputs;
    const float* weights = net.parameters().data() + layer.weights;
    const auto at = [&](std::size_t row, std::size_t column) -> float& {
        return d_first_factor[column * size + row];
    };
    std::fill(d_first_factor.begin(), d_first_factor.end(), 0.0f);
    for (std::size_t column = 0; column < size; ++column)
        for (std::size_t row = column; row < size; ++row) {
            const float* a = weights + row * layer.inputs;
            const float* b = weights + column * layer.inputs;
            double sum = std::inner_product(a, a + layer.inputs, b, 0.0);
            const double whole = sum;
            for (std::size_t k = 0; k < column; ++k)
                sum -= static_cast<double>(at(row, k)) * at(column, k);
            if (row == column)
                at(row, column) = sum > 1e-6 * whole ? std::sqrt(sum) : 0.0;
            else if (at(column, column) > 0)
                at(row, column) = sum / at(column, column);
        }
    for (auto& element : d_first_factor)
        element *= scale;
}

/* Algorithm 1, lines 1 to 8: r in d_perturbation, from o at d_reference. Leaves o' =
 * NN(g(v + ξd)) in d_partner. With reduced noise d_first_factor has the deviation of ξd +
 * σ·noise in it. */
void loss_gradient::probe(const loss_settings& settings, tile_noise& noise)
{
    const std::size_t first_rows = d_net.layers().front().outputs;
    if (settings.noise == "literal") {
        const tile_rows clean = d_clean.rows();
        float* moved = d_partner_features.data();
        d_kernels.compose(clean.data,
                          clean.row,
                          d_inputs,
                          noise.draw(d_inputs),
                          settings.xi,
                          nullptr,
                          0.0f,
                          moved);
        if (settings.loss == "aug_vat")
            d_kernels.compose(moved,
                              d_passes.dense(),
                              d_inputs,
                              noise.draw(d_inputs),
                              settings.sigma,
                              nullptr,
                              0.0f,
                              moved);
        d_passes.forward(d_net, { moved, d_passes.dense() }, d_partner);
    } else {
        d_kernels.affine(d_first_factor.data(),
                         nullptr,
                         first_rows,
                         first_rows,
                         noise.draw(first_rows),
                         d_passes.dense(),
                         activation::none,
                         nullptr,
                         d_first_noise.data());
        const float* first = d_reference.first.data();
        if (settings.pseudo_label == "perturbed" && settings.loss == "aug_vat") {
            d_passes.forward(
                d_net, d_clean.rows(), d_partner); // the reference is not at v
            first = d_partner.first.data();
        }
        d_passes.forward_from_first(d_net, first, d_first_noise.data(), d_partner);
    }
    // o' - o is dKL(o‖o')/dlogits.
    d_kernels.posterior_change(d_partner.posteriors.data(),
                               d_reference.posteriors.data(),
                               d_classes,
                               d_error.data());
    d_passes.backward(d_net, {}, d_partner, d_error, nullptr, d_perturbation.data());
    d_kernels.set_length(d_perturbation.data(), d_inputs, settings.epsilon);
}

// v + r + sigma · noise; r null for none, sigma zero for none.
tile_rows loss_gradient::perturbed(const float* r,
                                   float sigma,
                                   tile_noise& noise,
                                   aligned_floats& out)
{
    const tile_rows clean = d_clean.rows();
    d_kernels.compose(clean.data,
                      clean.row,
                      d_inputs,
                      r,
                      1.0f,
                      sigma > 0 ? noise.draw(d_inputs) : nullptr,
                      sigma,
                      out.data());
    return { out.data(), d_passes.dense() };
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
    const bool adversarial = settings.loss == "vat" || settings.loss == "aug_vat";
    const bool moves = augments || adversarial;
    const bool clean = settings.pseudo_label == "clean";
    const float sigma = augments ? settings.sigma : 0.0f;

    d_net.assign(net);
    if (adversarial && settings.noise == "reduced")
        factor_first_layer(net, std::hypot(settings.xi, sigma));
    std::fill(d_sums.begin(), d_sums.end(), 0.0f);
    double loss = 0, confidence = 0;
    const bool balances = settings.balance > 0 && !supervised;
    if (balances)
        d_balance.begin_step(batch.count);

    for (std::size_t first = 0; first < batch.count; first += tile) {
        const std::size_t n = std::min(tile, batch.count - first);
        tile_noise draws(noise, first, d_noise);

        d_clean.load(batch.from(first, n));
        tile_rows reference = d_clean.rows();
        if (augments && !clean)
            reference = perturbed(nullptr, sigma, draws, d_reference_features);
        d_passes.forward(d_net, reference, d_reference);

        tile_rows partner = reference;
        if (adversarial)
            probe(settings, draws);
        if (moves) {
            partner = perturbed(adversarial ? d_perturbation.data() : nullptr,
                                sigma,
                                draws,
                                d_partner_features);
            d_passes.forward(d_net, partner, d_partner);
        }

        // One of the two gives the label, the other is trained.
        const pass& labelled = clean || !moves ? d_reference : d_partner;
        const pass& trained = clean && moves ? d_partner : d_reference;
        std::uint8_t labels[tile] = {};
        if (supervised)
            std::copy_n(known_labels + first, n, labels);
        else
            d_kernels.argmax(labelled.logits(), d_classes, labels);
        loss += d_kernels.cross_entropy(trained.logits(),
                                        trained.posteriors.data(),
                                        d_classes,
                                        labels,
                                        n,
                                        d_error.data());
        if (balances) {
            std::uint8_t decided[tile];
            d_kernels.argmax(d_reference.logits(), d_classes, decided);
            d_balance.add(
                decided, n, trained.posteriors.data(), settings.balance, d_error.data());
        }
        d_passes.backward(
            d_net, clean ? partner : reference, trained, d_error, d_sums.data(), nullptr);

        float largest[tile] = {};
        for (std::size_t j = 0; j < d_classes; ++j)
            for (std::size_t t = 0; t < tile; ++t)
                largest[t] = std::max(largest[t], d_reference.posteriors[j * tile + t]);
        confidence = std::accumulate(largest, largest + n, confidence);
    }
    const double count = static_cast<double>(batch.count);
    for (std::size_t p = 0; p < gradient.size(); ++p)
        gradient[p] = static_cast<float>(sum_of_lanes(&d_sums[p * lanes]) / count);
    return { loss / count, confidence / count };
}

} // namespace gr::adann::core
