/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/decided_output.h"

#include <algorithm>

namespace gr::adann::core {

decided_output::decided_output(const model& signal)
    : d_signal(signal), d_bits(signal.net.outputs()), d_priors(signal.net.outputs())
{
}

void decided_output::leave(deciding_parts& former)
{
    d_former_labels = former.refined.get();
    d_former_points = former.soft.get();
}

std::size_t decided_output::labels(deciding_parts& in_use,
                                   const feature_view& view,
                                   const std::uint8_t* decided,
                                   const hindsight& latest,
                                   const float* decided_posteriors,
                                   std::uint8_t* labels,
                                   float* posteriors,
                                   const float* a_priori)
{
    const std::size_t classes = d_signal.net.outputs();
    std::size_t before = 0;
    if (d_former_labels) {
        before = d_former_labels->flush(labels, view.count, posteriors);
        if (before == 0)
            d_former_labels = nullptr;
    }
    if (in_use.refined)
        return before +
               in_use.refined->take(view,
                                    decided,
                                    in_use.signal.newest(),
                                    labels + before,
                                    latest,
                                    decided_posteriors,
                                    posteriors ? posteriors + before * classes : nullptr,
                                    a_priori);
    std::copy_n(decided, view.count, labels);
    if (posteriors)
        std::copy_n(decided_posteriors, view.count * classes, posteriors);
    for (std::size_t i = 0; a_priori && i < view.count; ++i) {
        d_bits.find(a_priori + i * d_bits.bits_per_symbol(), d_priors.data());
        labels[i] = d_bits.weigh(d_priors.data(), labels[i], posteriors + i * classes);
    }
    return view.count;
}

std::size_t decided_output::points(deciding_parts& in_use,
                                   const feature_view& view,
                                   const std::uint8_t* decided,
                                   const float* posteriors,
                                   float* soft,
                                   soft_symbol_kind kind)
{
    if (in_use.soft && kind == soft_symbol_kind::received) {
        std::size_t before = 0;
        if (d_former_points) {
            before = d_former_points->flush(soft, view.count);
            if (before == 0)
                d_former_points = nullptr;
        }
        soft += before * d_signal.window.floats_per_sample();
        return before + in_use.soft->take(view, decided, soft);
    }
    for (std::size_t i = 0; i < view.count; ++i, posteriors += d_signal.net.outputs()) {
        const std::complex<float> mean = d_signal.symbols.mean(posteriors);
        *soft++ = mean.real();
        if (d_signal.complex)
            *soft++ = mean.imag();
    }
    return view.count;
}

std::size_t decided_output::flush(deciding_parts& in_use,
                                  std::uint8_t* labels,
                                  std::size_t room,
                                  float* posteriors)
{
    for (refined_stream* const from : { d_former_labels, in_use.refined.get() })
        if (const std::size_t n = from ? from->flush(labels, room, posteriors) : 0)
            return n;
    return 0;
}

} // namespace gr::adann::core
