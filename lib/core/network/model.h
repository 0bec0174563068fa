/* -*- c++ -*- */
/*
 * A trained equalizer: the network and what it was trained for, and its file.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/tensor_file.h"
#include "core/network/network.h"
#include "core/network/quantization.h"
#include "core/signal/constellation.h"
#include "core/signal/expected_waveform.h"
#include "core/signal/windows.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

namespace gr::adann::core {

//! A network together with the signal that it fits.
struct model {
    /*! \param constellation a name, or the points as JSON: see core::constellation
     * \param training how it was trained: free text for people
     * \throws std::invalid_argument if the network's input is not the window's dimension
     * or its output not the constellation's size */
    model(network net,
          unsigned sps,
          unsigned half_window,
          bool complex,
          const std::string& constellation,
          std::string training = "");

    network net;
    window_geometry window;
    unsigned sps;
    unsigned half_window;
    bool complex;
    core::constellation symbols;
    std::string training;

    //! Symbol error rate of the network on the signal that it was trained on, counted with labels:
    //! 0 to 1, NaN if unknown. A guard needs it.
    float symbol_error_rate = std::numeric_limits<float>::quiet_NaN();
    //! Symbol error rate of refined labels, counted on the same symbols; NaN if unknown.
    float refined_symbol_error_rate = std::numeric_limits<float>::quiet_NaN();
    /*! Whether refined labels were counted to have a symbol error rate that is higher than the network's by more than
     * 1e-4, or than twice as high: they are neither put out nor learnt then. Without a count, as after a blind start,
     * refined labels are used, as their residual is smaller. */
    bool refined_is_worse() const
    {
        constexpr float by_chance = 1e-4f; // one or two errors of a record that has few
        return refined_symbol_error_rate >
               symbol_error_rate + std::min(by_chance, symbol_error_rate);
    }
    //! Calibration factor of refined labels' error probabilities (label_refiner): counted over
    //! expected errors, 0.01 to 100; NaN if unknown, or found from fewer than 30 errors. Outside
    //! 1/3 to 3 the likelihoods do not fit this signal's noise.
    float refined_errors_per_doubt = std::numeric_limits<float>::quiet_NaN();
    /*! Logits divided by this temperature give calibrated posteriors on the signal that the network
     * was trained on, as found with labels; 1 if unknown. 0.05 to 20. */
    float temperature = 1;
    //! The same for a network that has adapted without labels from this one.
    float adapted_temperature = 1;
    //! Whether `temperature` was found from at least 30 errors: fewer do not calibrate posteriors.
    //! True for files without this entry.
    bool calibrated = true;

    //! The expected waveform of this signal, if it was learnt; to be set by set_waveform() only.
    std::optional<expected_waveform> waveform;
    //! \throws std::invalid_argument for one of another constellation, `sps` or `complex`
    void set_waveform(const expected_waveform& learnt);

    //! How the network is run in whole numbers, if it is; to be set by set_formats() only.
    std::optional<quantization> formats;
    //! \throws std::invalid_argument as check_formats()
    void set_formats(const quantization& chosen);

    //! The tensors of a file besides its network's and waveform's: of a checkpoint, what an
    //! adaptive_equalizer continues from.
    tensor_file state;
};

/*! Compares what has to be the same in two models of one signal, as text.
 * \param visit called with a name and the text of each model */
template <typename visitor>
void compare_signals(const model& a, const model& b, visitor visit)
{
    const auto truth = [](bool is) { return std::string(is ? "true" : "false"); };
    visit("constellation", a.symbols.text(), b.symbols.text());
    visit("sps", std::to_string(a.sps), std::to_string(b.sps));
    visit("half_window", std::to_string(a.half_window), std::to_string(b.half_window));
    visit("complex", truth(a.complex), truth(b.complex));
}

/*! Reads a model from a safetensors file of format `adann/1`: float32 tensors
 * `layers.K.weight` (outputs, inputs) and `layers.K.bias`, K from 0, and the strings
 * `format`, `sps`, `half_window`, `complex` (true, false), `constellation`, `training` as
 * metadata, and if known `symbol_error_rate`, `temperature`,
 * `adapted_temperature`, `calibrated` (true, false), `refined_symbol_error_rate` and
 * `refined_errors_per_doubt`. `adann/2`
 * may have an expected waveform: float32 tensors `waveform.affine`, `waveform.table` and
 * `waveform.noise` (noise_correlation()), with `waveform_reach`, `waveform_context` and
 * `waveform_noise` as metadata. `adann/3` may have quantization formats: int32 tensors
 * `quantization.values` and `quantization.K.weights`, with `quantization_bits` as metadata.
 * `adann/4` has the waveform's polynomial: float32 tensor `waveform.polynomial`, with
 * `waveform_memory` as metadata. What else there is becomes its `state`.
 * \throws model_file_error */
model load_model(const std::string& path);

/*! Reads the contents of such a file.
 * \param name what errors call it
 * \throws model_file_error */
model parse_model(const std::string& contents, const std::string& name = "in memory");

//! The contents of such a file, state included.
std::string model_contents(const model& saved);

/*! Writes such a file, of format 4 if there is a polynomial, else of format 3 if there are
 * quantization formats, else of format 2 if there is a waveform, state included. It is written to a
 * temporary file, which is then renamed.
 * \throws model_file_error */
void save_model(const std::string& path, const model& saved);

} // namespace gr::adann::core
