/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/decoded_packets.h"

#include "core/common/checks.h"
#include "core/signal/known_symbols.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <limits>

namespace gr::adann::core {

namespace {
// Variance of decided points around those sent, of unit power: one decision in ten may be wrong.
constexpr float variance = 0.1f;
} // namespace

decoded_packets::decoded_packets(const constellation& symbols,
                                 std::size_t stride,
                                 std::size_t dimension,
                                 std::size_t batch)
    : d_classes(symbols.size()),
      d_bits(symbols.bits_per_symbol()),
      d_stride(stride),
      d_dimension(dimension),
      d_batch(batch),
      d_ambiguity(symbols, variance)
{
}

void decoded_packets::start()
{
    d_past.reset();
    d_waiting.clear();
    d_counted = {};
    d_seen = d_handed_out = d_changed = 0;
    d_ambiguity.reset();
}

void decoded_packets::see(const feature_view& windows)
{
    d_seen += windows.count;
    if (d_past)
        d_past->see(windows);
}

void decoded_packets::hand_out(const std::uint8_t* labels, std::size_t n)
{
    d_handed_out += n;
    if (d_past)
        d_past->hand_out(labels, n);
}

void decoded_packets::change_channel()
{
    d_changed = d_seen;
    d_ambiguity.reset();
}

void decoded_packets::change_receiver()
{
    if (d_past)
        d_past->forget_samples();
    change_channel();
}

void decoded_packets::take(std::uint64_t first, std::vector<std::uint8_t> labels)
{
    for (const std::uint8_t label : labels)
        if (label != not_known)
            check_range<std::size_t>("packet's label", label, 0, d_classes - 1);
    if (std::all_of(labels.begin(), labels.end(), [](auto l) { return l == not_known; }))
        refuse("packet's labels", "none that is known", "one at least");
    const std::size_t n = labels.size();
    if (n > d_handed_out || first > d_handed_out - n ||
        d_handed_out - first > decided_past::symbols)
        refuse("packet's symbols",
               std::to_string(first) + " and " + std::to_string(n) + " on",
               "the latest " + std::to_string(decided_past::symbols) + " of " +
                   std::to_string(d_handed_out) + " that were decided");
    if (!d_past)
        d_past.emplace(d_stride, d_dimension, d_seen, d_handed_out);
    if (!d_past->has_labels(first, n))
        return; // it began before the decisions that are kept
    d_waiting.push_back({ first, std::move(labels) });
    compare(d_waiting.back());
    if (d_waiting.size() > most_waiting)
        d_waiting.pop_front();
}

void decoded_packets::compare(const packet& known)
{
    constexpr int around = ambiguity::around;
    constexpr std::size_t looked_at = 2 * around + 1;
    std::array<std::complex<float>, looked_at> none; // decided points are the estimates
    none.fill(std::numeric_limits<float>::quiet_NaN());
    ++d_counted.packets;
    for (std::size_t i = 0; i < known.labels.size(); ++i) {
        const std::uint64_t symbol = known.first + i;
        if (known.labels[i] == not_known)
            continue;
        d_counted.bits += d_bits;
        d_counted.errors +=
            std::bitset<8>(known.labels[i] ^ d_past->label(symbol)).count();
        if (symbol < d_changed + around ||
            !d_past->has_labels(symbol - around, looked_at))
            continue;
        std::array<std::uint8_t, looked_at> decided;
        for (std::size_t k = 0; k < looked_at; ++k)
            decided[k] = d_past->label(symbol - around + k);
        d_ambiguity.take(known.labels[i], &none[around], &decided[around]);
    }
}

bool decoded_packets::next_batch(std::size_t latest,
                                 float* samples,
                                 std::uint8_t* labels,
                                 std::uint8_t* truth)
{
    for (; !d_waiting.empty(); d_waiting.pop_front()) {
        packet& known = d_waiting.front();
        while (known.learnt < known.labels.size() &&
               known.labels[known.learnt] == not_known)
            ++known.learnt;
        if (known.learnt == known.labels.size())
            continue;
        const std::uint64_t next = known.first + known.learnt;
        if (d_seen - next > latest)
            continue;
        if (d_seen < d_batch)
            return false;
        const std::uint64_t first = std::min(next, d_seen - d_batch);
        if (!d_past->has_samples(first, d_batch))
            continue; // their samples are another receiver's, or not kept any more
        if (!d_past->has_labels(first, d_batch))
            return false;
        d_past->copy(first, d_batch, samples);
        std::fill_n(truth, d_batch, not_known);
        for (std::size_t i = 0; i < d_batch; ++i)
            labels[i] = d_past->label(first + i);
        for (std::size_t i = next - first;
             i < d_batch && known.learnt < known.labels.size();
             ++i, ++known.learnt)
            if (const std::uint8_t label = known.labels[known.learnt]; label != not_known)
                labels[i] = truth[i] = label;
        if (known.learnt == known.labels.size())
            d_waiting.pop_front();
        return true;
    }
    return false;
}

} // namespace gr::adann::core
