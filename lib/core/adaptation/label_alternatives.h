/* -*- c++ -*- */
/*
 * Other labels that are worth a try.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/label_responses.h"

#include <vector>

namespace gr::adann::core {

/*! The neighbours of each label's point. Whether a change is worth a try is estimated by the waveform's
 * affine part, with a matched filter, and by what earlier tries have shown of that: energies of changes,
 * and change_trials. */
class label_alternatives
{
public:
    static constexpr float least_log_odds =
        5; //!< of a label that adds to error odds: 1 to 150
    //! Of the gain that the affine part predicts, for a try: 2 d·r - |d|² > -|d|²/2.
    static constexpr float least_match = 0.5f;

    //! Another label instead of one, and what it has to be matched by to be tried.
    struct other_label {
        std::uint8_t label;
        float step[2], least;
        float whole; // along() of the change itself
        // Where noise depends on the label: 1 over its power, over the mean; that of the label now less it;
        // twice the power times ln of the ratio of the densities where no residual is left.
        float weight = 1, less_weight = 0, bias = 0;

        float along(const label_responses::match& found) const
        {
            return step[0] * found.along[0] + step[1] * found.along[1];
        }
        //! \param prior half of what it gains a priori
        bool is_candidate(const label_responses::match& found, float prior = 0) const
        {
            return along(found) + prior > least;
        }
        /*! Of a gain, what it is where noise depends on the label.
         * \param along energy of the residual along the symbol's response */
        float weighted(float gain, float along) const
        {
            return weight * gain + less_weight * along + bias;
        }
        //! Half of what the affine part says that it gains.
        float half_gain(const label_responses::match& found) const
        {
            return along(found) - least / least_match;
        }
    };

    explicit label_alternatives(const constellation& symbols);

    //! The signal from now on, which `responses` use already.
    void use(const refinement& signal, const label_responses& responses);

    const std::vector<other_label>& of(std::uint8_t label) const
    {
        return d_others[label];
    }
    std::size_t classes() const { return d_others.size(); }
    //! Of the smallest change of a label.
    float least_energy() const { return d_least_energy; }
    //! As refinement has them, with what was tried since.
    const std::vector<float>& energies() const { return d_energies; }
    //! As refinement has them, with what was tried since.
    const std::vector<change_trials>& trials() const { return d_trials; }
    //! Whether most of them are known from symbols.
    bool knows_trials() const;

    //! Whether any other label is worth a try. \param there the symbol's label, after the one before
    bool is_any_candidate(const std::uint8_t* there,
                          const label_responses::match& found) const
    {
        for (std::size_t i = 0; i < d_others[*there].size(); ++i)
            if (is_candidate(there, i, found))
                return true;
        return false;
    }
    //! Whether the i-th other label is. \param prior half of what it gains a priori
    bool is_candidate(const std::uint8_t* there,
                      std::size_t i,
                      const label_responses::match& found,
                      float prior = 0) const
    {
        const other_label& other = d_others[*there][i];
        if (d_is_weighted) {
            const float half = other.half_gain(found);
            prior += other.weighted(2 * half, d_energy_along(found)) / 2 - half;
        }
        return other.along(found) + prior > d_least_matches[trials_of(there) + i];
    }
    const label_responses::energy_along& energy_along() const { return d_energy_along; }
    //! What the change of a label to another was worth by its match, and by the whole waveform.
    void learn_trial(const std::uint8_t* there,
                     std::size_t i,
                     const label_responses::match& found,
                     float gain);
    //! The energy of such a change; there and back it is the same.
    void learn_energy(std::uint8_t now, std::uint8_t other, float energy);

private:
    // The first of those of a label there.
    std::size_t trials_of(const std::uint8_t* there) const
    {
        const std::size_t context = d_contexts > 1 ? there[-1] : 0;
        return (context * d_others.size() + there[0]) * refinement::most_others;
    }

    const constellation d_symbols;
    std::vector<std::vector<other_label>> d_others; // of each label
    std::vector<float> d_energies,
        d_affine_energies; // (M, M), the former over the latter
    float d_least_energy = 0;
    label_responses::energy_along d_energy_along;
    bool d_is_weighted = false; // whether noise depends on the label
    const std::size_t d_contexts;
    std::vector<change_trials> d_trials; // as refinement has them
    std::vector<float> d_least_matches;  // of each, from which on along() is worth a try
};

} // namespace gr::adann::core
