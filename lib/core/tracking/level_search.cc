/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/level_search.h"

#include "core/tracking/judge.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gr::adann::core {

level_search::level_search(const tracked_stream& stream,
                           const constellation& alphabet,
                           const std::vector<float>& probabilities)
    : d_power(alphabet, probabilities),
      d_labels(judge::symbols + 2 * stream.target.reach()),
      d_windows(stream.history.window_floats(size()) + simd::lanes)
{
}

bool level_search::has_unusual_power(const tracked_stream& stream) const
{
    return d_power.is_unusual(
        stream.history.symbols().decided(stream.history.next() - size()), size());
}

// First sample of the windows.
std::size_t level_search::first(const sample_history& history) const
{
    return history.window_begin(history.next() - size());
}

bool level_search::is_usable(const tracked_stream& stream) const
{
    return stream.history.is_usable(first(stream.history) - stream.filter.reach());
}

const std::uint8_t* level_search::find(tracked_stream& stream,
                                       const float* taps,
                                       const network_decider& decides)
{
    const sample_history& history = stream.history;
    const window_geometry& window = history.window();
    const std::size_t samples = history.window_end(history.next() - 1) - first(history);
    const std::size_t floats = samples * history.floats_per_sample();
    float* const filtered = d_windows.data();
    stream.filter.run(
        history, stream.follower(), taps, first(history), samples, filtered);
    const double power = std::inner_product(filtered, filtered + floats, filtered, 0.0);
    const auto scale =
        static_cast<float>(std::sqrt(static_cast<double>(samples) / power));
    std::transform(
        filtered, filtered + floats, filtered, [&](float each) { return each * scale; });
    decides(window.view(filtered, size()), d_labels.data());
    return d_labels.data();
}

} // namespace gr::adann::core
