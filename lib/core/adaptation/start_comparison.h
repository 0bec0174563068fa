/* -*- c++ -*- */
/*
 * Whether the labels of a blind start explain its samples better than those in use.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/start_symbols.h"
#include "core/network/model.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace gr::adann::core {

/*! Compares labels with symbols.in_use(), which exist.
 *
 * A waveform is fitted (fit_waveform()) to the labels and to all but the last quarter of the
 * symbols, rotated back by the labels' carrier (track_known()). In that quarter its residual has
 * to be less than half that of the labels in use, and smaller in so many stretches of 16 symbols
 * that a fair coin would do so once in a million tests (Hoeffding's bound).
 * \param signal that the symbols are of
 * \return the residual of the labels in use over that of these ones; none unless these are better */
std::optional<double> residual_ratio(const start_symbols& symbols,
                                     const model& signal,
                                     const std::vector<std::uint8_t>& labels);

} // namespace gr::adann::core
