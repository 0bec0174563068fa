/* -*- c++ -*- */
/*
 * Whether the model decides better as it was loaded than with all that it has learnt.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/network/decider.h"
#include "core/network/model.h"
#include "core/signal/label_counts.h"
#include "core/tracking/judge.h"

#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Compares the labels in use with those of the loaded network, of the samples as received, by their frequencies.
 *
 * Front filter, network and waveform learn from the labels that they lead to. On a signal that is distorted so much that
 * most errors are one label for another, all of them may come to agree that hardly one of these is sent: such
 * labels explain the samples better than right ones, by the channel that is fitted to them. So neither residuals nor
 * votes show it. But random data has all labels.
 *
 * Where at least 1/128 of 8192 labels is wrong by label_counts::least_wrong(), the next 8192 symbols are
 * decided by the loaded network as well. The labels in use are the worse ones if
 * - their frequencies are twice as far from the probabilities, and further by half of the labels that differ: noise alone
 *   changes labels in all directions,
 * - a quarter of the labels differs at most: of a carrier that rotates the loaded network's may be equally frequent and
 *   wrong, and
 * - their residual is not less than half of the loaded network's (judge.h): right labels of data that is not random
 *   explain the samples.
 *
 * After a comparison that they have not lost 2, 4 … 64 windows are skipped. */
class frequency_guard
{
public:
    static constexpr std::size_t window = 8192; //!< symbols
    //! Shortest batch, symbols.
    static std::size_t least_batch(const expected_waveform& waveform)
    {
        return judge::symbols + 2 * waveform.reach();
    }

    //! \param loaded a model with an expected waveform \param batch symbols, from least_batch()
    frequency_guard(const model& loaded, std::size_t batch);

    //! Whether add() wants samples as received.
    bool compares() const { return d_compares; }
    /*! Adds a batch.
     * \param seen by the network in use
     * \param received null, or the same symbols as they came in
     * \param labels in use
     * \return whether they are worse than the loaded network's */
    bool add(const feature_view& seen,
             const feature_view* received,
             const std::uint8_t* labels);
    void state(archive& members);

private:
    static constexpr std::size_t shortest = 2, longest = 64;

    float residual(const feature_view& windows, const std::uint8_t* labels);
    bool is_worse() const;

    const window_geometry d_window;
    const std::size_t d_reach;
    judge d_judge;
    planes d_samples;
    decider d_decider;
    const prepared_network d_loaded;
    std::vector<std::uint8_t> d_decided; // by the loaded network

    label_counts d_counts, d_loaded_counts;
    std::size_t d_alike = 0;                     // labels
    float d_residual = 0, d_loaded_residual = 0; // Σ of batches
    bool d_compares = false;
    std::size_t d_windows = 0;      // until one may be followed by a comparison
    std::size_t d_apart = shortest; // windows that are skipped after the next comparison
};

} // namespace gr::adann::core
