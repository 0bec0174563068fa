/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/adaptive_filter.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

adaptive_filter::adaptive_filter(const learning_target& target,
                                 const sample_history& history,
                                 std::size_t taps,
                                 std::size_t short_taps,
                                 std::size_t block,
                                 const std::vector<std::size_t>& memories,
                                 std::size_t most_apart,
                                 std::size_t most_known)
    : d_block(block),
      d_sums(taps, history.is_complex()),
      d_wanted_noise(d_sums.noise_of(target.waveform().noise_correlation())),
      d_power(target.waveform().power()),
      d_level(std::sqrt(d_power +
                        d_wanted_noise.target[taps / 2])), // at lag 0: the noise's power
      d_silence(d_wanted_noise.target[taps / 2] / 100),
      d_filter(taps, history.is_complex(), simd::active()),
      d_bank(taps, short_taps, history.is_complex(), block, memories, most_apart),
      d_acquisition(d_sums, history.window().sps()),
      d_wanted(history.sample(most_known), history.is_complex()),
      d_output(history.sample(most_apart * block + 2 * target.reach() + 1) +
                   history.window().samples() + simd::lanes,
               history.is_complex()),
      d_identity(d_sums.vector_floats())
{
    least_squares::set_identity(d_sums, d_identity);
}

void adaptive_filter::run(sample_history& history,
                          const carrier_follower* carrier,
                          std::size_t end)
{
    const std::size_t first = history.ready();
    run(history, carrier, d_bank.taps(), first, end - first, history.filtered(first));
    history.set_ready(end);
}

void adaptive_filter::run(const sample_history& history,
                          const carrier_follower* carrier,
                          const float* taps,
                          std::size_t first,
                          std::size_t n,
                          float* to)
{
    const signal_planes from = history.received(first - reach());
    if (!carrier) {
        d_filter.run(taps, d_sums.pitch(), from, n, to, nullptr);
        return;
    }
    float *const re = d_output.re.data(), *const im = d_output.im.data();
    d_filter.run(taps, d_sums.pitch(), from, n, re, im);
    carrier->loop().rotate_back(re, im, first, n, to);
}

void adaptive_filter::learn(sample_history& history,
                            learning_target& target,
                            carrier_follower* carrier,
                            corrections& corrected,
                            std::size_t blocks,
                            bool hard)
{
    if (!history.knows(d_block))
        return;
    const std::size_t symbol = history.latest(d_block), n = history.sample(d_block);
    const std::size_t owned = history.owned(symbol), first = owned - reach();
    if (!history.is_usable(first))
        return;
    if (!carrier && !hard) // of complex samples the carrier's steps have done so
        target.soften(history, symbol, d_block);
    const bool is_searched =
        carrier && carrier->selection().is_on(); // its labels are not softened
    const auto aim = target.aim_block(history, symbol, d_block, hard || is_searched);
    if (carrier)
        carrier->selection().rotate_expected(history, symbol, d_block, aim.expected);
    d_wanted.assign(aim.expected, n);
    if (carrier)
        carrier->loop().rotate(d_wanted, owned, n);
    // An idle word's samples are correlated with its residual without an impairment.
    const bool determined =
        hard || target.have_variety(history.symbols().decided(symbol));
    if (!hard && determined) {
        for (std::size_t i = 0; i < n * history.floats_per_sample(); ++i)
            aim.expected[i] -= history.filtered(owned)[i];
        d_output.assign(aim.expected, n);
        if (carrier)
            carrier->loop().rotate(d_output, owned, n);
        corrected.learn(history.received(owned),
                        history.symbols().decided(symbol),
                        d_output,
                        history.window().sps(),
                        d_block,
                        target.is_uncertain());
    }
    d_sums.set(history.received(first), d_wanted, n);
    // Of silence the offset alone would explain any decisions.
    if (*d_sums.row(0) < d_silence * d_sums.count())
        d_sums.clear_offset();
    d_sums.add_noise_target(d_wanted_noise, d_level, target.lacking_noise());
    d_bank.learn(d_sums, blocks, aim.measured ? &*aim.measured : nullptr, determined);
    if (carrier && carrier->absorbs_tap_phase()) {
        const float ahead = phase();
        d_bank.turn(-ahead);
        carrier->absorb_tap_phase(history, ahead);
    }
}

bool adaptive_filter::start(sample_history& history,
                            learning_target& target,
                            carrier_follower* carrier,
                            const std::uint8_t* labels,
                            std::size_t n,
                            std::size_t end,
                            bool finds_carrier,
                            float most)
{
    const std::size_t around = target.reach(), symbols = n - 2 * around;
    const std::size_t samples = history.sample(symbols);
    const std::size_t owned = history.owned(end - around - symbols);
    if (!history.is_usable(owned - reach()))
        return false;
    const signal_planes x = history.received(owned - reach());
    d_wanted.assign(target.expect(labels + around, symbols), samples);
    if (carrier && !finds_carrier)
        carrier->settled().rotate(history, d_wanted, owned, samples, 1);
    const auto sum = [&] {
        d_sums.set(x, d_wanted, samples);
        d_sums.add_noise_target(d_wanted_noise, d_level, target.lacking_noise());
    };
    sum();
    if (!(d_acquisition.find(d_sums, x, d_wanted, samples, finds_carrier) < most))
        return false;
    history.symbols().relabel(end - n, labels, n);
    history.filter_again();
    if (carrier) {
        carrier->reset();
        if (finds_carrier) {
            carrier->begin_trained(
                history, owned, samples, d_acquisition.phase(), d_acquisition.growth());
            carrier->loop().rotate(d_wanted, owned, samples);
            sum();
        } else {
            carrier->begin_settled(history, owned, owned + samples);
        }
    }
    target.reset();
    d_bank.start_from(d_sums, d_acquisition.taps());
    return true;
}

void adaptive_filter::resume(sample_history& history,
                             learning_target& target,
                             carrier_follower* carrier,
                             const std::uint8_t* labels,
                             std::size_t n,
                             const float* taps,
                             std::size_t memory,
                             const carrier_follower::extrapolation& from)
{
    // The taps' own output is the target: the sums have these taps as their solution.
    const std::size_t symbols = 2 * d_block, samples = history.sample(symbols);
    const std::size_t owned = history.owned(history.latest(symbols));
    const signal_planes x = history.received(owned - reach());
    d_filter.run(taps,
                 d_sums.pitch(),
                 x,
                 samples,
                 d_wanted.re.data(),
                 carrier ? d_wanted.im.data() : nullptr);
    d_sums.set(x, d_wanted, samples);
    history.symbols().relabel(history.next() - n, labels, n);
    history.filter_again();
    if (carrier)
        carrier->go_on(history, owned, owned + samples, from);
    target.reset();
    d_bank.resume(d_sums, taps, symbols, memory);
}

} // namespace gr::adann::core
