/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/counting/alignment_search.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

constexpr std::size_t enumerated = 4; // labels of which all permutations are tried
constexpr std::int64_t recurring =
    1024; // pairs: 256 labels in order recur some 10 times as often

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

namespace {

// All permutations of few labels except the symmetries; the reflections of many labels.
std::vector<alignment_search::order> permutations_of(const constellation& alphabet)
{
    std::vector<std::uint8_t> each{ 0, 1, 2, 3 };
    if (alphabet.size() > enumerated)
        return alphabet.reflections();
    each.resize(alphabet.size());
    const auto& symmetries = alphabet.symmetries();
    std::vector<alignment_search::order> all;
    do
        if (std::find(symmetries.begin(), symmetries.end(), each) == symmetries.end())
            all.push_back(each);
    while (std::next_permutation(each.begin(), each.end()));
    return all;
}

} // namespace

alignment_search::alignment_search(const constellation& alphabet,
                                   unsigned search,
                                   std::size_t longest)
    : d_labels(alphabet.size()),
      d_search(search),
      d_permutations(permutations_of(alphabet)),
      d_pairs(d_labels * d_labels),
      d_undone(std::max(alphabet.symmetries().size(), d_permutations.size()),
               std::vector<std::uint8_t>(longest))
{
    const auto undo = [](const std::vector<std::uint8_t>& permutation) {
        std::array<std::uint8_t, 256> table{};
        for (std::size_t l = 0; l < permutation.size(); ++l)
            table[permutation[l]] = static_cast<std::uint8_t>(l);
        return table;
    };
    for (const auto& symmetry : alphabet.symmetries())
        d_undo.push_back(undo(symmetry));
    for (const auto& permutation : d_permutations)
        d_undo_permutation.push_back(undo(permutation));
}

std::optional<alignment_search::match> alignment_search::find(const label_stream& decided,
                                                              std::int64_t from,
                                                              std::size_t length,
                                                              const label_stream& sent,
                                                              std::int64_t centre)
{
    return best(d_undo, decided, from, length, sent, centre, d_search);
}

std::optional<alignment_search::permuted>
alignment_search::find_permuted(const label_stream& decided,
                                std::int64_t from,
                                std::size_t length,
                                const label_stream& sent,
                                std::int64_t centre,
                                std::int64_t search)
{
    std::optional<permuted> found;
    if (const auto tried =
            best(d_undo_permutation, decided, from, length, sent, centre, search))
        found = { d_permutations[tried->where.symmetry], tried->error_rate };
    if (d_labels <= enumerated)
        return found;
    const auto seen = shown(decided, from, length, sent, centre, search);
    return seen && !(found && found->error_rate <= seen->error_rate) ? seen : found;
}

std::optional<alignment_search::permuted>
alignment_search::shown(const label_stream& decided,
                        std::int64_t from,
                        std::size_t length,
                        const label_stream& sent,
                        std::int64_t centre,
                        std::int64_t search)
{
    const auto cell = [&](std::int64_t i, std::int64_t delay) -> std::uint32_t& {
        return d_pairs[*sent.at(i - delay) * d_labels + *decided.at(i)];
    };
    // What pairs recur at each delay, per pair of symbols, in the middle of the window.
    const auto all = static_cast<std::int64_t>(length);
    const std::int64_t first = from + std::max<std::int64_t>(0, (all - recurring) / 2);
    const std::int64_t last = std::min(first + recurring, from + all);
    std::optional<std::int64_t> delay;
    double most = 0;
    for (std::int64_t each = centre - search; each <= centre + search; ++each) {
        const std::int64_t low = std::max(first, sent.begin() + each);
        const std::int64_t high = std::min(last, sent.end() + each);
        if (high - low < recurring / 2)
            continue;
        std::uint64_t recurrences = 0;
        for (std::int64_t i = low; i < high; ++i)
            recurrences += cell(i, each)++;
        for (std::int64_t i = low; i < high; ++i)
            cell(i, each) = 0;
        const auto pairs = static_cast<double>(high - low);
        const double found = static_cast<double>(recurrences) / pairs / pairs;
        if (found > most) {
            most = found;
            delay = each;
        }
    }
    if (!delay)
        return std::nullopt;
    const std::int64_t low = std::max(from, sent.begin() + *delay);
    const std::int64_t high = std::min(from + all, sent.end() + *delay);
    std::vector<std::size_t> pairs; // those that occur
    for (std::int64_t i = low; i < high; ++i)
        if (cell(i, *delay)++ == 0)
            pairs.push_back(&cell(i, *delay) - d_pairs.data());
    // The most frequent pairs first, each label once; labels that never occur
    // keep their value if possible.
    std::sort(pairs.begin(), pairs.end(), [this](std::size_t a, std::size_t b) {
        return d_pairs[a] != d_pairs[b] ? d_pairs[a] > d_pairs[b] : a < b;
    });
    std::vector<bool> is_sent(d_labels), is_decided(d_labels);
    std::vector<double> sent_count(d_labels), decided_count(d_labels);
    permuted found{ order(d_labels), 1 };
    std::uint64_t matches = 0;
    const auto take = [&](std::size_t s, std::size_t d) {
        if (is_sent[s] || is_decided[d])
            return;
        is_sent[s] = is_decided[d] = true;
        found.labels[s] = static_cast<std::uint8_t>(d);
        matches += d_pairs[s * d_labels + d];
    };
    for (const std::size_t pair : pairs) {
        sent_count[pair / d_labels] += d_pairs[pair];
        decided_count[pair % d_labels] += d_pairs[pair];
        take(pair / d_labels, pair % d_labels);
    }
    for (std::size_t s = 0; s < d_labels; ++s)
        take(s, s);
    for (std::size_t s = 0; s < d_labels; ++s)
        for (std::size_t d = 0; d < d_labels && !is_sent[s]; ++d)
            take(s, d);
    for (const std::size_t pair : pairs)
        d_pairs[pair] = 0;
    const auto n = static_cast<double>(high - low);
    double chance = 0;
    for (std::size_t s = 0; s < d_labels; ++s)
        chance += sent_count[s] * decided_count[found.labels[s]] / n / n;
    const double tests = std::log(2.0 * static_cast<double>(search) + 1) +
                         std::lgamma(static_cast<double>(d_labels) + 1); // permutations
    if (evidence(matches, high - low, chance) <= tests - std::log(false_alarm))
        return std::nullopt;
    found.error_rate = 1 - static_cast<double>(matches) / n;
    return found;
}

std::optional<alignment_search::match> alignment_search::best(const tables& undo,
                                                              const label_stream& decided,
                                                              std::int64_t from,
                                                              std::size_t length,
                                                              const label_stream& sent,
                                                              std::int64_t centre,
                                                              std::int64_t search)
{
    const std::uint8_t* window = decided.at(from);
    for (std::size_t s = 0; s < undo.size(); ++s)
        std::transform(window, window + length, d_undone[s].begin(), [&](auto label) {
            return undo[s][label];
        });

    std::optional<match> best;
    const double tests =
        (2.0 * static_cast<double>(search) + 1) * static_cast<double>(undo.size());
    double best_evidence = std::log(tests / false_alarm);
    const auto distance = [=](std::int64_t delay) { return std::abs(delay - centre); };
    histogram decided_counts(decided), sent_counts(sent);
    for (std::int64_t delay = centre - search; delay <= centre + search; ++delay) {
        const std::int64_t low = std::max(from, sent.begin() + delay);
        const std::int64_t high =
            std::min(from + static_cast<std::int64_t>(length), sent.end() + delay);
        if (low >= high)
            continue;
        const auto n = static_cast<std::size_t>(high - low);
        decided_counts.move_to(low, high);
        sent_counts.move_to(low - delay, high - delay);
        for (unsigned s = 0; s < undo.size(); ++s) {
            double pairs = 0; // of labels that agree, among all n² pairs
            for (std::size_t l = 0; l < d_labels; ++l)
                pairs += decided_counts[l] * sent_counts[undo[s][l]];
            const double chance = pairs / n / n;
            const std::size_t matches =
                agreements(d_undone[s].data() + (low - from), sent.at(low - delay), n);
            const double found = evidence(matches, n, chance);
            if (found > best_evidence ||
                (best && found == best_evidence &&
                 distance(delay) < distance(best->where.delay))) {
                best = match{ { delay, s }, chance, double(n - matches) / double(n) };
                best_evidence = found;
            }
        }
    }
    return best;
}

} // namespace gr::adann::core
