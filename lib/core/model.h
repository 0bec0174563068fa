/* -*- c++ -*- */
/*
 * A trained equalizer: the network and what it was trained for, and its file.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/constellation.h"
#include "core/features.h"
#include "core/network.h"

#include <stdexcept>
#include <string>

namespace gr::adann::core {

//! A network together with the signal that it fits.
struct model {
    /*! \param training how it was trained: free text for people
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
};

//! A model file that cannot be read, is damaged, or holds something else. Names the file.
class model_file_error : public std::runtime_error
{
public:
    model_file_error(const std::string& path, const std::string& reason)
        : std::runtime_error("model file " + path + ": " + reason)
    {
    }
};

/*! Reads a model from a safetensors file of format `adann/1`: float32 tensors
 * `layers.K.weight` (outputs, inputs) and `layers.K.bias`, K from 0, and the strings
 * `format`, `sps`, `half_window`, `complex` (true, false), `constellation`, `training` as
 * metadata. \throws model_file_error */
model load_model(const std::string& path);

//! Writes such a file: a temporary one first, then renamed. \throws model_file_error
void save_model(const std::string& path, const model& saved);

} // namespace gr::adann::core
