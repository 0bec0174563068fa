/* -*- c++ -*- */
/*
 * When a stream is tested, and when what is lost is tried otherwise.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/tracking/judge.h"
#include "core/tracking/learning_target.h"

#include <algorithm>
#include <cstddef>

namespace gr::adann::core {

/*! Tests come each `tested_every` symbols while the stream is followed, else each judge::symbols. After a
 * loss the first blind try comes once all of its symbols are later than that, further ones ever more rarely.
 * The taps start over after as many tests without success as come in `tested_every` symbols. */
class retry_schedule
{
public:
    static constexpr std::size_t tested_every = 1024, blind_symbols = 512;
    static constexpr std::size_t most_failed = tested_every / judge::symbols;
    static constexpr std::size_t first_try = 1 + blind_symbols / judge::symbols;
    static constexpr std::size_t most_apart = 4096 / judge::symbols; //!< tests

    //! So many blocks have come. \return whether it is time for a test
    bool pass(std::size_t blocks, bool follows)
    {
        d_untested += blocks;
        if (d_untested * block_symbols < (follows ? tested_every : judge::symbols))
            return false;
        d_untested = 0;
        return true;
    }
    //! The next test comes after judge::symbols, not of the latest block alone.
    void postpone() { d_untested = 0; }
    //! A test has ended without a start. \return whether the taps are to start over
    bool end_test(bool succeeds)
    {
        d_failed = succeeds ? 0 : d_failed + 1;
        return d_failed == most_failed;
    }
    //! The taps have started: what failed was with others.
    void forget_tests() { d_failed = 0; }

    //! A test of a stream that was lost. \return whether it tries blindly
    bool tries_blindly()
    {
        if (d_tests == 0)
            d_next_try = first_try;
        if (++d_tests < d_next_try)
            return false;
        d_next_try += std::clamp(d_tests / 2, first_try, most_apart);
        return true;
    }
    //! Whether taps that started over have not found it either.
    bool is_long_lost() const { return d_tests > most_failed; }
    void forget_loss() { d_tests = 0; }

    void state(archive& members)
    {
        members("unjudged", d_untested);
        members("vain_tests", d_failed, std::size_t{ 0 }, most_failed);
        members("tries", d_tests);
        members("next_try", d_next_try);
    }

private:
    std::size_t d_untested = 0; // blocks since the latest test
    std::size_t d_failed = 0;   // tests in a row, since the taps started
    std::size_t d_tests = 0;    // since the stream was lost
    std::size_t d_next_try = 0; // at this one of them
};

} // namespace gr::adann::core
