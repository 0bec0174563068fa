/* -*- c++ -*- */
/*
 * Maximum-likelihood sequence estimation with a response that is tracked.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/mlse/trellis.h"

#include <gnuradio/adann/mlse_settings.h>

#include <array>

namespace gr::adann::core {

/*! Decides the most likely sequence of symbols by the Viterbi algorithm.
 *
 * Samples come symbol by symbol, channel_model says which; output label i belongs to
 * symbol i. The symbols before the first are unknown. **Continuous**, labels come out in
 * portions of up to 4·traceback_depth, each decided from the best path at least
 * traceback_depth symbols later; five times the memory is enough for most channels. **In
 * blocks**, every block_length symbols are decided at once and exactly, with the symbols
 * around them unknown or all equal to the label `guard`. A symbol whose samples are not
 * usable() has no branch metrics: the trellis decides it by what its neighbours say.
 *
 * **Adaptation**: LMS on each symbol once it and its neighbours are decided, with known
 * labels where there are some (passed to process(), or a training sequence), and with the
 * decided ones (decision_directed) or not at all (supervised) elsewhere. The trellis
 * takes the new response every update_interval symbols: symbols are decided with what
 * earlier ones taught.
 *
 * The labels do not depend, to the bit, on how the stream is cut into calls. Nothing is
 * allocated after construction but by set_training(). Not safe for use by several
 * threads.
 */
class mlse
{
public:
    //! Bytes of tables and survivors that are allowed: memory 10 for pam4.
    static constexpr std::size_t limit = std::size_t{ 1 } << 28;
    static constexpr std::size_t most_points = 64; //!< of the constellation

    /*! \throws std::invalid_argument naming the parameter that is out of range, or that
     * the memory takes more than `limit` bytes */
    explicit mlse(const channel_model& channel, const mlse_settings& settings = {});

    struct progress {
        std::size_t symbols; //!< taken
        std::size_t labels;  //!< decided
    };
    /*! Takes up to `symbols` symbols, writes up to `room` labels. It takes fewer only if
     * there is no room, and writes no fewer than it could.
     * \param samples floats() for each symbol
     * \param known their labels, M or more where not known; null: none */
    progress process(const float* samples,
                     const std::uint8_t* known,
                     std::size_t symbols,
                     std::uint8_t* labels,
                     std::size_t room);

    //! What comes next is another stream; labels that are not handed out are forgotten, the
    //! taps stay.
    void start();

    //! Whether labels are decided that the latest process() had no room for.
    bool pending() const { return d_given < d_decided; }
    //! Largest decision delay in symbols.
    std::size_t latency() const;

    //! A sequence of known labels.
    //! \throws std::invalid_argument if one is no label
    void set_training(const std::vector<std::uint8_t>& labels);
    //! The training sequence begins with the next symbol.
    void start_training() { d_training_position = 0; }

    //! Taken over at once.
    //! \throws std::invalid_argument if it does not fit the channel
    void set_response(const response_taps& taps);
    const response_taps& response() const { return d_tracker.taps(); }
    void set_adaptation(mlse_adaptation adaptation) { d_adaptation = adaptation; }
    //! \throws std::invalid_argument if out of range
    void set_step(float step);

    //! Of the response in the trellis.
    std::uint64_t updates() const { return d_updates; }

private:
    void take(const float* samples, const std::uint8_t* known, std::size_t symbols);
    void advance(std::size_t row, std::size_t symbols);
    void step(const simd::trellis_tables& tables, std::size_t row, std::size_t symbols);
    void add_pending(float sign);
    void start_metrics();
    std::size_t best_state() const;
    void traceback();
    void train(std::size_t first);
    void use_response();
    void forget();

    const mlse_settings d_settings;
    trellis d_trellis;
    lms_tracker d_tracker;
    mlse_adaptation d_adaptation;
    float d_step;
    const std::size_t d_portion; // symbols from one traceback to the next, at most
    const std::size_t d_margin;  // rows of decided symbols that the LMS still needs

    // A row for each symbol: d_margin of them, then those decided last, then the others.
    aligned_floats d_samples;
    std::vector<std::uint8_t> d_usable;
    std::vector<std::uint8_t> d_known; // label, or `unknown`
    std::vector<std::uint8_t> d_labels;
    std::vector<std::uint8_t> d_taught;    // what the LMS takes: known or else decided
    std::vector<std::uint8_t> d_survivors; // from row d_margin on
    std::array<aligned_floats, 2> d_metrics;
    std::size_t d_now; // which of them holds the present ones

    std::size_t d_rows;    // taken,
    std::size_t d_decided; // decided,
    std::size_t d_given;   // handed out,
    std::size_t d_trained; // and used by the LMS: so many of them
    std::size_t d_until_traceback;
    std::size_t d_until_renormalised;
    std::size_t d_since_update; // symbols
    std::uint64_t d_updates = 0;

    std::vector<std::uint8_t> d_training;
    std::size_t d_training_position; // of the next symbol in it; at its end: not in it
};

} // namespace gr::adann::core
