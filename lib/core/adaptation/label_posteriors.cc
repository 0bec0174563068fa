/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_posteriors.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {
constexpr float least = 1e-6f; // posterior
constexpr float least_ln = -13.8f;
// Of the noise's power: Gaussian noise of the mean power is too sure by that, as measured on the links of
// docs/results/refinement.md.
constexpr float margin = 1.03f;
// Part of the noise that the likeliest sequence shows where labels are coupled, of symbols with likely other labels.
// From 0.65 to 0.9 the information on the partial-response links of that page is within 0.03 bit of the most.
constexpr float shown_by_sequences = 0.8f;
// Of a symbol's noise, over the mean, else it is disturbed; of the mean, over that of refinement.
constexpr float most_power = 10, least_noise = 0.01f;
constexpr float remembered = 512; // blocks, of the noise
constexpr float much_other =
    0.1f; // part of the noise: less changes no probability by more
// Times the power of the training's residual: up to 1.04 on a static PAM4 link in white noise at 18 dB, 1.25 and more on
// three that were clipped or limited in slew rate at 14 and 18 dB.
constexpr float distorted = 1.2f;
} // namespace

label_posteriors::label_posteriors(const constellation& symbols,
                                   const std::vector<float>& probabilities)
    : d_classes(symbols.size()),
      d_dimensions(symbols.dimensions()),
      d_trellis(symbols),
      d_frequencies(probabilities),
      d_local(2 / static_cast<float>(block * d_dimensions))
{
}

void label_posteriors::use(const label_descent& signal, bool is_deep)
{
    d_power = signal.power();
    d_trellis.use(signal,
                  is_deep,
                  label_trellis::unlikely,
                  d_frequencies.more_noise() * d_noise.mean);
    const float trained = signal.responses().waveform().noise();
    // Error probabilities of single labels say little where two that change together cost hardly more than one.
    d_is_distorted =
        signal.residual() > distorted * trained * trained && !d_trellis.is_coupled();
}

void label_posteriors::write(std::size_t symbol, float* posteriors) const
{
    const std::size_t at = around + symbol;
    std::fill_n(posteriors, d_classes, least);
    if (d_priors) {
        const float* const logarithms = d_priors + at * d_classes;
        for (std::size_t m = 0; m < d_classes; ++m)
            posteriors[m] *=
                std::exp(std::min(logarithms[m] - logarithms[d_labels[at]], 0.0f));
    }
    float sum = 1;
    if (!d_trellis.is_unsure(at)) {
        // Its neighbours as decided: what is likelier than the least one. They are more likely than unsure
        // ones where the noise has risen since they were looked at.
        posteriors[d_labels[at]] = 1;
        if (d_trellis.largest_ratio(at) <= least_ln)
            return;
        for (std::size_t a = 0; a < d_trellis.neighbours(at); ++a) {
            const float p = d_trellis.likelihood(at, a);
            float& its = posteriors[d_trellis.label(at, a)];
            sum += its = std::max(p, its);
        }
    } else {
        const std::size_t others = d_trellis.alternatives(at);
        sum = static_cast<float>(d_classes - others - 1) * least;
        const auto add = [&](std::uint8_t label, float found) {
            float& p = posteriors[label];
            p = std::max(found, p);
            sum += p;
        };
        add(d_labels[at], d_trellis.probability_as_decided(at));
        for (std::size_t a = 0; a < others; ++a)
            add(d_trellis.label(at, a), d_trellis.probability(at, a));
    }
    for (std::size_t m = 0; m < d_classes; ++m)
        posteriors[m] /= sum;
    make_consistent_with_decision(d_labels[at], posteriors, d_classes);
}

void label_posteriors::make_consistent_with_decision(std::uint8_t label,
                                                     float* posteriors,
                                                     std::size_t classes)
{
    // Once for each of those that are larger; no more often where they are no numbers.
    for (std::size_t i = 1; i < classes; ++i) {
        float* const most = std::max_element(posteriors, posteriors + classes);
        if (most == posteriors + label)
            return;
        const float mean = (*most + posteriors[label]) / 2;
        *most = mean * (1 - 1e-6f);
        posteriors[label] = mean * (1 + 1e-6f);
    }
}

float label_posteriors::noise() const
{
    return margin * d_frequencies.more_noise() * std::max(d_noise.mean, least_noise);
}

void label_posteriors::start()
{
    d_frequencies.reset();
    d_local.reset();
    d_before = d_factor = 1;
}

void label_posteriors::find(const std::uint8_t* labels,
                            const label_descent::match* matches,
                            std::size_t fresh,
                            const float* priors)
{
    d_labels = labels;
    d_priors = priors;
    d_trellis.find(labels, matches, fresh, d_factor * noise(), around + block, priors);
    float power = power_of_block();
    const float mean = std::max(d_noise.mean, least_noise);
    const local_noise::shown shown{ d_before / mean, power / mean, shown_after() / mean };
    if (const float factor = d_local.find(shown);
        std::abs(factor - d_factor) > much_other * d_factor) {
        d_factor = factor;
        d_trellis.find(
            labels, matches, window, d_factor * noise(), around + block, priors);
        power = power_of_block();
    }
    d_local.add(shown);
    d_before = power;
    d_noise.add(std::min(power, most_power), remembered);
    d_frequencies.add(d_trellis, labels, d_is_distorted);
}

// Of the residual along the responses of the next block, with its labels as decided; what these hide as on average.
float label_posteriors::shown_after()
{
    float sum = 0, all = 0;
    for (std::size_t i = around + block; i < window; ++i) {
        const float residual = d_trellis.residual(i);
        if (!std::isfinite(residual))
            continue;
        sum +=
            std::min(residual / (static_cast<float>(d_dimensions) * d_power), most_power);
        ++all;
    }
    const float mean = all ? sum / all : d_as_decided.mean;
    d_as_decided.add(mean, remembered);
    return mean * d_noise.mean / std::max(d_as_decided.mean, least_noise);
}

/* The power of the residual along symbols' responses, averaged over the labels' posteriors
 * (expectation maximization). */
float label_posteriors::power_of_block() const
{
    const float dimensions = static_cast<float>(d_dimensions);
    // Posteriors with a priori probabilities depend on these as well: the noise is then found a little too large.
    const float more_noise = d_priors ? 1 : d_frequencies.more_noise();
    float sum = 0;
    for (std::size_t i = around; i < around + block; ++i) {
        if (!std::isfinite(d_trellis.residual(i)))
            continue;
        const auto add = [&](float part, float residual) {
            const float left = residual / (dimensions * d_power);
            sum += left > 0 ? part * std::min(left, most_power) : 0;
        };
        if (!d_trellis.is_unsure(i)) {
            add(1, d_trellis.residual(i));
            continue;
        }
        if (d_trellis.is_coupled()) {
            add(1, d_trellis.residual(i) / shown_by_sequences);
            continue;
        }
        // Sharper with the noise that the residual shows.
        const auto seen = [&](float probability) {
            return more_noise == 1 ? probability : std::pow(probability, more_noise);
        };
        float all = 1;
        if (more_noise != 1) {
            all = seen(d_trellis.probability_as_decided(i));
            for (std::size_t a = 0; a < d_trellis.alternatives(i); ++a)
                all += seen(d_trellis.probability(i, a));
        }
        add(seen(d_trellis.probability_as_decided(i)) / all, d_trellis.residual(i));
        for (std::size_t a = 0; a < d_trellis.alternatives(i); ++a)
            add(seen(d_trellis.probability(i, a)) / all, d_trellis.residual(i, a));
    }
    return sum / static_cast<float>(block);
}

} // namespace gr::adann::core
