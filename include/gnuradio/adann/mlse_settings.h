/* -*- c++ -*- */
/*
 * The MLSE's settings, as equalizer_settings.h has the equalizer's.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/words.h>

#include <complex>
#include <cstddef>
#include <vector>

namespace gr::adann {

enum class mlse_adaptation { off, supervised, decision_directed };
constexpr std::array<word<mlse_adaptation>, 3> words(mlse_adaptation)
{
    return { { { mlse_adaptation::off, "off" },
               { mlse_adaptation::supervised, "supervised" },
               { mlse_adaptation::decision_directed, "decision_directed" } } };
}

//! What the MLSE remembers, and how it finds the response.
struct mlse_settings {
    mlse_adaptation adaptation = mlse_adaptation::decision_directed;
    std::size_t update_interval = 8192;
    float step = 0.01f;
    std::size_t traceback_depth = 64;
    std::size_t block_length = 0;
    int guard = -1;
    //! sps rows of memory taps, at the start; empty: straight lines between the symbols
    std::vector<std::complex<float>> response;

    //! All but the response: see equalizer_settings.h.
    template <typename Self, typename Visitor>
    static void visit(Self& self, Visitor&& visit)
    {
        visit("adaptation",
              self.adaptation,
              "What the LMS learns from: nothing, known labels only, or those and, where "
              "none are known, decided ones.");
        visit("update_interval",
              self.update_interval,
              std::size_t{ 1 },
              std::size_t{ 1 } << 20,
              "Symbols between updates of the response in use.");
        visit("step", self.step, 0.0f, 1.0f, "Of the normalised LMS.");
        visit("traceback_depth",
              self.traceback_depth,
              std::size_t{ 1 },
              std::size_t{ 4096 },
              "Symbols that come in before a decision, the memory at least.");
        visit("block_length",
              self.block_length,
              std::size_t{ 0 },
              std::size_t{ 1 } << 20,
              "Symbols decided on their own; 0: continuous.");
        visit("guard",
              self.guard,
              -1,
              255,
              "Label of the symbols around each block; -1: unknown.");
    }
};

} // namespace gr::adann
