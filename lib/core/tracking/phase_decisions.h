/* -*- c++ -*- */
/*
 * Decides the steps of a stream at several phases.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/decider.h"
#include "core/tracking/carrier.h"
#include "core/tracking/phase_search.h"

#include <vector>

namespace gr::adann::core {

/*! A phase search (phase_search.h) with the labels at each of its angles.
 *
 * Symbols are numbered as in the buffer of samples; move_back() follows it. */
class phase_decisions
{
public:
    static constexpr std::size_t step = carrier::step;

    //! \param symbols that the buffer has room for
    phase_decisions(const constellation& alphabet,
                    const window_geometry& window,
                    std::size_t reach,
                    std::size_t symbols);

    phase_search& search() { return d_search; }
    const phase_search& search() const { return d_search; }
    std::size_t angles() const { return d_labelled.size(); }

    /*! Decides a step at each angle around the phase that the search will expect when take() comes
     * to it, after its neighbours are decided.
     * \param filtered first sample of the first window, interleaved
     * \param rotated rotation by which the step's middle sample was rotated back */
    void decide(const float* filtered,
                std::complex<float> rotated,
                const network_decider& decides,
                std::size_t symbol);
    /*! Adds a step whose neighbours are decided to the search.
     * \param known whether its labels and samples can be learnt from
     * \param expect float* (labels, n): their waveform
     * \param loop that has rotated back the samples, the first of which is `first` */
    template <typename waveform>
    void take(bool known,
              waveform expect,
              const carrier& loop,
              const float* samples,
              double power,
              std::size_t first,
              std::size_t symbol);
    //! Labels at an angle, from this symbol on.
    const std::uint8_t* labels(std::size_t angle, std::size_t symbol) const
    {
        return &d_labelled[angle][symbol];
    }
    //! Sets the known label of a symbol at all angles.
    void set_known(std::size_t symbol, std::uint8_t label)
    {
        for (auto& each : d_labelled)
            each[symbol] = label;
    }
    //! Sets the same labels at all angles, up to `end`.
    void set_labels(const std::uint8_t* labels, std::size_t end);
    void move_back(std::size_t symbols);

    /*! \param first,n symbols of the buffer that are still needed
     * \param classes labels are less */
    void state(archive& members, std::size_t first, std::size_t n, std::size_t classes);

private:
    window_geometry d_window;
    float d_later; // steps from the latest take() to the decided step
    phase_search d_search;
    std::vector<std::vector<std::uint8_t>> d_labelled; // at each angle
    aligned_floats d_turned;                           // the windows of a step
};

template <typename waveform>
void phase_decisions::take(bool known,
                           waveform expect,
                           const carrier& loop,
                           const float* samples,
                           double power,
                           std::size_t first,
                           std::size_t symbol)
{
    for (std::size_t a = 0; a < angles(); ++a) {
        phase_search::correlation found;
        if (known) {
            const float* const expected = expect(labels(a, symbol), step);
            found = { loop.compare(expected, samples, first),
                      power + power_of(expected, step * d_window.sps()) };
        }
        d_search.take(a, found);
    }
}

} // namespace gr::adann::core
