/* The error counter on streams that agree, slip, turn and end: its sums hold.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "alphabets.h"
#include "input.h"

#include "core/counting/error_counter.h"

#include <random>
#include <stdexcept>

using namespace gr::adann::core;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    fuzz::input from(bytes, size);
    const constellation& alphabet = from.of(fuzz::alphabets());
    const std::size_t search = from.up_to(8), batch = 1 + from.up_to(3000);
    error_counter counter(alphabet, batch, search);
    std::minstd_rand random(from.take<std::uint32_t>());
    std::vector<std::uint8_t> sent(3500 + from.up_to(3000)), decided;
    for (auto& label : sent)
        label = random() % alphabet.size();
    // Each instruction changes what follows: errors, slips, symmetries.
    std::size_t at = 0;
    unsigned one_in = 1000;
    // Seen through symmetries, as mirrored, or with the first two labels exchanged.
    auto ways = alphabet.symmetries();
    const auto mirrored = alphabet.reflections();
    ways.insert(ways.end(), mirrored.begin(), mirrored.end());
    ways.push_back(ways[0]);
    std::swap(ways.back()[0], ways.back()[1]);
    std::size_t way = from.up_to(ways.size() - 1);
    decided.assign(from.up_to(9), 0);
    while (at < sent.size()) {
        for (std::size_t n = 64 * from.up_to(255) + 1; n-- > 0 && at < sent.size(); ++at)
            decided.push_back(random() % one_in ? ways[way][sent[at]]
                                                : from.take<std::uint8_t>());
        switch (from.up_to(4)) {
        case 0:
            at += from.up_to(9);
            break;
        case 1:
            decided.insert(decided.end(), from.up_to(9), 0);
            break;
        case 2:
            way = from.up_to(ways.size() - 1);
            break;
        case 3:
            one_in = 1 + from.up_to(255);
            break;
        }
        if (from.left() == 0)
            break;
    }

    error_counts sum;
    std::size_t taken = 0, known = 0;
    for (bool ended = false; !ended || taken < decided.size() || known < sent.size();) {
        taken += counter.append_decided(
            decided.data() + taken,
            std::min<std::size_t>(from.up_to(5000) + 100, decided.size() - taken));
        known += counter.append_sent(
            sent.data() + known,
            std::min<std::size_t>(from.up_to(5000) + 100, sent.size() - known));
        if (taken == decided.size() && known == sent.size() && !ended) {
            counter.end_decided();
            counter.end_sent();
            ended = true;
        }
        while (const auto result = counter.next()) {
            fuzz::require(result->counts.symbols <= batch, "a batch's symbols");
            fuzz::require(result->counts.symbol_errors <= result->counts.symbols,
                          "errors");
            fuzz::require(result->counts.bit_errors >= result->counts.symbol_errors &&
                              result->counts.bit_errors <= result->counts.bits,
                          "bit errors");
            sum += result->counts;
        }
    }
    fuzz::require(sum.symbols == counter.totals().symbols &&
                      sum.bit_errors == counter.totals().bit_errors,
                  "batches that make the total");
    fuzz::require(sum.symbols <= decided.size(), "each symbol once");
    for (const unsigned char c : describe_permutation(counter.permutation()))
        fuzz::require(c >= 0x20, "text without control characters");
    return 0;
}
