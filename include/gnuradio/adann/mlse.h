/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/api.h>
#include <gnuradio/adann/mlse_settings.h>
#include <gnuradio/block.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gr::adann {

//! The MLSE's settings, and labels that are known beforehand.
struct mlse_options : mlse_settings {
    std::vector<std::uint8_t> training; //!< known labels ...
    std::string
        training_tag; //!< from a tag with this key on; empty: from the first symbol
};

/*! \brief Maximum-likelihood sequence estimation (Viterbi) with a tracked channel
 * response. \ingroup adann
 *
 * Input 0: float or complex samples at `sps` per symbol, sample i·sps the middle of
 * symbol i. Input 1, optional: known labels (byte), one per symbol; M or more where not
 * known. Output: labels 0 … M-1 (byte); output i belongs to symbol i, and comes out up to
 * 5·traceback_depth symbols later, or with its block. Tags move to the symbol that has
 * their sample, those of known labels to their symbol.
 *
 * The samples of symbol i are i·sps - ⌊sps/2⌋ + p, p = 0 … sps - 1. Without noise each is
 *
 *     Σ_k response[p·memory + k] · a(i + ⌊(memory - 1)/2⌋ - k),   k = 0 … memory - 1
 *
 * with a(j) the constellation's point of symbol j. A symbol with a sample that is not
 * finite, or beyond ±1e8, is decided by its neighbours and teaches nothing.
 *
 * The response follows by normalised LMS from known labels, which input 1 or the training
 * sequence give; where there are none, from the decided labels ("decision_directed") or
 * not at all ("supervised"). Another equalizer's decisions at input 1 are a blind start.
 * New taps are used every `update_interval` symbols. Decisions alone do not recover from
 * a drop in level of more than about 20 dB: normalise before.
 *
 * The labels do not depend on the buffers' sizes. Source: the paper, Section IV-A,
 * "Compare: Conventional MLSE"; G. D. Forney, Maximum-likelihood sequence estimation of
 * digital sequences in the presence of intersymbol interference, IEEE Trans. Inf. Theory
 * 18 (1972).
 */
class ADANN_API mlse : virtual public gr::block
{
public:
    typedef std::shared_ptr<mlse> sptr;

    /*! \param constellation its name, or the points in label order as JSON, [[re, im],
     * ...]; at most 64, real ones for float samples
     * \param sps samples per symbol, 1 to 64
     * \param memory symbols that a sample depends on; the states, M^(memory-1), and
     * what they need are limited to 256 MiB
     * \param complex whether the samples are complex
     * \param options see there
     * \throws std::invalid_argument naming the parameter that is out of range */
    static sptr make(const std::string& constellation,
                     unsigned sps,
                     unsigned memory,
                     bool complex = false,
                     const mlse_options& options = {});

    // All of these are safe while the flowgraph runs.
    //! \throws std::invalid_argument unless it has sps · memory taps
    virtual void set_response(const std::vector<gr_complex>& response) = 0;
    virtual void set_adaptation(mlse_adaptation adaptation) = 0;
    //! \throws std::invalid_argument if out of range
    virtual void set_step(float step) = 0;

    virtual std::vector<gr_complex> response() const = 0; //!< as tracked by now
    virtual std::uint64_t updates() const = 0; //!< how often new taps were taken into use
};

} // namespace gr::adann
