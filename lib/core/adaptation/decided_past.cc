/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/decided_past.h"

#include <algorithm>

namespace gr::adann::core {

decided_past::decided_past(std::size_t stride,
                           std::size_t dimension,
                           std::uint64_t seen,
                           std::uint64_t handed_out)
    : d_stride(stride),
      d_dimension(dimension),
      d_kept(symbols + (dimension + stride - 1) / stride),
      d_samples(d_kept * stride),
      d_labels(symbols),
      d_first_seen(seen),
      d_seen(seen),
      d_first_label(handed_out),
      d_handed_out(handed_out)
{
}

void decided_past::see(const feature_view& windows)
{
    // Windows overlap, so this writes the last samples of the previous call again.
    std::size_t at = d_seen % d_kept * d_stride;
    for (std::size_t done = 0; done < windows.floats();) {
        const std::size_t n = std::min(windows.floats() - done, d_samples.size() - at);
        std::copy_n(windows.data + done, n, d_samples.begin() + at);
        done += n;
        at = (at + n) % d_samples.size();
    }
    d_seen += windows.count;
}

void decided_past::hand_out(const std::uint8_t* labels, std::size_t n)
{
    for (std::size_t i = 0; i < n; ++i)
        d_labels[(d_handed_out + i) % symbols] = labels[i];
    d_handed_out += n;
}

bool decided_past::has_labels(std::uint64_t first, std::size_t n) const
{
    return n <= d_handed_out && first >= d_first_label && first <= d_handed_out - n &&
           d_handed_out - first <= symbols;
}

bool decided_past::has_samples(std::uint64_t first, std::size_t n) const
{
    return n <= d_seen && first >= d_first_seen && first <= d_seen - n &&
           d_seen - first <= symbols;
}

void decided_past::copy(std::uint64_t first, std::size_t n, float* samples) const
{
    const std::size_t floats = (n - 1) * d_stride + d_dimension;
    std::size_t at = first % d_kept * d_stride;
    for (std::size_t done = 0; done < floats;) {
        const std::size_t part = std::min(floats - done, d_samples.size() - at);
        std::copy_n(d_samples.begin() + at, part, samples + done);
        done += part;
        at = (at + part) % d_samples.size();
    }
}

} // namespace gr::adann::core
