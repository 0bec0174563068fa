/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/decided_output.h"

#include <algorithm>

namespace gr::adann::core {

decided_output::decided_output(const model& signal, deciding_parts& in_use)
    : d_signal(signal), d_in_use(&in_use)
{
}

void decided_output::start(deciding_parts& in_use)
{
    d_in_use = &in_use;
    d_former_labels = nullptr;
    d_former_points = nullptr;
}

void decided_output::change_to(deciding_parts& next)
{
    d_former_labels = d_in_use->refined.get();
    d_former_points = d_in_use->soft.get();
    d_in_use = &next;
}

std::size_t decided_output::labels(const feature_view& view,
                                   const std::uint8_t* decided,
                                   const hindsight& latest,
                                   const float* decided_posteriors,
                                   std::uint8_t* labels,
                                   float* posteriors)
{
    const std::size_t classes = d_signal.net.outputs();
    std::size_t before = 0;
    if (d_former_labels) {
        before = d_former_labels->flush(labels, view.count, posteriors);
        if (before == 0)
            d_former_labels = nullptr;
    }
    if (d_in_use->refined)
        return before + d_in_use->refined->take(view,
                                                decided,
                                                d_in_use->signal.newest(),
                                                labels + before,
                                                latest,
                                                decided_posteriors,
                                                posteriors ? posteriors + before * classes
                                                           : nullptr);
    std::copy_n(decided, view.count, labels);
    if (posteriors)
        std::copy_n(decided_posteriors, view.count * classes, posteriors);
    return view.count;
}

std::size_t decided_output::points(const feature_view& view,
                                   const std::uint8_t* decided,
                                   const float* posteriors,
                                   float* soft,
                                   soft_symbol_kind kind)
{
    if (d_in_use->soft && kind == soft_symbol_kind::received) {
        std::size_t before = 0;
        if (d_former_points) {
            before = d_former_points->flush(soft, view.count);
            if (before == 0)
                d_former_points = nullptr;
        }
        soft += before * d_signal.window.floats_per_sample();
        return before + d_in_use->soft->take(view, decided, soft);
    }
    for (std::size_t i = 0; i < view.count; ++i, posteriors += d_signal.net.outputs()) {
        const std::complex<float> mean = d_signal.symbols.mean(posteriors);
        *soft++ = mean.real();
        if (d_signal.complex)
            *soft++ = mean.imag();
    }
    return view.count;
}

std::size_t
decided_output::flush(std::uint8_t* labels, std::size_t room, float* posteriors)
{
    for (refined_stream* const from : { d_former_labels, d_in_use->refined.get() })
        if (const std::size_t n = from ? from->flush(labels, room, posteriors) : 0)
            return n;
    return 0;
}

} // namespace gr::adann::core
