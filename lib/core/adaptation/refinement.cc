/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/refinement.h"

namespace gr::adann::core {

void refinement::assign(const refinement& other)
{
    known = other.known;
    number = other.number;
    searches = other.searches;
    taps = other.taps;
    whitening = other.whitening;
    power = other.power;
    power_along = other.power_along;
    residual = other.residual;
    label_noise = other.label_noise;
    gain_weights = other.gain_weights;
    energies = other.energies;
    trials = other.trials;
    if (waveform_number != other.waveform_number) {
        table = other.table;
        polynomial = other.polynomial;
    }
    waveform_number = other.waveform_number;
}

} // namespace gr::adann::core
