/* -*- c++ -*- */
/*
 * Every constellation that has a name, and two that have none: sixteen levels on a line, four
 * points askew. Made once: finding their structure takes time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/signal/constellation.h"

#include <complex>
#include <vector>

namespace fuzz {

inline const std::vector<gr::adann::core::constellation>& alphabets()
{
    using gr::adann::core::constellation;
    static const std::vector<constellation> all = [] {
        std::vector<constellation> made(constellation::names().begin(),
                                        constellation::names().end());
        std::vector<std::complex<float>> line;
        for (int level = -15; level <= 15; level += 2)
            line.emplace_back(level / 9.f, 0.f);
        made.emplace_back(line);
        made.emplace_back(std::vector<std::complex<float>>{
            { 1.2f, .1f }, { .2f, 1.f }, { -.9f, .7f }, { -.6f, -1.1f } });
        return made;
    }();
    return all;
}

} // namespace fuzz
