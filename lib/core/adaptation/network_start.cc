/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/network_start.h"

#include "core/adaptation/first_network.h"
#include "core/adaptation/start_message.h"
#include "core/adaptation/waveform_judge.h"

#include <algorithm>
#include <utility>

namespace gr::adann::core {

network_start::network_start(linear_start linear,
                             std::size_t stride,
                             std::size_t batch,
                             std::uint64_t seed)
    : d_linear(std::move(linear)),
      d_stride(stride),
      d_batch(batch),
      d_part(batch),
      d_seed(seed)
{
    const bool is_short = batch < waveform_judge::least_batch(*d_linear.found.waveform);
    while (is_short && d_part < blind_start::part)
        d_part += batch;
}

void network_start::add(const adaptation_batch& batch)
{
    const bool is_open = !d_parts.empty() && d_parts.back().labels.size() < d_part;
    const bool goes_on = is_open && batch.end == d_end + d_batch;
    if (is_open && !goes_on)
        d_parts.pop_back();
    if (!goes_on)
        d_parts.emplace_back();
    d_end = batch.end;
    auto& [samples, labels] = d_parts.back();
    // Windows overlap: of a batch that goes on only these samples are new.
    const std::size_t fresh = goes_on ? d_batch * d_stride : batch.samples.size();
    samples.insert(samples.end(),
                   batch.samples.end() - static_cast<std::ptrdiff_t>(fresh),
                   batch.samples.end());
    for (std::size_t i = 0; i < d_batch; ++i)
        labels.push_back(batch.truth[i] != not_known ? batch.truth[i] : batch.labels[i]);
}

std::string network_start::take(const adaptation_batch& batch,
                                const network& in_use,
                                const std::function<bool()>& goes_on)
{
    if (done())
        return "";
    add(batch);
    if (d_parts.size() * d_part < symbols || d_parts.back().labels.size() < d_part)
        return "";

    std::vector<labelled_windows> parts;
    const std::size_t piece = std::min(d_part, blind_start::part);
    for (const auto& [samples, labels] : d_parts) {
        const feature_view all{
            samples.data(), d_stride, d_linear.found.window.dimension(), d_part
        };
        for (std::size_t at = 0; at + piece <= d_part; at += piece)
            parts.push_back({ all.from(at, piece), &labels[at] });
    }
    const auto trained =
        train_first_network(d_linear.found, in_use, parts, d_seed, goes_on);
    if (!trained)
        return "";
    d_is_done = true;
    if (trained->is_better) {
        d_found = d_linear.found;
        d_found->net = trained->trained;
        d_found->training += trained_on_decisions;
    }
    return start_message("started",
                         d_linear.carrier_frequency,
                         d_linear.error,
                         trained->is_better
                             ? network_decides
                             : "what has been learnt from that explains the samples "
                               "better than a network trained on its decisions",
                         d_linear.knows_rotation);
}

} // namespace gr::adann::core
