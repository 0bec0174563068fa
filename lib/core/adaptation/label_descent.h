/* -*- c++ -*- */
/*
 * A step towards the labels that explain the samples best.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/change_trials.h"
#include "core/adaptation/filtered_waveform.h"
#include "core/adaptation/residual_phase.h"
#include "core/common/aligned.h"
#include "core/signal/constellation.h"
#include "core/signal/expected_waveform.h"
#include "core/simd/kernels.h"

#include <cmath>
#include <complex>
#include <vector>

namespace gr::adann::core {

//! What refining labels needs to know of the present signal; a label_refiner finds it.
struct refinement {
    refinement() = default;
    explicit refinement(const expected_waveform& waveform) //!< with room for the filters
        : taps(2 * filter_reach * waveform.sps() + 2),
          whitening(predicted_from * waveform.sps() + 1),
          table(waveform.table()),
          polynomial(waveform.polynomial().coefficients()),
          energies(waveform.classes() * waveform.classes(), 1.0f),
          trials(contexts(waveform.classes()) * waveform.classes() * most_others)
    {
    }
    //! Labels before a symbol that trials tell apart: a sender's memory may make a change small
    //! behind one of them only. With many labels each would be seen too seldom.
    static std::size_t contexts(std::size_t classes)
    {
        return classes <= 8 ? classes : 1;
    }
    static constexpr std::size_t most_others = constellation::most_neighbours;
    //! Copies it; the table only where waveform_number differs, and so allocates nothing.
    void assign(const refinement& other);
    //! Symbols that whitening looks back.
    static constexpr std::size_t predicted_from = 3;

    bool known = false;       //!< else labels stay as they are
    std::uint64_t number = 0; //!< another one when the filters are
    //! Of the filter behind the waveform; then its offset.
    std::vector<std::complex<float>> taps;
    //! What a sample of the rest, the one before, … are multiplied with; the first is 1.
    std::vector<std::complex<float>> whitening;
    float power = 0; //!< mean square of the whitened floats that refined labels leave
    //! The same along a symbol's response, which is all that noise can change a decision by.
    float power_along = 0;
    //! How far what is left of a carrier's phase is believed (residual_phase_filter).
    residual_phases::weights phase_weights{};
    std::vector<float> table, polynomial; //!< of the waveform (following_waveform)
    std::uint64_t waveform_number = 0;    //!< another one when that is
    /*! (M, M): energy that the change of one label to another has had, over what the affine
     * part says; 1 where none was tried. */
    std::vector<float> energies;
    //! (contexts, M, most_others): of the label before, a label, and each of its neighbours.
    std::vector<change_trials> trials;
};

/*! Tries other labels for a symbol, its surroundings kept: the neighbours of its point, and
 * takes the one that lowers the squared difference to the expected waveform most. Where an echo
 * or coloured noise makes the responses of near symbols alike, it tries such pairs, too, and
 * longer chains.
 *
 * The waveform goes through a filter; the difference is whitened by a linear prediction, so
 * that for Gaussian noise it is a likelihood. Whether a change is worth a try is estimated by
 * the waveform's affine part, with a matched filter, and by what earlier tries have shown of that
 * (change_trials); the whole waveform decides. Nothing is allocated after construction.
 *
 * Source: a descent over single symbols of maximum-likelihood sequence estimation (Forney
 * 1972), as in likelihood ascent search (Vardhan et al. 2008). */
class label_descent
{
public:
    label_descent(const constellation& symbols, const expected_waveform& waveform);

    const expected_waveform& waveform() const { return d_waveform; }
    std::size_t dimensions() const { return d_dimensions; } //!< of a point
    std::size_t lags() const { return d_lags; } //!< samples that whitening looks back
    std::size_t taps() const { return d_taps; } //!< of the filter
    //! Whitened symbols before a symbol, and behind it, that its label changes.
    std::size_t before() const { return d_waveform.reach() + filter_reach; }
    std::size_t behind() const { return before() + refinement::predicted_from; }

    //! The signal to refine from now on.
    void use(const refinement& signal);
    /*! The rest, whitened.
     * \param rest,white n samples, the first lags() of which become zero */
    void whiten(const float* rest, std::size_t n, float* white) const;
    /*! The same of simd::lanes symbols, from their samples on, without what is left of a
     * carrier in these.
     * \param labels of the first of them; behind() lie before it, before() behind the last
     * \param samples of the first; those of predicted_from symbols lie before it
     * \param phases of complex samples: of the blocks before, then of this one, too
     * \param white lanes · stride floats */
    void subtract_waveform(const std::uint8_t* labels,
                           const float* samples,
                           residual_phases& phases,
                           float* white);

    //! How well the affine part says that a symbol's point may have been another one.
    struct match {
        float along[2] = {}; // of each dimension
    };
    static constexpr std::size_t most_matched = 4 * simd::lanes; //!< at once
    /*! Of some symbols.
     * \param white whitened rest of the first one; that of before() symbols lies before it,
     * of behind() ones behind the last
     * \param count a multiple of simd::lanes, up to most_matched
     * \param matches of each of them */
    void find_matches(const float* white, std::size_t count, match* matches);

    //! Another label instead of one, and what it has to be matched by to be tried.
    struct other_label {
        std::uint8_t label;
        float step[2], least;
        float whole; // along() of the change itself

        float along(const match& found) const
        {
            return step[0] * found.along[0] + step[1] * found.along[1];
        }
        bool is_tempting(const match& found) const { return along(found) > least; }
        //! Half of what the affine part says that it gains.
        float half_gain(const match& found) const
        {
            return along(found) - least / least_match;
        }
    };
    //! Instead of this one.
    const std::vector<other_label>& others(std::uint8_t label) const
    {
        return d_others[label];
    }
    //! By how much points of unit power differ in a dimension.
    float difference(std::size_t from, std::size_t to, std::size_t dimension) const
    {
        return d_points[to * d_dimensions + dimension] -
               d_points[from * d_dimensions + dimension];
    }
    /*! Product of the responses of a symbol's dimension and of one of a symbol that is `later`
     * ones behind it. */
    float product(std::size_t later, std::size_t own, std::size_t its) const;
    float power() const { return d_power; } //!< of the noise, for likelihoods

    /*! The likelihoods of what was tried, over that of the labels as they are, summed where a
     * label is another one: it alone, and together with others. */
    struct odds {
        float alone = 0, together = 0;
        //! That the label is wrong.
        float probability() const { return 1 - 1 / (1 + alone + together); }
    };
    //! What is refined.
    struct stretch {
        std::uint8_t* labels;
        std::size_t count; //!< of them
        //! Whitened rest of symbols first to last - 1 of them, changed with the labels.
        float* white;
        std::size_t first, last;
        odds* error_odds = nullptr; //!< null, or of each label afterwards
    };
    /*! Refines the label of one symbol, at least the second of the stretch.
     * \param found by find_matches(); null: not yet, or another label has changed since
     * \return whether it changed */
    bool visit(const stretch& all, std::size_t symbol, const match* found = nullptr)
    {
        const match own = found ? *found : match_of(all, symbol);
        if (is_tempting(all.labels + symbol, own))
            return try_others(all, symbol, own, false);
        if (all.error_odds)
            all.error_odds[symbol].alone = 0;
        return false;
    }
    //! The same, of a symbol drawn without regard to its match: all others are tried, and trials()
    //! learn from them.
    bool explore(const stretch& all, std::size_t symbol)
    {
        return try_others(all, symbol, match_of(all, symbol), true);
    }
    /*! Whether there are symbols so near that their responses are much alike: then both may be
     * wrong together, where changing either alone makes it worse. */
    bool has_pairs() const { return !d_pairs.empty(); }
    /*! Refines the labels of a symbol and of later ones together, the first such pair that gains;
     * where it does not, with the labels that are then most likely wrong. What gains nothing, the
     * pair and each longer chain, is added to the error odds.
     * \param end the later symbols lie before it
     * \param found matches of `symbol` and of those behind it; null as for visit()
     * \return the last of them if they changed, else 0 */
    std::size_t visit_pairs(const stretch& all,
                            std::size_t symbol,
                            std::size_t end,
                            const match* found = nullptr);
    /*! What the affine part's responses of each second symbol, of unit energy, find in the rest:
     * noise where the labels are right.
     * \param white whitened rest of symbols first to last - 1
     * \param use is given a symbol's number and what is found, of each dimension */
    template <typename Use>
    void
    look_along(const float* white, std::size_t first, std::size_t last, Use use) const;
    //! Of the smallest change of a label.
    float least_energy() const { return d_least_energy; }
    //! As refinement has them, with what was tried since.
    const std::vector<float>& energies() const { return d_energies; }
    //! Likewise.
    const std::vector<change_trials>& trials() const { return d_trials; }
    //! Whether most of them are known from symbols.
    bool knows_trials() const;
    //! Labels that were tried so far: what costs.
    std::size_t tries() const { return d_tries; }

private:
    static constexpr float least_log_odds =
        5; // of a label that adds to error odds: 1 to 150
    // Of the gain that the affine part predicts, for a try: 2 d·r - |d|² > -|d|²/2.
    static constexpr float least_match = 0.5f;
    static constexpr std::size_t farthest = 8; // symbols of a pair
    static constexpr std::size_t longest = 8;  // labels that change together

    // Of trials: the first of those of a label there.
    std::size_t trials_of(const std::uint8_t* there) const
    {
        const std::size_t context = d_contexts > 1 ? there[-1] : 0;
        return (context * d_others.size() + there[0]) * refinement::most_others;
    }
    bool is_tempting(const std::uint8_t* there, const match& found) const
    {
        const float* least = &d_least_matches[trials_of(there)];
        for (const other_label& other : d_others[*there])
            if (other.along(found) > *least++)
                return true;
        return false;
    }
    // A later symbol, and the products of the responses: of the former's dimensions, of its.
    struct neighbour {
        std::size_t later;
        float products[2][2];
    };
    struct choice {
        std::size_t symbol;
        std::uint8_t label;
    };
    // What is known of a symbol's response, from so many floats on.
    struct known_part {
        std::size_t skipped, n;
        float* white;
    };

    match match_of(const stretch& all, std::size_t symbol) const;
    bool
    try_others(const stretch& all, std::size_t symbol, const match& found, bool explores);
    std::size_t
    try_chain(const stretch& all, std::size_t end, choice first, choice second);
    choice
    most_likely_behind(const stretch& all, std::size_t symbol, std::size_t end) const;
    known_part part_of(const stretch& all, std::size_t symbol) const;
    float find_gain(const stretch& all, std::size_t symbol, std::uint8_t other);
    void learn_energy(std::uint8_t now, std::uint8_t other, float energy);
    float likelihood(float gain) const;
    static void take(const known_part& part, const aligned_floats& change);
    void find_pairs();
    template <typename sample>
    void find_responses(const refinement& signal);
    void find_filters(const refinement& signal);
    void find_others();
    void find_change(const stretch& all, std::size_t symbol, std::uint8_t other);

    const constellation d_symbols;
    expected_waveform d_waveform;
    std::uint64_t d_waveform_number = 0;
    const std::size_t d_dimensions, d_planes; // of points, of samples
    // Samples: of the prediction, the filter, a symbol's response.
    const std::size_t d_lags, d_taps, d_length;
    std::vector<float> d_points;                // (M, dimensions), of unit power
    std::vector<float> d_whitening, d_combined; // filters: its own, with the other one
    std::vector<float> d_response;              // (dimensions, length) of a unit
    std::vector<std::vector<other_label>> d_others; // of each label
    std::vector<float> d_energies,
        d_affine_energies; // (M, M), the former over the latter
    float d_least_energy = 0;
    const std::size_t d_contexts;
    std::vector<change_trials> d_trials;  // as refinement has them
    std::vector<float> d_least_matches;   // of each, from which on along() is worth a try
    std::vector<neighbour> d_pairs;       // the nearest first
    std::vector<float> d_before, d_after; // expected samples around a symbol
    aligned_floats d_change, d_best;      // (length) of a label's change
    std::vector<float> d_kept;            // of the rest, before one
    float d_power = 0;                    // of the noise, for likelihoods
    residual_phases::weights d_phase_weights{};
    std::size_t d_tries = 0;
    // For simd::lanes symbols at a time.
    const simd::kernels* d_kernels;
    // (planes, taps + lags) and (planes, lags + 1): what slides over expected samples, and
    // over those received; (stride, dimensions, symbols of a response).
    aligned_floats d_sliding_wave, d_sliding_samples, d_sliding_response;
    // (planes, samples of a symbol's reach); (planes, what those slide over).
    aligned_floats d_factors, d_sliding_change;
    float d_offset[2] = {};              // whitened
    aligned_floats d_expected, d_turned; // samples, and those times i
    aligned_floats d_received;           // whitened samples
    aligned_floats d_phases, d_found;    // (stride, symbols); (dimensions, most_matched)
};

template <typename Use>
void label_descent::look_along(const float* white,
                               std::size_t first,
                               std::size_t last,
                               Use use) const
{
    constexpr std::size_t apart = 2; // symbols
    const std::size_t floats = d_length * d_planes, stride = d_waveform.stride();
    float scale[2] = {}, along[2] = {};
    for (std::size_t d = 0; d < d_dimensions; ++d) {
        const float* const response = &d_response[d * floats];
        const float energy = d_kernels->dot(response, response, floats);
        scale[d] = energy > 0 ? 1 / std::sqrt(energy) : 0;
    }
    for (std::size_t i = first + before() + refinement::predicted_from;
         i + behind() < last;
         i += apart) {
        const float* const own = &white[(i - before() - first) * stride];
        for (std::size_t d = 0; d < d_dimensions; ++d)
            along[d] = scale[d] * d_kernels->dot(&d_response[d * floats], own, floats);
        use(i, along);
    }
}

} // namespace gr::adann::core
