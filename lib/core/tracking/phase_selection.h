/* -*- c++ -*- */
/*
 * Labels of a stream, decided at the best of several phases.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/tracking/learning_target.h"
#include "core/tracking/phase_decisions.h"

#include <optional>
#include <vector>

namespace gr::adann::core {

/*! Decides the steps of a stream at several phases (phase_decisions.h), and replaces its labels by those
 * of the selected one, while it is on. */
class phase_selection
{
public:
    static constexpr std::size_t step = carrier::step;

    //! \param symbols that the history has room for
    phase_selection(const constellation& alphabet,
                    const window_geometry& window,
                    std::size_t reach,
                    std::size_t symbols);

    //! Whether decisions do not tolerate every phase up to the next symmetry.
    bool is_possible() const { return d_decisions.has_value(); }
    bool is_on() const { return d_is_on; }
    /*! Begins with the loop's phase and frequency.
     * \param middle sample in the middle of the latest measured step
     * \param residual of the stream, mean square of a sample: the initial value of residual() */
    void begin(const sample_history& history,
               const carrier& loop,
               std::size_t middle,
               float residual);
    void stop() { d_is_on = false; }
    /*! Replaces the labels of the step that is measured next, and of those after it, by the
     * decisions at the selected phase.
     * \param decides decides filtered windows */
    void select(sample_history& history,
                learning_target& target,
                const carrier& loop,
                const network_decider& decides);
    //! Mean square residual of a sample at its best phase, over 4 blocks; over one.
    float residual() const { return d_residual; }
    float latest_residual() const { return d_latest_residual; }
    //! Rotates the expected waveform of a block by the phase prediction's error, if it is on.
    void rotate_expected(const sample_history& history,
                         std::size_t symbol,
                         std::size_t n,
                         float* expected) const;

    //! Follows a rotation of the loop, radians.
    void turn(float by);
    //! Follows history.make_room().
    void move_back(std::size_t symbols);

    void state(archive& members, const sample_history& history);

private:
    std::optional<phase_decisions> d_decisions; // none where decisions tolerate any phase
    std::vector<phase_search::correlation> d_correlations; // at each of its angles
    bool d_is_on = false;
    float d_residual = 0, d_latest_residual = 0;
};

} // namespace gr::adann::core
