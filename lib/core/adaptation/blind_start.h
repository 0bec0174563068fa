/* -*- c++ -*- */
/*
 * Makes a model from the first symbols of a signal, for an equalizer that was given none.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/model.h"
#include "core/signal/linear_equalizer.h"

#include <complex>
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

//! Appended to model::training.
constexpr const char* trained_on_decisions = ", then 20 epochs of Adam on its decisions";

/*! The message on a start that is over.
 * \param begins its first words
 * \param carrier_frequency that was removed, cycles per symbol; 0: none
 * \param error of the linear equalizer, see linear_start
 * \param decides what does from now on */
std::string start_message(const std::string& begins,
                          double carrier_frequency,
                          double error,
                          const char* decides,
                          bool knows_rotation);
constexpr const char* network_decides = "the network trained on its decisions decides";

/*! Makes a model from the first symbols of a signal.
 *
 * At first its network decides the nearest point to a window's middle sample. Then:
 *
 * 1. Linear equalizer. It is fitted to known labels as soon as there are two for each of its taps,
 *    and then to its own decisions. Without known labels it is found blindly from 4096
 *    symbols on (linear_equalizer.h); the known labels there are, else the earlier decisions, give
 *    its rotation and delay. If labels that become known later contradict it, it is fitted again.
 *    Known labels of which a linear equalizer explains less than half are a false alarm, and count as
 *    not known. The
 *    network has its final layers already: four neurons of each layer carry ±I and ±Q through it.
 *    From 4096 symbols on linear() has an expected waveform and a carrier besides, from which a front
 *    filter can follow. network_start goes on from there.
 * 2. Network. Without a front filter, or where linear() is not found, it is trained on the linear
 *    equalizer's decisions of 32768 symbols (first_network.h); their expected waveform is fitted as well.
 *
 * Impulses of noise are set to zero (blank_impulses()), since they dominate the kurtosis: one sample in
 * 1000 at 20 dB is enough.
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
 * delay of that one's labels, and starts over unless its own labels explain the samples better:
 * a waveform is fitted (fit_waveform()) to the labels and to all but the last quarter of the
 * symbols, rotated back by the labels' carrier (track_known()). In that quarter its residual has
 * to be less than half that of the labels in use, and smaller in so many stretches of 16 symbols
 * that a fair coin would do so once in a million tests (Hoeffding's bound). This is tested after
 * the first 4096 symbols, if the phase is constant, and before the network is trained. */
class blind_start
{
public:
    static constexpr std::size_t first_look = 4096, symbols = 32768;
    static constexpr std::size_t part =
        2048; //!< symbols of a part that a network is trained on
    //! Largest window, whose covariance is solved.
    static constexpr std::size_t most_samples = 512;

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
    const model& found() const { return d_model; }
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
    double carrier_frequency() const { return d_carrier_frequency; }
    //! Whether the last take() changed found().
    bool changed() const { return d_changed; }
    //! Whether there were too few known labels to find its rotation.
    bool is_blind() const { return d_is_blind; }
    //! Symbols since it started over.
    std::size_t count() const { return d_count; }

private:
    //! How the next failure to find a linear equalizer is reported. The first one is ignored, as
    //! the first symbols may be the transients of preceding filters.
    enum class next_failure { ignored, reported, repeated };

    feature_view view() const;
    void blank_from(std::size_t first);
    std::string look();
    bool finds_carrier();
    std::optional<linear_start> find_linear() const;
    void name_training(bool has_network);
    void set_waveform(const std::vector<std::uint8_t>& labels);
    std::string carrier_said() const;
    std::vector<std::complex<double>> outputs() const;
    bool turn_back();
    bool look_without_carrier();
    double divergence_of(const std::vector<std::uint8_t>& labels) const;
    void check_labels(const std::vector<std::uint8_t>& labels) const;
    bool stands(bool is_tracked = false) const;
    std::vector<float> own_samples() const;
    std::vector<double> residuals_of(const std::vector<std::uint8_t>& labels) const;
    void check_better(const std::vector<std::uint8_t>& labels);
    std::string train(const std::function<bool()>& goes_on);
    std::vector<std::uint8_t> decided() const;
    std::vector<std::uint8_t> best_labels() const;
    bool knows_enough() const;
    bool contradicts_known(std::size_t latest) const;
    bool knows_rotation() const;
    std::size_t taps_of_a_row() const;
    bool fits_known();
    void forget(std::size_t first);
    void follow();
    void find(const feature_view& part);
    void look_again();
    double squared_error(std::size_t symbol, std::uint8_t label) const;
    double error_of(std::size_t first, std::size_t symbols) const;
    std::size_t unsettled() const;
    void forget_before(std::size_t first);
    void look_at_latest();
    void start_from_latest(const char* why);
    void set_linear(const linear_equalizer& fitted);
    void begin();

    model d_model;
    std::vector<std::complex<float>> d_points; // of unit power
    std::uint64_t d_seed;
    std::size_t d_stride = 0;
    std::vector<float> d_samples;    // impulses are set to zero
    std::vector<bool> d_has_impulse; // of each d_stride floats of d_samples
    std::vector<std::optional<std::uint8_t>> d_labels; // known ones
    std::vector<std::uint8_t> d_in_use;     // labels of another start, if there is one
    std::size_t d_count = 0;                // symbols since the latest gap
    std::size_t d_known = 0;                // known labels among them
    std::size_t d_next_look = first_look;   // number of symbols at the next test
    std::size_t d_next_linear = first_look; // and at the next search of linear()
    bool d_offers_linear = false;
    std::optional<linear_start> d_linear;
    linear_equalizer d_fitted; // initial state of d_model's network
    double d_error = 0;        // of the first linear equalizer
    double d_carrier_frequency = 0;
    start_state d_state = start_state::searching;
    next_failure d_failure = next_failure::ignored;
    bool d_changed = false;
    bool d_is_blind = true;
    std::string d_compared; // result of the comparison with the labels in use
};

} // namespace gr::adann::core
