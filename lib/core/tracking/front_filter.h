/* -*- c++ -*- */
/*
 * A filter before the network that follows what is linear: echoes, timing, gain.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/network/decider.h"
#include "core/signal/expected_waveform.h"
#include "core/signal/windows.h"
#include "core/tracking/judge.h"
#include "core/tracking/tap_bank.h"

#include <vector>

namespace gr::adann::core {

struct front_filter_settings {
    unsigned length = 12; //!< symbols that the taps span, 1 to 64
    //! Symbols that least squares look back, increasing, 64 to 10^7; 1 to 8 of them.
    std::vector<std::size_t> memories{ 128, 256, 512, 2048, 8192, 65536 };

    //! \throws std::invalid_argument naming the setting that is out of range
    void check() const;
};

/*! Brings a stream of samples to the expected waveform of what is decided from it.
 *
 * Each sample is filtered once, with the taps that are current when a decision needs it
 * first, so there is one filtered stream: windows are taken from it, and what a network
 * learns from. After every `block` symbols, counted from the first one, the taps are
 * brought to the least squares between the samples and the waveform that is expected of
 * the decisions (tap_bank.h). The result is the same to the bit, however the stream is
 * cut into calls. Nothing is allocated after construction.
 *
 * Every `judged_every` symbols a judge (judge.h) compares the latest decisions with those
 * that the network makes of the samples as they came in; if it condemns the filter, that
 * starts over from doing nothing. So whatever it has learnt from, silence, noise, another
 * signal, it is soon no worse than none.
 *
 * A sample that is not usable (all_usable()) comes out as NaN; it counts as zero in what
 * its neighbours become, and its block is not learnt from. */
class front_filter
{
public:
    static constexpr std::size_t block = 64; //!< symbols between two updates
    static constexpr std::size_t judged_every = 16 * block;

    /*! \param window of the network behind it
     * \throws std::invalid_argument if the waveform is not of such samples, or naming the
     * setting that is out of range */
    front_filter(const expected_waveform& waveform,
                 const window_geometry& window,
                 const front_filter_settings& settings = {});

    std::size_t taps() const { return d_taps; } //!< odd
    //! Samples that it looks at on each side.
    std::size_t reach() const { return d_taps / 2; }
    /*! Floats of a window of samples that comes in: what the network's window has, and
     * reach() samples on each side of it. */
    std::size_t dimension() const
    {
        return d_window.dimension() + 2 * reach() * d_window.floats_per_sample();
    }
    //! Symbols up to the end of the block: the most that filter() may be given.
    std::size_t left() const { return block - d_position; }

    /*! Filters what the next symbols' windows need.
     * \param windows at most left(), of dimension() and the window's stride
     * \return the network's windows; valid until the next call */
    feature_view filter(const feature_view& windows);

    /*! Takes the labels of filter()'s symbols, all of them, as they were decided.
     * \param decides,net the network behind it: the judge has some symbols decided without
     * the filter */
    void decided(const std::uint8_t* labels,
                 std::size_t n,
                 decider& decides,
                 const prepared_network& net);
    //! The same with known labels, which need no judge.
    void known(const std::uint8_t* labels, std::size_t n);

    //! Back to doing nothing.
    void reset();

    //! (planes, taps()): what each sample around is multiplied with, the earliest first.
    signal_planes in_use() const
    {
        return { d_bank.taps(),
                 d_planes == 2 ? d_bank.taps() + d_sums.pitch() : nullptr };
    }
    std::uint64_t resets() const { return d_resets; }      //!< by the judge
    std::size_t memory() const { return d_bank.memory(); } //!< see tap_bank
    //! What the waveform leaves of the filtered samples, over its own power; NaN if none.
    float residual() const { return d_bank.residual(); }

    void state(archive& members);

private:
    std::size_t sample(std::size_t symbol) const { return symbol * d_window.sps(); }
    void load(const feature_view& windows);
    void run(std::size_t first, std::size_t n);
    void make_room();
    bool take(const std::uint8_t* labels, std::size_t n);
    void update();
    const float* interleaved(std::size_t first, std::size_t n);
    void judge_filter(decider& decides, const prepared_network& net);

    const expected_waveform d_waveform;
    const window_geometry d_window;
    const std::size_t d_planes;
    const std::size_t d_taps;
    const std::size_t d_past, d_capacity; // symbols

    // Symbol k's middle is sample k·sps of these.
    planes d_samples;          // unusable ones are zero
    aligned_floats d_filtered; // interleaved
    std::vector<std::uint8_t> d_bad, d_labels;
    std::size_t d_next;         // the symbol to be decided
    std::size_t d_loaded;       // samples up to here have come in
    std::size_t d_ready;        // … and have been filtered
    std::size_t d_unusable = 0; // the end of the latest ones that are not
    std::size_t d_known = 0;    // symbols with labels
    std::size_t d_position = 0; // in the block

    aligned_floats d_expected;
    planes d_wanted, d_output;
    normal_equations d_sums;
    linear_filter d_filter;
    tap_bank d_bank;
    judge d_judge;
    std::vector<std::uint8_t> d_plain; // labels without the filter
    aligned_floats d_interleaved;      // of complex samples
    std::uint64_t d_blocks = 0, d_resets = 0;
};

} // namespace gr::adann::core
