/* -*- c++ -*- */
/*
 * The latest samples of a stream, received and filtered, and its symbols' labels.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/known_symbols.h"
#include "core/signal/windows.h"
#include "core/tracking/corrections.h"
#include "core/tracking/linear_filter.h"
#include "core/tracking/soft_decisions.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! The past of a filter's stream, for it and all that supervises it.
 *
 * Symbols and samples have numbers: the middle of symbol k is sample k·sps. The numbers of what is
 * kept change only in make_room(), which says by how much. Samples come in up to a certain one, are
 * filtered up to an earlier one, and symbols are labelled before next():
 *
 *     kept ─────────────── next() ── windows of the next symbols ──┐
 *     labels, known() ────►│                                       │
 *     filtered ────────────┼───── ready() ►│                       │
 *     received ────────────┼───────────────┼─── reach of the taps ►│
 *
 * A sample that is not usable (all_usable()) is kept as zero and comes out as NaN. Labels count as
 * known while they are decisions by the present taps and carrier. Nothing is allocated after
 * construction. */
class sample_history
{
public:
    static constexpr std::size_t room =
        4096; //!< symbols until the buffers are moved back

    /*! \param reach samples that the filter spans on each side of one
     * \param around symbols on each side that the expected waveform depends on
     * \param classes labels are less
     * \param past symbols before next() that are kept
     * \param most symbols that load() is given at most */
    sample_history(const window_geometry& window,
                   std::size_t reach,
                   std::size_t around,
                   std::size_t classes,
                   std::size_t past,
                   std::size_t most);

    // Where things are.
    const window_geometry& window() const { return d_window; }
    std::size_t floats_per_sample() const { return d_window.floats_per_sample(); }
    bool is_complex() const { return floats_per_sample() == 2; }
    std::size_t sample(std::size_t symbol) const { return symbol * d_window.sps(); }
    //! The first sample that a symbol owns.
    std::size_t owned(std::size_t symbol) const
    {
        return sample(symbol) - d_window.sps() / 2;
    }
    //! The first sample of a symbol's window, and the one after its last.
    std::size_t window_begin(std::size_t symbol) const
    {
        return sample(symbol) - d_window.samples_before();
    }
    std::size_t window_end(std::size_t symbol) const
    {
        return window_begin(symbol) + d_window.samples();
    }
    std::size_t next() const { return d_next; } //!< the symbol to be decided
    //! The first of the latest n symbols whose neighbours are all decided.
    std::size_t latest(std::size_t n) const { return d_next - d_around - n; }
    std::size_t classes() const { return d_classes; }
    //! The first symbol and the first sample that are kept, and how many.
    std::size_t first_symbol() const { return d_next - d_past; }
    std::size_t first_sample() const { return sample(first_symbol()); }
    std::size_t kept_symbols() const { return d_past; }
    std::size_t kept_samples() const
    {
        return sample(d_past + d_most) + d_window.samples();
    }
    //! Room in the buffers, from number 0 on.
    std::size_t most_symbols() const { return d_labels.size(); }
    std::size_t most_samples() const { return d_bad.size(); }

    /*! Before n more symbols: moves what is kept to the start of the buffers if there is no room.
     * \return symbols by which all numbers are less now, most often 0 */
    std::size_t make_room(std::size_t n);
    /*! Takes the samples of the next symbols' windows, with the taps' reach on each side.
     * \param corrected null, or what corrects them first */
    void load(const feature_view& windows, corrections* corrected = nullptr);
    //! Whether the windows begin with the samples that have come in.
    bool goes_on(const feature_view& windows) const;
    //! All of it: what comes is another stream.
    void forget();

    //! Samples as they were received, or corrected, unusable ones as zero; from this one on.
    signal_planes received(std::size_t first) const
    {
        return d_samples + static_cast<std::ptrdiff_t>(first);
    }
    /*! The windows of n symbols as they were received.
     * \param memory of complex samples, which are copied: the windows are valid as long as it is */
    feature_view
    received_windows(std::size_t symbol, std::size_t n, aligned_floats& memory) const;
    //! Whether all from this one on are usable, as far as they have come in.
    bool is_usable(std::size_t first) const { return d_unusable <= first; }

    //! Filtered samples, complex ones interleaved; from this one on.
    float* filtered(std::size_t first)
    {
        return &d_filtered[first * floats_per_sample()];
    }
    const float* filtered(std::size_t first) const
    {
        return &d_filtered[first * floats_per_sample()];
    }
    //! The network's windows of n symbols, filtered.
    feature_view windows(std::size_t symbol, std::size_t n) const
    {
        return {
            filtered(window_begin(symbol)), d_window.stride(), d_window.dimension(), n
        };
    }
    std::size_t ready() const { return d_ready; } //!< filtered up to here
    //! The samples from ready() up to `end` have been filtered.
    void set_ready(std::size_t end);
    //! What the next symbols need of the filtered samples, and the latest ones' neighbours, is to be
    //! filtered again.
    void filter_again();

    //! The next n symbols have been decided so.
    //! \param known null, or what they are known to be, not_known where they are not
    void
    note(const std::uint8_t* labels, std::size_t n, const std::uint8_t* known = nullptr);
    //! Other labels of n symbols, as sure ones.
    void relabel(std::size_t symbol, const std::uint8_t* labels, std::size_t n);
    //! As decided, and known ones in their place.
    const std::uint8_t* labels(std::size_t symbol) const { return &d_labels[symbol]; }
    std::uint8_t* labels(std::size_t symbol) { return &d_labels[symbol]; }
    //! As decided, whatever is known.
    const std::uint8_t* decided(std::size_t symbol) const { return &d_decided[symbol]; }
    std::uint8_t known_label(std::size_t symbol) const { return d_known_labels[symbol]; }
    bool is_label_known(std::size_t symbol) const
    {
        return is_known(d_known_labels[symbol], d_classes);
    }
    std::size_t count_unknown(std::size_t symbol, std::size_t n) const; //!< of n symbols
    //! Others than those noted, from a symbol to the latest one; known ones stay.
    void replace(std::size_t symbol, const std::uint8_t* labels);
    //! Estimates of points of unit power, whatever is known; NaN of sure decisions.
    const std::complex<float>* estimates(std::size_t symbol) const
    {
        return &d_estimates[symbol];
    }
    std::complex<float>* estimates(std::size_t symbol) { return &d_estimates[symbol]; }
    //! What the samples say beyond the labels: zero of sure ones.
    const soft_decision* decisions(std::size_t symbol) const
    {
        return &d_decisions[symbol];
    }
    soft_decision* decisions(std::size_t symbol) { return &d_decisions[symbol]; }
    std::size_t known() const { return d_known; } //!< of the latest symbols, labels
    //! Whether n symbols from latest(n) on and all their neighbours have labels.
    bool knows(std::size_t n) const { return d_known >= n + 2 * d_around; }
    //! Labels so far are those of other taps, or of another phase.
    void forget_labels() { d_known = 0; }

    void state(archive& members);

private:
    window_geometry d_window;
    std::size_t d_reach, d_around, d_classes;
    std::size_t d_past, d_most, d_capacity; // symbols
    planes d_samples;
    aligned_floats d_overlap; // with the next windows, as it came in
    aligned_floats d_filtered;
    std::vector<std::uint8_t> d_bad, d_labels;
    std::vector<std::uint8_t> d_known_labels, d_decided;
    std::vector<std::complex<float>> d_estimates;
    std::vector<soft_decision> d_decisions;
    std::size_t d_next, d_loaded, d_ready;
    std::size_t d_unusable = 0; // the end of the latest samples that are not usable
    std::size_t d_known = 0;
};

} // namespace gr::adann::core
