/* -*- c++ -*- */
/*
 * The six gradient-based optimizers of the paper, Section II-B, eq. (10).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <gnuradio/adann/equalizer_settings.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::adann::core {

/*! Computes parameter changes from gradients, with the formulas and constants of
 * torch.optim: momentum and nesterov 0.9; adagrad 1e-10; rmsprop smoothing 0.99, 1e-8;
 * adam 0.9, 0.999, 1e-8. */
class optimizer
{
public:
    //! \param parameters how many there are
    optimizer(optimizer_kind kind, float learning_rate, std::size_t parameters);

    void set_learning_rate(float learning_rate) { d_learning_rate = learning_rate; }

    //! Changes `parameters` by one step against `gradient`; both of the size given.
    void update(std::vector<float>& parameters, const std::vector<float>& gradient);

    //! Forgets all gradients.
    void reset();

    //! Whether its means of gradients are finite; otherwise its updates are of no use.
    bool is_finite() const;

    //! Restores the state of an optimizer of the same kind only.
    void state(archive& members);

private:
    optimizer_kind d_kind;
    float d_learning_rate;
    std::uint64_t d_updates = 0;
    std::vector<float> d_first;  // mean of the gradients, or their momentum
    std::vector<float> d_second; // mean or sum of their squares
};

} // namespace gr::adann::core
