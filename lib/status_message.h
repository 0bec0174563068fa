/* -*- c++ -*- */
/*
 * What an adaptive equalizer says of itself in a message.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/adaptive_equalizer.h"

#include <pmt/pmt.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace gr::adann {

inline double decibels(double power) { return 10 * std::log10(power); }

/*! A dictionary, with the keys of docs/monitoring.md; what is not known has no key.
 * \param network that decides
 * \param known_position symbol at which known frames start, -1: not found; none: there are none */
pmt::pmt_t status_message(const core::adaptation_event& event,
                          const std::string& network,
                          bool has_front_filter,
                          std::optional<std::int64_t> known_position);

} // namespace gr::adann
