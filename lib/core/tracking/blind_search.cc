/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/blind_search.h"

#include "core/tracking/judge.h"

#include <algorithm>
#include <numeric>

namespace gr::adann::core {

namespace {

// A least squares fit to labels has nearly eight equations for each unknown, or more; of real points in complex
// samples four.
constexpr std::size_t most_taps = blind_search::symbols / 8 + 1;

// Copies n samples less their mean.
void remove_mean(const float* from, std::size_t n, float* to)
{
    const float mean = std::accumulate(from, from + n, 0.0f) / static_cast<float>(n);
    std::transform(from, from + n, to, [mean](float each) { return each - mean; });
}

} // namespace

blind_search::blind_search(const tracked_stream& stream, const constellation& alphabet)
    : d_taps(std::min(stream.filter.taps(), most_taps)),
      d_equalizer(std::make_shared<blind_decisions>(
          alphabet, d_taps, stream.history.floats_per_sample(), symbols)),
      d_samples(stream.history.sample(symbols) + d_taps, stream.history.is_complex()),
      d_windows(stream.carrier ? 2 * (stream.history.sample(symbols) + d_taps) : 0)
{
}

blind_search::decisions blind_search::find(tracked_stream& stream)
{
    const sample_history& history = stream.history;
    const std::size_t first = history.sample(history.next() - symbols) - d_taps / 2;
    const std::size_t n = history.sample(symbols - 1) + d_taps;
    if (!history.is_usable(first))
        return {};
    const signal_planes received = history.received(first);
    remove_mean(received.re, n, d_samples.re.data());
    const float* windows = d_samples.re.data();
    if (stream.carrier) {
        remove_mean(received.im, n, d_samples.im.data());
        stream.carrier->settled().rotate(history, d_samples, first, n, -1);
        windows = d_windows.data();
        d_samples.interleave(n, d_windows.data());
    }
    const std::size_t owned = history.owned(history.latest(judge::symbols));
    return { d_equalizer->find({ windows,
                                 history.window().stride(),
                                 d_taps * history.floats_per_sample(),
                                 symbols }),
             d_samples + static_cast<std::ptrdiff_t>(owned - first) };
}

} // namespace gr::adann::core
