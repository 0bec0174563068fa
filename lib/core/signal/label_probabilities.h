/* -*- c++ -*- */
/*
 * How often each label is sent.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! The frequencies of 0 to M - 1 among n labels, or 1 / M each where random labels that are equally
 * probable may have them.
 *
 * Pearson's statistic X² = Σ (n_k - n/M)² / (n/M) of equally probable labels exceeds
 * d + 2 √(d t) + 2 t, d = M - 1, with a probability of at most e^-t, which is 10^-6 here.
 * One label alone says nothing of the others: they are taken for equally probable.
 * Source: Laurent and Massart, "Adaptive estimation of a quadratic functional by model selection",
 * Annals of Statistics 28, 2000, lemma 1. */
std::vector<float>
label_probabilities(const std::uint8_t* labels, std::size_t n, std::size_t classes);

} // namespace gr::adann::core
