/* -*- c++ -*- */
/*
 * From nothing to a model: what an equalizer begins with that was given none.
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

//! What a blind start has of its symbols.
enum class start_state {
    searching,  //!< no linear equalizer yet
    equalizing, //!< one that decides
    done        //!< a model, which it keeps
};

/*! Makes a model from the first symbols of a signal.
 *
 * At first its network takes the nearest point to a window's middle sample. From the batch
 * on in which there are two known labels for each sample of a window, it is the linear
 * equalizer that was fitted to these and then to its decisions; without them from 4096
 * symbols on one that was found blindly (linear_equalizer.h), in the rotation and at the
 * delay of the labels that are known, else of the decisions before. Where it is at odds
 * with labels that become known it is fitted anew; known ones that no linear equalizer
 * explains, a false alarm, count as not known. That network has the layers of the one to
 * come: four of each layer's neurons carry ±I and ±Q through it. From there it is trained,
 * 20 epochs on the linear equalizer's decisions of 32768 symbols, whose expected waveform
 * is learnt as well. Of the two networks the waveform_judge chooses, on the quarter of the
 * symbols that neither was trained on.
 *
 * What comes before this may have settled late: each time that there are twice as many symbols,
 * another linear equalizer is found blindly from the later half of them, and of both the one of the
 * smaller residual goes on. Eighths at the beginning of the 32768 with twice the residual of the later
 * half are forgotten.
 *
 * A linear equalizer that explains little is no start: a phase that does not stand still
 * (phase_stands()), or labels farther than 0.4 nats from equally frequent ones. Where the carrier
 * turns steadily (track_power()), the symbols are turned back by it and looked at once more; what is
 * learnt then holds for a carrier that is followed. That of an offset constellation is not looked at.
 * Where the channel moves, so that the 32768 symbols have no linear equalizer in common, it is fitted
 * to the latest 4096, and no network is trained: the front filter follows from there.
 *
 * Symbols have to follow each other without a gap; after one, and where no linear
 * equalizer finds the constellation, it starts over.
 *
 * Compared with a start that was accepted, compare_with(), it goes on as that one's labels do, and
 * starts over where its own do not explain the samples better: a waveform is fitted to the labels and
 * to all but the last quarter of the symbols (fit_waveform()), turned back by the carrier that the
 * labels tell (track_known()). Of that quarter it has to leave less than half the power that those in
 * use leave, and less in so many of its stretches of 16 symbols that a fair coin would do it once in a
 * million tests (Hoeffding's bound). It is asked after the first look, where the phase stands still,
 * and before the network is trained. */
class blind_start
{
public:
    static constexpr std::size_t first_look = 4096, symbols = 32768;
    static constexpr std::size_t most_samples =
        512; //!< of a window: its covariance is solved

    /*! \param seed of what training draws
     * \throws std::invalid_argument for a window of more than 512 samples, or one that no
     * constellation fits */
    blind_start(const std::string& constellation,
                unsigned sps,
                unsigned half_window,
                bool complex,
                std::uint64_t seed);

    /*! Takes a batch.
     * \param labels known ones of its symbols from number `first` on, below M; others count as
     * not known
     * \param known how many
     * \param follows whether it comes directly after the one before
     * \param goes_on asked now and then while it trains; if not, it starts over
     * \return what people should know: empty if nothing has happened that is new to them */
    std::string take(const feature_view& batch,
                     const std::uint8_t* labels,
                     std::size_t first,
                     std::size_t known,
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
    //! Whether that is the one to go on with.
    bool done() const { return d_state == start_state::done; }
    //! Whether the last take() changed found().
    bool changed() const { return d_changed; }
    //! Whether there were too few known labels to tell its rotation.
    bool is_blind() const { return d_is_blind; }
    //! Symbols since it started over.
    std::size_t count() const { return d_count; }

private:
    //! To find a linear equalizer. The first symbols may be what the filters before this are filled by.
    enum class next_failure { ignored, reported, repeated };

    feature_view view() const;
    std::string look();
    std::string carrier_said() const;
    std::vector<std::complex<double>> outputs() const;
    bool turn_back();
    void check_labels(const std::vector<std::uint8_t>& labels) const;
    bool stands(bool is_tracked = false) const;
    std::vector<float> own_samples() const;
    std::vector<double> left_by(const std::vector<std::uint8_t>& labels) const;
    void check_better(const std::vector<std::uint8_t>& labels);
    std::string train(const std::function<bool()>& goes_on);
    std::vector<std::uint8_t> decided() const;
    std::vector<std::uint8_t> best_labels() const;
    bool knows_enough() const;
    bool contradicts_known(std::size_t latest) const;
    bool tells_rotation() const;
    bool fits_known();
    void forget(std::size_t first);
    void follow();
    void find(const feature_view& part);
    void look_again();
    double left(std::size_t first, std::size_t symbols) const;
    std::size_t unsettled() const;
    void forget_before(std::size_t first);
    void start_from_latest(const char* why);
    std::optional<network> train_network(const std::vector<std::uint8_t>& labels,
                                         const std::function<bool()>& goes_on) const;
    void set_linear(const linear_equalizer& fitted);
    bool judge(const network& trained, const std::vector<std::uint8_t>& labels) const;
    void begin();

    model d_model;
    std::uint64_t d_seed;
    std::size_t d_stride = 0;
    std::vector<float> d_samples;
    std::vector<std::optional<std::uint8_t>> d_labels; // that are known
    std::vector<std::uint8_t> d_in_use;   // by another start, if there is one
    std::size_t d_count = 0;              // symbols since the latest gap
    std::size_t d_known = 0;              // labels, of them
    std::size_t d_next_look = first_look; // at so many symbols
    linear_equalizer d_fitted;            // that d_model's network started as
    double d_error = 0;                   // of the first linear equalizer
    start_state d_state = start_state::searching;
    next_failure d_failure = next_failure::ignored;
    bool d_changed = false;
    bool d_is_blind = true;
    std::string d_compared; // with the labels in use
};

} // namespace gr::adann::core
