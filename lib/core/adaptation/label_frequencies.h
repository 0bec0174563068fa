/* -*- c++ -*- */
/*
 * What the frequencies of decided labels show of how many are wrong.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/label_trellis.h"
#include "core/signal/label_counts.h"

#include <array>
#include <cstddef>
#include <vector>

namespace gr::adann::core {

/*! Finds how much more noise than the residual shows explains labels that are decided more or less often than sent.
 *
 * Where a transmitter clips or its slew rate is limited, and the expected waveform lacks that, labels of one point are
 * decided as its neighbour's, which explains the samples nearly as well: residual and error probabilities show little
 * of it. But their frequencies show it: label_counts::least_wrong().
 *
 * These errors are in one direction, and those that noise makes in both: the error probabilities should be the sum. They
 * are, of single labels, found for 0, 1.5 … 6 dB more noise, and more_noise() is interpolated between these. If 6 dB do
 * not suffice, or there is no more of a residual than in the training, the labels are right, and sent as often as
 * decided: the data is not random.
 *
 * All of this is found once in a window of 8192 symbols, and the lesser of the two latest parts that are wrong counts:
 * an idle pattern within one window raises nothing. Nothing is allocated after construction. */
class label_frequencies
{
public:
    static constexpr std::size_t window = 8192; //!< symbols

    //! \param probabilities (M): of the labels sent
    explicit label_frequencies(const std::vector<float>& probabilities);

    /*! Adds a block.
     * \param labels those decided, of the window of `decided`, which had more_noise()
     * \param is_distorted whether there is more of a residual than in the training */
    void add(const label_trellis& decided, const std::uint8_t* labels, bool is_distorted);
    float more_noise() const
    {
        return d_more_noise;
    }             //!< power over what the residual shows, 1 to 4
    void reset(); //!< Another stream begins.

private:
    static constexpr std::array<float, 5> factors{ 1, 1.41f, 2, 2.82f, 4 };

    void add_errors(const label_trellis& decided, std::size_t at);
    float find(float wrong) const;
    void start_window();

    // Of the window.
    label_counts d_counts;
    std::array<float, factors.size()>
        d_errors{}; // Σ error probabilities, with each factor
    std::size_t d_blocks = 0;

    float d_wrong_before = 0; // of the previous window
    float d_more_noise = 1;
};

} // namespace gr::adann::core
