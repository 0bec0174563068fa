/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/counting/error_counter.h"

#include "core/common/checks.h"

#include <cmath>
#include <string>

namespace gr::adann::core {

namespace {

constexpr std::int64_t probe_length = 1024;
constexpr std::int64_t first_window = 2048;
constexpr std::int64_t longest_window = 8192;
constexpr std::int64_t longest_stride = 16 * longest_window;
constexpr std::size_t headroom =
    65536; // labels that one stream may be ahead of the other
constexpr double doubtful_rate =
    0.2; // symbol error rate above which permutations are tried
const double probe_threshold = std::log(1e6);

template <typename T>
T checked(const char* name, T value, T low, T high)
{
    check_range(name, value, low, high);
    return value;
}

// Ones in each byte: the baseline instruction set has no popcount.
const std::array<std::uint8_t, 256> ones = [] {
    std::array<std::uint8_t, 256> table{};
    for (std::size_t i = 1; i < table.size(); ++i)
        table[i] = static_cast<std::uint8_t>(table[i / 2] + i % 2);
    return table;
}();

} // namespace

std::string describe_permutation(const std::vector<std::uint8_t>& permutation)
{
    std::string text;
    std::vector<bool> listed(permutation.size());
    for (std::size_t first = 0; first < permutation.size(); ++first) {
        if (listed[first] || permutation[first] == first)
            continue;
        text += (text.empty() ? "" : ", ") + std::to_string(first);
        if (permutation[permutation[first]] == first) {
            text += "<->" + std::to_string(permutation[first]);
            listed[permutation[first]] = true;
            continue;
        }
        std::size_t label = first;
        do {
            listed[label] = true;
            label = permutation[label];
            text += "->" + std::to_string(label);
        } while (label != first);
    }
    return text;
}

error_counts& error_counts::operator+=(const error_counts& other)
{
    symbols += other.symbols;
    symbol_errors += other.symbol_errors;
    bits += other.bits;
    bit_errors += other.bit_errors;
    information += other.information;
    return *this;
}

error_counter::error_counter(const constellation& alphabet,
                             std::size_t batch,
                             unsigned search,
                             bool posteriors)
    : d_batch_size(checked<std::size_t>("batch", batch, 1, 1u << 30)),
      d_search_range(checked<unsigned>("search", search, 0, 16384)),
      d_bits(alphabet.bits_per_symbol()),
      d_mask(static_cast<std::uint8_t>(alphabet.size() - 1)),
      d_search(alphabet, search, longest_window),
      d_decided(longest_window + 2 * (probe_length + search) + headroom,
                posteriors ? alphabet.size() : 0),
      d_sent(longest_window + 2 * (probe_length + search) + headroom),
      d_has_posteriors(posteriors),
      d_soft(alphabet.size()),
      d_posteriors(alphabet.size()),
      d_ratios(d_bits)
{
    reset();
}

void error_counter::reset()
{
    if (d_locked)
        d_checked = d_counted;
    d_locked = false;
    d_locks = d_passed = 0;
    d_permutation.clear();
    end_alignment(d_counted, std::nullopt, 0);
    d_batch = {};
    d_recent = {};
    d_totals = {};
}

std::size_t error_counter::append_decided(const std::uint8_t* labels,
                                          std::size_t count,
                                          const float* posteriors)
{
    return d_decided.append(labels, count, d_mask, posteriors);
}

std::size_t error_counter::append_sent(const std::uint8_t* labels, std::size_t count)
{
    return d_sent.append(labels, count, d_mask);
}

std::optional<batch_result> error_counter::next()
{
    for (;;) {
        if (d_counted < d_due) {
            const auto n = std::min<std::int64_t>(d_due - d_counted,
                                                  d_batch_size - d_batch.counts.symbols);
            if (d_batch.counts.symbols == 0) {
                d_batch.first = d_counted;
                d_batch.where = d_lock.where;
            }
            error_counts counts = count(d_lock.where, d_counted, n);
            counts.information =
                d_has_posteriors ? information(d_lock.where, d_counted, n) : NAN;
            d_batch.counts += counts;
            d_totals += counts;
            d_counted += n;
            if (d_batch.counts.symbols == d_batch_size)
                return close_batch();
            continue;
        }
        if (d_ends_at_due) {
            if (d_batch.counts.symbols)
                return close_batch();
            d_ends_at_due = false;
            if (d_upcoming)
                begin_alignment(*d_upcoming, d_upcoming_start);
            else
                d_locked = false;
        }
        if (!(d_locked ? probe() : acquire()))
            break;
    }
    trim();
    if (!d_lacks_decided && !d_lacks_sent && d_batch.counts.symbols)
        return close_batch();
    return std::nullopt;
}

// How many of the decided labels `from` … `from + wanted - 1` there are to compare with
// sent ones at all delays within `spread` of the present one: all, or those before the end of a
// stream. None if more are to come.
std::optional<std::int64_t>
error_counter::available(std::int64_t from, std::int64_t wanted, std::int64_t spread)
{
    const std::int64_t delay = d_lock.where.delay;
    if (d_decided.ended())
        wanted = std::min(wanted, d_decided.end() - from);
    if (d_sent.ended())
        wanted = std::min(wanted, d_sent.end() + delay + spread - from);
    d_lacks_decided = d_decided.end() < from + wanted;
    d_lacks_sent = !d_sent.ended() && d_sent.end() < from + wanted - delay + spread;
    if (d_lacks_decided || d_lacks_sent)
        return std::nullopt;
    return wanted;
}

// Locked: tests whether the alignment holds. False if that takes more labels
// or the end was reached.
bool error_counter::probe()
{
    const auto n = available(d_checked, probe_length, 0);
    if (!n)
        return false;
    if (*n <= 0) {
        const bool left = d_due < d_checked;
        d_due = d_checked;
        return left;
    }
    if (!passes(d_lock, d_checked, *n)) {
        const auto window = available(d_checked, first_window, d_search_range);
        if (!window)
            return false;
        const std::int64_t delay = d_lock.where.delay;
        const auto found = d_search.find(d_decided, d_checked, *window, d_sent, delay);
        const std::int64_t inserted = found ? found->where.delay - delay : 0;
        if (found && !(found->where == d_lock.where) && inserted < *window) {
            const std::int64_t end = split(found->where, d_checked + *window);
            end_alignment(end, found, end + std::max<std::int64_t>(0, inserted));
            return true;
        }
        // The end of a stream may be too short to agree significantly.
        if (*n == probe_length && !(found && found->where == d_lock.where)) {
            end_alignment(d_counted, std::nullopt, 0);
            return true;
        }
    }
    const double error_rate = symbol_error_rate(d_lock.where, d_checked, *n);
    if (*n == probe_length && is_permuted(error_rate, d_checked, *n, 0)) {
        d_checked += *n; // the next search could find the same alignment here again
        end_alignment(d_counted, std::nullopt, 0);
        return true;
    }
    d_due = d_checked;
    d_checked += *n;
    return true;
}

// Whether another order of the labels explains them much better; then it is kept.
bool error_counter::is_permuted(double error_rate,
                                std::int64_t from,
                                std::int64_t n,
                                std::int64_t search)
{
    d_permutation.clear();
    // With two of M labels exchanged, 2 / M of the symbols are wrong.
    if (error_rate <
        (search ? std::min(doubtful_rate, 1.0 / (d_mask + 1)) : doubtful_rate))
        return false;
    const auto found =
        d_search.find_permuted(d_decided, from, n, d_sent, d_lock.where.delay, search);
    if (!found || found->error_rate > error_rate / 2)
        return false;
    const auto& permutation = found->labels;
    std::size_t most = 0;
    for (std::size_t s = 0; s < d_search.symmetries(); ++s) {
        auto seen = permutation;
        std::size_t unchanged = 0;
        for (std::size_t l = 0; l < seen.size(); ++l) {
            seen[l] = d_search.undo(s)[seen[l]];
            unchanged += seen[l] == l;
        }
        if (s == 0 || unchanged > most || (unchanged == most && seen < d_permutation)) {
            most = unchanged;
            d_permutation = seen;
        }
    }
    return true;
}

// Unlocked: searches for an alignment. False if that takes more labels or the end was
// reached.
bool error_counter::acquire()
{
    const auto window = available(d_checked, d_window, d_search_range);
    if (!window || *window <= 0)
        return false;
    const std::int64_t centre = d_lock.where.delay;
    const auto found = d_search.find(d_decided, d_checked, *window, d_sent, centre);
    const bool permuted =
        is_permuted(found ? found->error_rate : 1, d_checked, *window, d_search_range);
    if (found && !permuted) {
        std::int64_t start = std::max(d_checked, d_sent.begin() + found->where.delay);
        // Symbols before the agreement began are not counted.
        const std::int64_t end =
            std::min(d_checked + *window, d_sent.end() + found->where.delay);
        while (start + probe_length <= end && !passes(*found, start, probe_length))
            start += probe_length;
        begin_alignment(*found, start);
    } else if (d_window < longest_window && !permuted) {
        d_window = longest_window;
    } else {
        d_checked += d_stride;
        d_passed += d_stride;
        d_window = first_window;
        d_stride = std::min(2 * d_stride, longest_stride);
    }
    return true;
}

void error_counter::begin_alignment(const lock& found, std::int64_t start)
{
    d_locked = true;
    d_passed = 0;
    d_lock = found;
    ++d_locks;
    d_counted = d_due = d_checked = start;
    d_upcoming.reset();
}

void error_counter::end_alignment(std::int64_t at,
                                  const std::optional<lock>& next,
                                  std::int64_t start)
{
    d_due = at;
    d_ends_at_due = true;
    d_upcoming = next;
    d_upcoming_start = start;
    d_window = first_window;
    d_stride = longest_window;
}

double error_counter::symbol_error_rate(const alignment& at,
                                        std::int64_t from,
                                        std::int64_t n) const
{
    const error_counts counts = count(at, from, n);
    return static_cast<double>(counts.symbol_errors) /
           static_cast<double>(counts.symbols);
}

bool error_counter::passes(const lock& at, std::int64_t from, std::int64_t n) const
{
    const error_counts counts = count(at.where, from, n);
    return evidence(n - counts.symbol_errors, n, at.chance) > probe_threshold;
}

// The place before `to` where a change from the present alignment to `next` gives the fewest
// errors; `next` starts after inserted symbols.
std::int64_t error_counter::split(const alignment& next, std::int64_t to) const
{
    const alignment& old = d_lock.where;
    const std::int64_t inserted = std::max<std::int64_t>(0, next.delay - old.delay);
    std::int64_t best = d_counted;
    std::int64_t errors = 0; // more than with a split at d_counted
    std::int64_t fewest = 0;
    for (std::int64_t i = d_counted; i + inserted < to; ++i) {
        errors += differs(old, i) - differs(next, i + inserted);
        if (errors < fewest) {
            fewest = errors;
            best = i + 1;
        }
    }
    return best;
}

bool error_counter::differs(const alignment& at, std::int64_t index) const
{
    const std::int64_t sent = index - at.delay;
    return sent < d_sent.begin() || sent >= d_sent.end() ||
           d_search.undo(at.symmetry)[*d_decided.at(index)] != *d_sent.at(sent);
}

error_counts
error_counter::count(const alignment& at, std::int64_t from, std::int64_t n) const
{
    const auto& undo = d_search.undo(at.symmetry);
    const std::uint8_t* decided = d_decided.at(from);
    const std::uint8_t* sent = d_sent.at(from - at.delay);
    std::uint32_t symbol_errors = 0;
    std::uint32_t bit_errors = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const std::uint8_t wrong = undo[decided[i]] ^ sent[i];
        symbol_errors += wrong != 0;
        bit_errors += ones[wrong];
    }
    const auto symbols = static_cast<std::uint64_t>(n);
    return { symbols, symbol_errors, symbols * d_bits, bit_errors };
}

double error_counter::information(const alignment& at, std::int64_t from, std::int64_t n)
{
    const auto& undo = d_search.undo(at.symmetry);
    const std::uint8_t* sent = d_sent.at(from - at.delay);
    double bits = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const float* row = d_decided.row(from + i);
        for (std::size_t label = 0; label < d_posteriors.size(); ++label)
            d_posteriors[undo[label]] = row[label];
        d_soft.process(d_posteriors.data(), d_ratios.data(), 1);
        bits += d_soft.information(d_ratios.data(), sent[i]);
    }
    return bits;
}

batch_result error_counter::close_batch()
{
    d_recent[d_batch.index % d_recent.size()] = d_batch.counts;
    for (const auto& counts : d_recent)
        d_batch.smoothed += counts;
    const batch_result closed = d_batch;
    d_batch = {};
    d_batch.index = closed.index + 1;
    return closed;
}

void error_counter::trim()
{
    const std::int64_t first = d_locked ? d_counted : d_checked;
    d_decided.discard_before(first);
    d_sent.discard_before(first - d_lock.where.delay - d_search_range);
}

} // namespace gr::adann::core
