/* -*- c++ -*- */
/*
 * When a stream is tested, and when a lost one is re-acquired blindly.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/tracking/blind_search.h"
#include "core/tracking/judge.h"
#include "core/tracking/learning_target.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace gr::adann::core {

/*! A stream is tested every `tested_every` symbols while it is followed, else every
 * judge::symbols. After a loss the first blind try waits until all of its blind_search::symbols came
 * after the loss; the intervals of further tries grow. Timing and phase are searched in each test
 * until the taps start over, and with each blind try. The taps start over after failed tests
 * over `tested_every` symbols. */
class retry_schedule
{
public:
    static constexpr std::size_t tested_every = 1024;
    static constexpr std::size_t most_failed = tested_every / judge::symbols;
    static constexpr std::size_t first_try = 1 + blind_search::symbols / judge::symbols;
    static constexpr std::size_t most_apart = 4096 / judge::symbols; //!< tests

    //! Counts blocks. \return whether a test is due
    bool pass(std::size_t blocks, bool follows)
    {
        d_untested += blocks;
        const bool waits = follows && !d_is_soon;
        if (d_untested * block_symbols < (waits ? tested_every : judge::symbols))
            return false;
        d_untested = 0;
        d_is_soon = false;
        return true;
    }
    //! The next test comes judge::symbols after the first such call since the last one, not before.
    void test_soon()
    {
        if (!std::exchange(d_is_soon, true))
            d_untested = 0;
    }
    //! After a test that has not started the taps. \return whether they are to start over
    bool end_test(bool succeeds)
    {
        d_failed = succeeds ? 0 : d_failed + 1;
        return d_failed == most_failed;
    }
    //! The taps have started: earlier failures were with other taps.
    void forget_tests() { d_failed = 0; }

    //! What a test of a lost stream tries.
    struct tries {
        bool timing = false, blindly = false;
    };
    //! Counts a test of a stream that was lost, or whose residual has changed.
    tries try_again()
    {
        if (d_tests == 0)
            d_next_try = first_try;
        const bool blindly = ++d_tests >= d_next_try;
        if (blindly)
            d_next_try += std::clamp(d_tests / 2, first_try, most_apart);
        return { !d_has_jumped && (blindly || !is_long_lost()), blindly };
    }
    //! Timing and phase have been found; they jump once, so that another fault is looked for.
    void note_jump() { d_has_jumped = true; }
    //! Whether tests failed, or found another residual than the usual one, for as long as the taps take to start over.
    bool is_long_lost() const { return d_tests > most_failed; }
    void forget_loss()
    {
        d_tests = 0;
        d_has_jumped = false;
    }

    void state(archive& members)
    {
        members("unjudged", d_untested);
        members("is_soon", d_is_soon);
        members("vain_tests", d_failed, std::size_t{ 0 }, most_failed);
        members("tries", d_tests);
        members("next_try", d_next_try);
        members("has_jumped", d_has_jumped);
    }

private:
    std::size_t d_untested = 0; // blocks since the latest test
    bool d_is_soon = false;     // whether test_soon() wants the next one
    std::size_t d_failed = 0;   // tests in a row, since the taps started
    std::size_t d_tests = 0;    // try_again() since the stream was confirmed
    std::size_t d_next_try = 0; // number of the test with the next blind try
    bool d_has_jumped = false;  // since the stream was lost
};

} // namespace gr::adann::core
