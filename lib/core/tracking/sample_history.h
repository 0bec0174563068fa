/* -*- c++ -*- */
/*
 * The latest samples of a stream, received and filtered, and its symbols' labels.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/windows.h"
#include "core/tracking/corrections.h"
#include "core/tracking/linear_filter.h"
#include "core/tracking/symbol_labels.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! The past of a filter's stream, for the filter and its supervision.
 *
 * Symbols and samples are numbered: the middle of symbol k is sample k·sps. Numbers change only in
 * make_room(), which returns by how much. Samples have been received up to one number and filtered
 * up to an earlier one; symbols before next() have labels:
 *
 *     kept ─────────────── next() ── windows of the next symbols ──┐
 *     labels, known() ────►│                                       │
 *     filtered ────────────┼───── ready() ►│                       │
 *     received ────────────┼───────────────┼─── reach of the taps ►│
 *
 * A sample that is not usable (all_usable()) is kept as zero and comes out as NaN. Labels (symbols())
 * count as known while they are decisions by the present taps and carrier: known() of the latest ones.
 * Nothing is allocated after construction. */
class sample_history
{
public:
    static constexpr std::size_t room =
        4096; //!< symbols between two moves of the buffers

    /*! \param reach samples that the filter spans on each side of one
     * \param around symbols on each side that the expected waveform depends on
     * \param classes number of labels, M
     * \param past symbols before next() that are kept
     * \param most largest number of symbols in a call of load() */
    sample_history(const window_geometry& window,
                   std::size_t reach,
                   std::size_t around,
                   std::size_t classes,
                   std::size_t past,
                   std::size_t most);

    const window_geometry& window() const { return d_window; }
    //! Floats of the windows of n symbols, and those of one more.
    std::size_t window_floats(std::size_t n) const
    {
        return floats_per_sample() * (sample(n) + d_window.samples());
    }
    std::size_t floats_per_sample() const { return d_window.floats_per_sample(); }
    bool is_complex() const { return floats_per_sample() == 2; }
    std::size_t sample(std::size_t symbol) const { return symbol * d_window.sps(); }
    //! The first of the sps samples of a symbol, whose middle is sample().
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
    std::size_t next() const { return d_next; } //!< the symbol that is decided next
    //! The first of the latest n symbols whose neighbours are all decided.
    std::size_t latest(std::size_t n) const { return d_next - d_around - n; }
    //! The first symbol and the first sample that are kept, and the number of each.
    std::size_t first_symbol() const { return d_next - d_past; }
    std::size_t first_sample() const { return sample(first_symbol()); }
    std::size_t kept_symbols() const { return d_past; }
    std::size_t kept_samples() const
    {
        return sample(d_past + d_most) + d_window.samples();
    }
    //! Size of the buffers, which begin with number 0.
    std::size_t most_symbols() const { return d_symbols.size(); }
    std::size_t most_samples() const { return d_bad.size(); }

    /*! Before n more symbols: moves the contents to the start of the buffers if there is no room.
     * \return symbols by which all numbers have decreased, mostly 0 */
    std::size_t make_room(std::size_t n);
    /*! Adds the samples of the next symbols' windows, with the taps' reach on each side.
     * \param corrected null, or the corrections of these samples */
    void load(const feature_view& windows, corrections* corrected = nullptr);
    //! Whether the windows overlap with the latest samples, so that they continue the stream.
    bool goes_on(const feature_view& windows) const;
    //! Forgets all: another stream begins.
    void forget();

    //! Received samples from this one on, corrected if load() did; unusable ones are zero.
    signal_planes received(std::size_t first) const
    {
        return d_samples + static_cast<std::ptrdiff_t>(first);
    }
    /*! The windows of n symbols as they were received.
     * \param memory complex samples are copied to it: the windows are valid as long as it is */
    feature_view
    received_windows(std::size_t symbol, std::size_t n, aligned_floats& memory) const;
    //! Whether all received samples from this one on are usable.
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
        return d_window.view(filtered(window_begin(symbol)), n);
    }
    std::size_t ready() const { return d_ready; } //!< filtered up to here
    //! The samples from ready() up to `end` have been filtered.
    void set_ready(std::size_t end);
    //! Sets ready() back: samples of the next symbols, and of the neighbours of the latest ones,
    //! are to be filtered again.
    void filter_again();

    //! Adds the decided labels of the next n symbols.
    //! \param known null, or their known labels, not_known where there is none
    void
    note(const std::uint8_t* labels, std::size_t n, const std::uint8_t* known = nullptr);
    symbol_labels& symbols() { return d_symbols; }
    const symbol_labels& symbols() const { return d_symbols; }
    //! Latest symbols whose labels are decisions by the present taps and carrier.
    std::size_t known() const { return d_known; }
    //! Whether the n symbols from latest(n) on and all their neighbours have such labels.
    bool knows(std::size_t n) const { return d_known >= n + 2 * d_around; }
    //! The labels so far are decisions by other taps, or at another phase.
    void forget_labels() { d_known = 0; }

    void state(archive& members);

private:
    window_geometry d_window;
    std::size_t d_reach, d_around;
    std::size_t d_past, d_most, d_capacity; // symbols
    planes d_samples;
    aligned_floats d_overlap; // end of the latest windows as received: see goes_on()
    aligned_floats d_filtered;
    std::vector<std::uint8_t> d_bad;
    symbol_labels d_symbols;
    std::size_t d_next, d_loaded, d_ready;
    std::size_t d_unusable = 0; // end of the latest samples that are not usable
    std::size_t d_known = 0;
};

} // namespace gr::adann::core
