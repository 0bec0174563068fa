/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/counting/alignment_search.h"

#include <cmath>

namespace gr::adann::core {

namespace {

std::size_t agreements(const std::uint8_t* a, const std::uint8_t* b, std::size_t n)
{
    std::size_t total = 0;
    while (n) {
        // Counted in bytes, which the compiler turns into vectors, as long as they hold
        // it.
        const std::size_t piece = std::min<std::size_t>(n, 240);
        std::uint8_t count = 0;
        for (std::size_t i = 0; i < piece; ++i)
            count += a[i] == b[i];
        total += count;
        a += piece;
        b += piece;
        n -= piece;
    }
    return total;
}

// How often each label occurs in a window that moves over a stream.
class histogram
{
public:
    explicit histogram(const label_stream& stream) : d_stream(stream) {}

    void move_to(std::int64_t low, std::int64_t high)
    {
        if (low >= d_high || high <= d_low) {
            d_counts.fill(0);
            d_low = d_high = low;
        }
        add(d_high, high, 1);
        add(high, d_high, -1);
        add(low, d_low, 1);
        add(d_low, low, -1);
        d_low = low;
        d_high = high;
    }
    double operator[](std::size_t label) const { return d_counts[label]; }

private:
    void add(std::int64_t low, std::int64_t high, int weight)
    {
        for (std::int64_t i = low; i < high; ++i)
            d_counts[*d_stream.at(i)] += weight;
    }

    const label_stream& d_stream;
    std::int64_t d_low = 0;
    std::int64_t d_high = 0;
    std::array<std::int32_t, 256> d_counts{};
};

} // namespace

double evidence(std::uint64_t matches, std::uint64_t n, double chance)
{
    const double rate = static_cast<double>(matches) / static_cast<double>(n);
    if (!(rate > chance))
        return 0;
    const double miss = 1 - rate;
    return static_cast<double>(n) *
           (rate * std::log(rate / chance) +
            (matches < n ? miss * std::log(miss / (1 - chance)) : 0.0));
}

alignment_search::alignment_search(const constellation& alphabet,
                                   unsigned search,
                                   std::size_t longest)
    : d_labels(alphabet.size()), d_search(search)
{
    const auto& symmetries = alphabet.symmetries();
    const double tests = (2.0 * search + 1) * static_cast<double>(symmetries.size());
    d_threshold = std::log(tests / false_alarm);
    for (const auto& symmetry : symmetries) {
        auto& undo = d_undo.emplace_back();
        undo.fill(0);
        for (std::size_t l = 0; l < symmetry.size(); ++l)
            undo[symmetry[l]] = static_cast<std::uint8_t>(l);
        d_undone.emplace_back(longest);
    }
}

std::optional<alignment_search::match> alignment_search::find(const label_stream& decided,
                                                              std::int64_t from,
                                                              std::size_t length,
                                                              const label_stream& sent,
                                                              std::int64_t centre)
{
    const std::uint8_t* window = decided.at(from);
    for (std::size_t s = 0; s < d_undo.size(); ++s)
        std::transform(window, window + length, d_undone[s].begin(), [&](auto label) {
            return d_undo[s][label];
        });

    std::optional<match> best;
    double best_evidence = d_threshold;
    const auto distance = [=](std::int64_t delay) { return std::abs(delay - centre); };
    histogram decided_counts(decided), sent_counts(sent);
    for (std::int64_t delay = centre - d_search; delay <= centre + d_search; ++delay) {
        const std::int64_t low = std::max(from, sent.begin() + delay);
        const std::int64_t high =
            std::min(from + static_cast<std::int64_t>(length), sent.end() + delay);
        if (low >= high)
            continue;
        const auto n = static_cast<std::size_t>(high - low);
        decided_counts.move_to(low, high);
        sent_counts.move_to(low - delay, high - delay);
        for (unsigned s = 0; s < d_undo.size(); ++s) {
            double pairs = 0; // of labels that agree, among all n² pairs
            for (std::size_t l = 0; l < d_labels; ++l)
                pairs += decided_counts[l] * sent_counts[d_undo[s][l]];
            const double chance = pairs / n / n;
            const double found = evidence(
                agreements(d_undone[s].data() + (low - from), sent.at(low - delay), n),
                n,
                chance);
            if (found > best_evidence ||
                (best && found == best_evidence &&
                 distance(delay) < distance(best->where.delay))) {
                best = match{ { delay, s }, chance };
                best_evidence = found;
            }
        }
    }
    return best;
}

} // namespace gr::adann::core
