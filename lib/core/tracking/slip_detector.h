/* -*- c++ -*- */
/*
 * Detects cycle slips of a carrier loop by the line of its carrier.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/files/archive.h"
#include "core/signal/running_mean.h"

namespace gr::adann::core {

/*! Compares the advance of a loop's phase with that by the frequency of a line. A difference of a
 * symmetry of the constellation is a slip, where lines predict the phase well. */
class slip_detector
{
public:
    //! \param symmetry of the constellation, radians
    explicit slip_detector(double symmetry) : d_symmetry(symmetry) {}

    /*! \param difference advance by the line less that of the loop, radians
     * \param is_steady whether the line is a steady carrier's: it predicts the phase at once
     * \return the slip, a multiple of the symmetry; 0 if there is none */
    double find(double difference, bool is_steady);

    void state(archive& members);

private:
    static constexpr std::size_t checks = 8;

    bool predicts(double error);

    double d_symmetry;
    running_mean<double, std::size_t> d_squared_error; // of the phase that lines predict
};

} // namespace gr::adann::core
