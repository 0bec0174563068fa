/* -*- c++ -*- */
/*
 * Every constellation that has a name, made once: finding their structure takes time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"

#include <vector>

namespace fuzz {

inline const std::vector<gr::adann::core::constellation>& alphabets()
{
    using gr::adann::core::constellation;
    static const std::vector<constellation> all(constellation::names().begin(),
                                                constellation::names().end());
    return all;
}

} // namespace fuzz
