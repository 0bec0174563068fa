/* What a front filter does with symbols that are known beforehand.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/front_filter.h"

#include "core/common/checks.h"

#include <algorithm>

namespace gr::adann::core {

void front_filter::train(const std::uint8_t* labels, std::size_t n)
{
    check_range(
        "training sequence's length", n, least_training(*d_waveform), most_training);
    std::copy_n(labels, n, d_training.begin());
    d_trained = d_untrained = n;
}

// From the training sequence that has just come; false, and nothing has changed, if it has not.
bool front_filter::acquire()
{
    if (d_known < d_trained || !begin_from_training(d_next, true, lost()))
        return false;
    d_acquired = true;
    ++d_bursts;
    return true;
}

/* From a training sequence that ended before symbol `end`. Its carrier is found, or is the one
 * that there was when the filter was last not lost. The taps are to leave less than `most`. */
bool front_filter::begin_from_training(std::size_t end, bool finds_carrier, float most)
{
    const std::size_t around = d_waveform->reach();
    const std::size_t symbols = d_trained - 2 * around, n = sample(symbols);
    const std::size_t owned = sample(end - around - symbols) - d_window.sps() / 2;
    if (d_unusable > owned - reach())
        return false;
    const signal_planes x = d_samples + static_cast<std::ptrdiff_t>(owned - reach());
    d_waveform->expect(&d_training[around], symbols, d_expected.data());
    d_wanted.assign(d_expected.data(), n);
    if (!finds_carrier)
        turn_good(d_wanted, owned, n, 1);
    d_sums.set(x, d_wanted, n);
    d_sums.want(d_wanted_noise);
    if (!(d_acquisition.find(d_sums, x, d_wanted, n, finds_carrier) < most))
        return false;
    relabel(end - d_trained, d_training.data(), d_trained);
    start_over();
    // Whatever is needed of the filtered stream from here on is filtered again.
    d_position = d_update = 0;
    d_ready = std::min(sample(d_next) - d_window.samples_before(),
                       sample(d_next - around) - d_window.sps() / 2);
    if (!finds_carrier) {
        if (d_carrier && (d_good_phase != 0 || d_good_frequency != 0)) {
            d_carrier->begin(d_good_frequency, good_phase(), sample(d_next));
            d_carrier->prepare(owned, owned + n);
            d_turning = true;
        }
    } else if (d_carrier) {
        const std::size_t latest =
            owned + n - sample(carrier::step) / 2; // the step before
        const std::size_t middle = owned + n / 2;
        const float since = static_cast<float>(latest) - static_cast<float>(middle);
        d_carrier->set(latest,
                       wrapped(d_acquisition.phase() + since * d_acquisition.growth()),
                       d_acquisition.growth());
        d_carrier->prepare(owned, owned + n);
        d_carrier->rotate(d_wanted, owned, n);
        d_sums.set(x, d_wanted, n);
        d_sums.want(d_wanted_noise);
        d_line->reset();
        d_good_phase = d_carrier->phase_at(sample(d_next));
        d_good_frequency = d_carrier->frequency();
        d_good_at = std::max<std::uint64_t>(d_blocks * block, 1); // of this burst
    }
    d_bank.start_from(d_sums, d_acquisition.taps());
    d_in_use = true;
    return true;
}

} // namespace gr::adann::core
