/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/frequency_guard.h"

#include "core/tracking/belief.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace gr::adann::core {

namespace {
constexpr float many_wrong = 1.0f / 128;
constexpr float much_further = 2;
constexpr float most_different = 0.25f; // part of the labels
} // namespace

frequency_guard::frequency_guard(const model& loaded, std::size_t batch)
    : d_window(loaded.window),
      d_reach(loaded.waveform->reach()),
      d_judge(std::make_shared<const expected_waveform>(*loaded.waveform),
              loaded.symbols.symmetries(),
              judge::most_reach),
      d_samples(judge::symbols * d_window.sps(), loaded.complex),
      d_decider(loaded.net),
      d_loaded(loaded.net, d_window.stride()),
      d_decided(batch),
      d_counts(loaded.waveform->probabilities()),
      d_loaded_counts(d_counts)
{
}

bool frequency_guard::add(const feature_view& seen,
                          const feature_view* received,
                          const std::uint8_t* labels)
{
    if (d_compares) {
        if (!received || !all_usable(received->data, received->floats()))
            return false; // a batch without these was collected before
        d_decider.decide(d_loaded, *received, d_decided.data());
        const float own = residual(seen, labels),
                    loaded = residual(*received, d_decided.data());
        if (!std::isfinite(own + loaded)) // all samples are zero
            return false;
        for (std::size_t i = 0; i < seen.count; ++i) {
            d_loaded_counts.add(d_decided[i]);
            d_alike += d_decided[i] == labels[i];
        }
        d_residual += own;
        d_loaded_residual += loaded;
    }
    for (std::size_t i = 0; i < seen.count; ++i)
        d_counts.add(labels[i]);
    if (d_counts.all() < window)
        return false;
    const bool has_many_wrong = d_counts.least_wrong() > many_wrong;
    const bool is_found = d_compares && has_many_wrong && is_worse();
    if (is_found) { // all that was learnt will start over
        d_compares = false;
        d_apart = shortest;
    } else if (d_compares) {
        d_compares = false;
        d_windows = d_apart;
        d_apart = std::min(2 * d_apart, longest);
    } else if (d_windows) {
        --d_windows;
    } else {
        d_compares = has_many_wrong;
    }
    d_counts.reset();
    d_loaded_counts.reset();
    d_alike = 0;
    d_residual = d_loaded_residual = 0;
    return is_found;
}

bool frequency_guard::is_worse() const
{
    const auto all = static_cast<float>(d_counts.all());
    const float differ = 1 - static_cast<float>(d_alike) / all;
    const float own = d_counts.distance(), loaded = d_loaded_counts.distance();
    return differ < most_different && own > much_further * loaded &&
           own - loaded > differ / 2 && !clearly_less(d_residual, d_loaded_residual);
}

// Of judge::symbols, relative to the energy of their samples.
float frequency_guard::residual(const feature_view& windows, const std::uint8_t* labels)
{
    const std::size_t own = (d_window.dimension() - d_window.stride()) / 2;
    d_samples.assign(windows[d_reach] + own, judge::symbols * d_window.sps());
    d_judge.residual(d_samples, labels + d_reach);
    return d_judge.relative_residual();
}

void frequency_guard::state(archive& members)
{
    members("counts", d_counts);
    members("loaded_counts", d_loaded_counts);
    members("alike", d_alike);
    members("residual", d_residual, 0.0f, 1e9f);
    members("loaded_residual", d_loaded_residual, 0.0f, 1e9f);
    members("compares", d_compares);
    members("windows", d_windows, std::size_t{ 0 }, longest);
    members("apart", d_apart, std::size_t{ shortest }, longest);
}

} // namespace gr::adann::core
