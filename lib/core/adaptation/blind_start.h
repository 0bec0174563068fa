/* -*- c++ -*- */
/*
 * Makes a model from the first symbols of a signal, for an equalizer that was given none.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/start_search.h"
#include "core/network/model.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gr::adann::core {

//! States of a blind start.
enum class start_state {
    searching,  //!< no linear equalizer yet
    equalizing, //!< a linear equalizer decides
    done        //!< the model is found
};

//! A linear equalizer that was found from the first symbols of a signal.
struct linear_start {
    model found;              //!< its network is the linear equalizer
    double carrier_frequency; //!< as blind_start::carrier_frequency()
    double error;             //!< mean square, relative to the symbols' power
    bool knows_rotation;      //!< from known labels
    std::size_t symbols;      //!< that had been taken when it was found
};

/*! Makes a model from the first symbols of a signal.
 *
 * At first its network decides the nearest point to a window's middle sample. Then:
 *
 * 1. Linear equalizer. It is fitted to known labels as soon as there are two for each of its taps,
 *    and then to its own decisions. Without known labels it is found blindly from 4096
 *    symbols on (linear_equalizer.h); the known labels there are, else the earlier decisions, give
 *    its rotation and delay. If labels that become known later contradict it, it is fitted again.
 *    Known labels of which a linear equalizer explains less than half are a false alarm, and count as
 *    not known (start_search.h, linear_network.h).
 *    From 4096 symbols on linear() has an expected waveform and a carrier besides, from which a front
 *    filter can follow. network_start goes on from there.
 * 2. Network. Without a front filter, or where linear() is not found, it is trained on the linear
 *    equalizer's decisions of 32768 symbols (first_network.h); their waveform is fitted as well.
 *
 * The start of a signal may be disturbed while preceding stages acquire. So whenever the number of
 * symbols has doubled, another linear equalizer is found blindly from their later half, and the one
 * of smaller residual is kept. Eighths at the beginning of the 32768 symbols with twice the
 * residual of the later half are dropped.
 *
 * A linear equalizer is rejected if its phase is not constant (phase_stands()), or if the labels'
 * distribution is farther than 0.4 nats from uniform. If the carrier rotates steadily
 * (track_power()), the symbols are rotated back to the latest one's phase and tested again, with
 * known labels too; the model then holds for a carrier that is tracked, from carrier_frequency()
 * on. The carrier of an offset constellation is not tested. If the channel changes so much that the
 * 32768 symbols have no common linear equalizer, it is fitted to the latest 4096, and no network is
 * trained: the front filter follows from there. With enough known labels neither phase nor
 * distribution is a reason to reject it.
 *
 * Symbols have to follow each other without a gap. After a gap, and where no linear equalizer finds
 * the constellation, the search starts over.
 *
 * compare_with() runs a second start while an accepted one decides. It takes the rotation and
 * delay of that one's labels, and starts over unless its own labels explain the samples better
 * (start_comparison.h). This is tested after the first 4096 symbols, if the phase is constant, and
 * before the network is trained. */
class blind_start
{
public:
    static constexpr std::size_t first_look = start_search::first_look, symbols = 32768;
    static constexpr std::size_t part =
        2048; //!< symbols of a part that a network is trained on
    static constexpr std::size_t most_samples = linear_network::most_samples;

    /*! \param seed of the training's random numbers
     * \throws std::invalid_argument for a window of more than 512 samples, or one that no
     * constellation fits */
    blind_start(const std::string& constellation,
                unsigned sps,
                unsigned half_window,
                bool complex,
                std::uint64_t seed);

    /*! Takes a batch.
     * \param known null, or its known labels, see is_known()
     * \param follows whether it comes directly after the previous one
     * \param goes_on called from time to time while it trains: false stops it and starts over
     * \return a message for the user; empty if there is no news */
    std::string take(const feature_view& batch,
                     const std::uint8_t* known,
                     bool follows,
                     const std::function<bool()>& goes_on);

    /*! The same of a signal that another start decides.
     * \param in_use the labels of all symbols by that one */
    std::string compare_with(const feature_view& batch,
                             const std::uint8_t* in_use,
                             bool follows,
                             const std::function<bool()>& goes_on);

    //! The best so far. Its network has the same layers always.
    const model& found() const { return d_search.linear().made(); }
    /*! The linear equalizer of the latest 4096 symbols, or of known ones, from which a front filter can
     * start; none unless offer_linear() was called, or while none is found: the carrier's phase neither
     * stands nor rotates steadily, or the labels are not equally frequent. */
    const std::optional<linear_start>& linear() const { return d_linear; }
    //! Has linear() searched for.
    void offer_linear() { d_offers_linear = true; }
    //! Whether found() is the one to go on with.
    bool done() const { return d_state == start_state::done; }
    //! Of the carrier that found() is trained without, cycles per symbol. Its phase is 0 at the
    //! latest symbol taken.
    double carrier_frequency() const { return d_search.carrier_frequency(); }
    //! Whether the last take() changed found().
    bool changed() const { return d_changed || d_search.has_news(); }
    //! Whether there were too few known labels to find its rotation.
    bool is_blind() const { return d_is_blind; }
    //! Symbols since it started over.
    std::size_t count() const { return d_search.symbols().count(); }

private:
    //! How the next failure to find a linear equalizer is reported. The first one is ignored, as
    //! the first symbols may be the transients of preceding filters.
    enum class next_failure { ignored, reported, repeated };

    std::string look();
    std::string carrier_said() const;
    std::string train(const std::function<bool()>& goes_on);
    std::optional<linear_start> find_linear() const;
    void begin();

    start_search d_search;
    std::size_t d_next_look = first_look;   // number of symbols at the next test
    std::size_t d_next_linear = first_look; // and at the next search of linear()
    bool d_offers_linear = false;
    std::optional<linear_start> d_linear;
    start_state d_state = start_state::searching;
    next_failure d_failure = next_failure::ignored;
    bool d_changed = false;
    bool d_is_blind = true;
};

} // namespace gr::adann::core
