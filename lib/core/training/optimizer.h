/* -*- c++ -*- */
/*
 * The six gradient-based optimizers of the paper, Section II-B, eq. (10).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gr::adann::core {

/*! Turns gradients into parameter changes, with the formulas and constants of
 * torch.optim: momentum and nesterov 0.9; adagrad 1e-10; rmsprop smoothing 0.99, 1e-8;
 * adam 0.9, 0.999, 1e-8. */
class optimizer
{
public:
    enum class kind { sgd, momentum, nesterov, adagrad, rmsprop, adam };

    //! sgd, momentum, nesterov, adagrad, rmsprop, adam
    static const std::vector<std::string>& names();

    /*! \param name one of names()
     * \param learning_rate 0 to 10
     * \param parameters how many there are
     * \throws std::invalid_argument if one is out of range */
    optimizer(const std::string& name, float learning_rate, std::size_t parameters);

    float learning_rate() const { return d_learning_rate; }
    //! \throws std::invalid_argument if out of range
    void set_learning_rate(float learning_rate);

    //! Changes `parameters` by one step against `gradient`; both of the size given.
    void update(std::vector<float>& parameters, const std::vector<float>& gradient);

    //! Forgets all gradients.
    void reset();

    //! Restores the state of an optimizer of the same name only.
    void state(archive& members);

private:
    kind d_kind;
    float d_learning_rate;
    std::uint64_t d_updates = 0;
    std::vector<float> d_first;  // mean of the gradients, or their momentum
    std::vector<float> d_second; // mean or sum of their squares
};

} // namespace gr::adann::core
