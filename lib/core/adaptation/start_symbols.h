/* -*- c++ -*- */
/*
 * The symbols that a blind start has taken.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/carrier_track.h"
#include "core/signal/windows.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace gr::adann::core {

/*! Samples of consecutive symbols, and their labels as far as they are known. Impulses of noise are
 * set to zero (blank_impulses()), since they dominate the kurtosis: one sample in 1000 at 20 dB is
 * enough. */
class start_symbols
{
public:
    //! \param classes number of labels, M
    start_symbols(const window_geometry& window, std::size_t classes);

    /*! Adds a batch, which follows the symbols before.
     * \param known null, or its known labels, see is_known()
     * \return how many of its labels are known */
    std::size_t add(const feature_view& batch, const std::uint8_t* known);
    //! Adds labels by the start in use, if there is one.
    void add_in_use(const std::uint8_t* labels, std::size_t n);
    void clear();

    std::size_t count() const { return d_count; }
    feature_view view() const
    {
        return { d_samples.data(), d_stride, d_window.dimension(), d_count };
    }
    //! The symbols' own samples, (count, stride), without those of the rest of their windows.
    std::vector<float> own_samples() const;
    //! The same, of symbols with an impulse beginning with NaN.
    std::vector<float> own_samples_marked() const;

    //! Known labels, (count).
    const std::vector<std::optional<std::uint8_t>>& labels() const { return d_labels; }
    std::size_t known() const { return d_known; } //!< their number
    //! Forgets those from symbol `first` on.
    void forget_known(std::size_t first);
    //! Labels by the start in use, (count), or none.
    const std::vector<std::uint8_t>& in_use() const { return d_in_use; }

    //! Forgets the symbols before this one.
    void forget_before(std::size_t first);
    //! Rotates complex samples back by a carrier, to its phase at the latest symbol.
    void rotate_back(const carrier_track& carrier);

private:
    void blank_from(std::size_t first);

    window_geometry d_window;
    std::size_t d_classes;
    std::size_t d_stride = 0;
    std::vector<float> d_samples;
    std::vector<bool> d_has_impulse; // of each d_stride floats of d_samples
    std::vector<std::optional<std::uint8_t>> d_labels;
    std::vector<std::uint8_t> d_in_use;
    std::size_t d_count = 0, d_known = 0;
};

} // namespace gr::adann::core
