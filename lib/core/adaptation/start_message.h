/* -*- c++ -*- */
/*
 * Messages on a blind start.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <string>

namespace gr::adann::core {

//! Appended to model::training.
constexpr const char* trained_on_decisions = ", then 20 epochs of Adam on its decisions";

constexpr const char* network_decides = "the network trained on its decisions decides";

//! A text with a number, as std::printf() has it; 300 bytes at most.
std::string formatted(const char* format, double value);

//! On a carrier, in cycles per symbol, that the front filter may not follow; empty for others.
std::string carrier_advice(double frequency);

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

} // namespace gr::adann::core
