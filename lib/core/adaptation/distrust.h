/* -*- c++ -*- */
/*
 * Why an error rate that is estimated without labels is not trusted.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/words.h>

#include <array>

namespace gr::adann::core {

//! The first condition found that does not hold (docs/monitoring.md).
enum class distrust {
    none,            //!< trusted
    few_symbols,     //!< too few since the start or the latest change
    not_calibrated,  //!< training counted too few errors, or not as expected
    large_residual,  //!< rms twice that of the training
    changes,         //!< the signal has changed, or adaptation has paused, repeatedly
    cycle_slips,     //!< more probable than the estimated errors
    scattered_noise, //!< the residual's power is not that of stationary noise
    labels,          //!< they are not equally frequent
    patterns,        //!< the decisions are not those of random data
    axes,            //!< I and Q are not equally uncertain
    many_errors,     //!< more than calibrated posteriors were tested with
    model_mismatch,  //!< the residual's mean depends on the symbols, or drifts
    outdated         //!< the next estimate is overdue
};
constexpr std::array<word<distrust>, 13> words(distrust)
{
    return { { { distrust::none, "" },
               { distrust::few_symbols, "too few symbols" },
               { distrust::not_calibrated, "model not calibrated" },
               { distrust::large_residual, "large residual" },
               { distrust::changes, "repeated changes" },
               { distrust::cycle_slips, "cycle slips" },
               { distrust::scattered_noise, "noise not stationary" },
               { distrust::labels, "labels not equiprobable" },
               { distrust::patterns, "data not random" },
               { distrust::axes, "I and Q not alike" },
               { distrust::many_errors, "too many errors" },
               { distrust::model_mismatch, "model mismatch" },
               { distrust::outdated, "out of date" } } };
}

//! Parts of the latest symbols that may be wrong although an estimate does not show it.
struct missed_errors {
    double residual = 0; //!< where noise does not explain the residual
    double slips = 0;    //!< by cycle slips
};

} // namespace gr::adann::core
