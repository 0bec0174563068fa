/* -*- c++ -*- */
/*
 * Symbol and bit errors between two streams of labels that are not aligned.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/counting/alignment_search.h"
#include "core/counting/clopper_pearson.h"
#include "core/signal/soft_bits.h"

#include <optional>
#include <string>

namespace gr::adann::core {

//! Permuted labels for people: "1<->2", or longer cycles as "0->1->3->0"; "" for none.
std::string describe_permutation(const std::vector<std::uint8_t>& permutation);

struct error_counts {
    std::uint64_t symbols = 0;
    std::uint64_t symbol_errors = 0;
    std::uint64_t bits = 0;
    std::uint64_t bit_errors = 0;
    double information = 0; //!< bits, soft_bits::information(); NaN without posteriors

    //! Generalized mutual information, bits a symbol; NaN before the first, or without posteriors.
    double gmi() const { return information / static_cast<double>(symbols); }
    //! Normalized: gmi() over the bits of a symbol, the rate of an ideal code.
    double ngmi() const { return information / static_cast<double>(bits); }
    //! Bit error rate; not a number before the first bit.
    double ber() const
    {
        return static_cast<double>(bit_errors) / static_cast<double>(bits);
    }
    //! Exact 95 % interval of ber(), with each bit taken as an independent trial.
    interval ci95() const { return clopper_pearson(bit_errors, bits); }

    error_counts& operator+=(const error_counts& other);
};

/*! Errors of consecutive decided labels at one alignment.
 *
 * It has `batch` symbols, or fewer if the alignment, or the stream, ended within. */
struct batch_result {
    std::uint64_t index; //!< 0, 1, 2 …
    std::uint64_t first; //!< number of its first decided label in the stream
    alignment where;     //!< decided label i belongs to sent label i - where.delay
    error_counts counts;
    error_counts smoothed; //!< of the latest 8 batches, this one included
};

/*! Counts errors in a stream of decided labels, given the stream of sent ones.
 *
 * It finds by itself which delay (up to `search` symbols) and which inversion or rotation
 * relate them (see alignment_search), and until then counts nothing. Every pair of the
 * window that it found them in counts too: two aligned files are compared in full.
 *
 * **Slips.** Locked, it takes the labels in probes of 1024. One that agrees no better
 * than by chance (probability of passing by chance below 1e-6) starts a search in the
 * next 2048 labels, around the present delay. If the alignment is the old one it was a
 * burst of errors, and counts. If it is a new one, the old one ends and the new one
 * begins where that gives the fewest errors; only inserted or deleted symbols stay
 * uncounted. If there is none, the lock is lost: neither the probe nor the one before it,
 * in which the agreement may have ended, is counted, nor what follows until an alignment
 * is found. Errors are counted exactly if there are 4096 symbols or more between slips.
 *
 * **Unlocked**, it searches with 2048 labels and then 8192; if that fails, further on: 8192
 * labels later, then 16384 and so on to 131072, which bounds the work. What it has passed
 * is not counted. The longest window sees agreement some 0.05 (pam2: 0.07) above chance;
 * to stay locked it takes about 0.1.
 *
 * **Permuted labels.** Where less than four in five symbols agree, or while searching an alignment
 * one in M does not, other orders of the labels are tried (see alignment_search::find_permuted). If
 * one has less than half of the errors, sender and receiver use different bit mappings. That is no
 * lock: nothing is counted, and permutation() has the order.
 *
 * **Posteriors** of the decided labels are optional. With them the generalized mutual information
 * of their soft bits is counted.
 *
 * Use: append what has come to either stream, then call next() until it has nothing; and
 * again. Memory is bounded: a stream can be about 65536 labels ahead of the other, then
 * append() takes no more of it. Not safe for use by several threads.
 */
class error_counter
{
public:
    /*! \param alphabet which labels, and symmetries
     * \param batch symbols of a result, 1 to 2^30
     * \param search largest delay in symbols, either way, 0 to 16384
     * \param posteriors whether append_decided() gets them
     * \throws std::invalid_argument if a parameter is out of range */
    explicit error_counter(const constellation& alphabet,
                           std::size_t batch = 8192,
                           unsigned search = 1024,
                           bool posteriors = false);

    /*! Takes labels, of which the low bits_per_symbol bits count.
     * \param posteriors (count, M), M the size of the alphabet; null if it has none
     * \return how many; fewer than `count` if it is too far ahead of the other stream,
     * none after its end. */
    std::size_t append_decided(const std::uint8_t* labels,
                               std::size_t count,
                               const float* posteriors = nullptr);
    std::size_t append_sent(const std::uint8_t* labels, std::size_t count);

    //! How many labels append takes now.
    std::size_t room_decided() const { return d_decided.room(); }
    std::size_t room_sent() const { return d_sent.room(); }

    //! The stream ends here: an incomplete probe or window is used as it is.
    void end_decided() { d_decided.finish(); }
    void end_sent() { d_sent.finish(); }

    //! Counts on to the next complete batch; nothing if that takes more labels.
    std::optional<batch_result> next();

    //! Which stream next() needs more of when it returned no batch. Neither: the end was reached.
    bool lacks_decided() const { return d_lacks_decided; }
    bool lacks_sent() const { return d_lacks_sent; }

    bool locked() const { return d_locked; }
    /*! While there is no lock because the labels are permuted: [l] is the label decided for the
     * sent label l; else empty. Of permutations that differ by a symmetry only, the one that
     * changes the fewest labels, and of these the first. */
    const std::vector<std::uint8_t>& permutation() const { return d_permutation; }
    //! The latest alignment; meaningful if there was a lock.
    const alignment& where() const { return d_lock.where; }
    //! Decided labels that were passed over since the last lock, or the start, with no lock found.
    std::uint64_t passed() const { return d_passed; }
    //! How often an alignment was found after the first: slips and losses of lock.
    std::uint64_t relocks() const { return d_locks ? d_locks - 1 : 0; }
    //! Everything counted, the unfinished batch included.
    const error_counts& totals() const { return d_totals; }

    //! Forgets counts and lock, and aligns anew what was not counted yet.
    void reset();

private:
    using lock = alignment_search::match;

    std::optional<std::int64_t>
    available(std::int64_t from, std::int64_t wanted, std::int64_t spread);
    bool probe();
    bool acquire();
    bool is_permuted(double error_rate,
                     std::int64_t from,
                     std::int64_t n,
                     std::int64_t search);
    void
    end_alignment(std::int64_t at, const std::optional<lock>& next, std::int64_t start);
    void begin_alignment(const lock& found, std::int64_t start);
    double
    symbol_error_rate(const alignment& at, std::int64_t from, std::int64_t n) const;
    bool passes(const lock& at, std::int64_t from, std::int64_t n) const;
    std::int64_t split(const alignment& next, std::int64_t to) const;
    bool differs(const alignment& at, std::int64_t index) const;
    error_counts count(const alignment& at, std::int64_t from, std::int64_t n) const;
    double information(const alignment& at, std::int64_t from, std::int64_t n);
    batch_result close_batch();
    void trim();

    const std::uint64_t d_batch_size;
    const std::int64_t d_search_range;
    const unsigned d_bits;
    const std::uint8_t d_mask;
    alignment_search d_search;
    label_stream d_decided; // with posteriors
    label_stream d_sent;
    const bool d_has_posteriors;
    const soft_bits d_soft;
    std::vector<float> d_posteriors; // of a symbol, in the sender's order
    std::vector<float> d_ratios;
    bool d_lacks_decided = true;
    bool d_lacks_sent = true;

    bool d_locked = false;
    lock d_lock{};
    std::uint64_t d_locks = 0, d_passed = 0;
    std::vector<std::uint8_t> d_permutation;
    // Decided labels before d_counted are counted; those before d_due are to be counted; those
    // before d_checked agree, or while unlocked were passed over.
    std::int64_t d_counted = 0;
    std::int64_t d_due = 0;
    std::int64_t d_checked = 0;
    bool d_ends_at_due = false;     // whether the alignment ends at d_due
    std::optional<lock> d_upcoming; // the alignment after it
    std::int64_t d_upcoming_start = 0;
    std::int64_t d_window; // unlocked: labels to search with
    std::int64_t d_stride; // and how far to go on if nothing is found in them

    batch_result d_batch{};
    std::array<error_counts, 8> d_recent{};
    error_counts d_totals;
};

} // namespace gr::adann::core
