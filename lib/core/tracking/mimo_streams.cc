/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/mimo_streams.h"

#include "core/common/checks.h"

#include <algorithm>

namespace gr::adann::core {

using simd::lanes;

namespace {

const expected_waveform& complex_waveform_of(const model& behind)
{
    if (!behind.complex)
        refuse("model", "for real samples", "one for complex samples");
    if (behind.symbols.is_offset())
        refuse("model", "of " + behind.symbols.name(), "one whose I and Q come together");
    return waveform_of(behind);
}

// A blind start treats all channels as one with `channels` times the samples per symbol.
const mimo_filter_settings& checked(const mimo_filter_settings& settings,
                                    const model& behind)
{
    settings.check();
    check_range("samples per symbol of all channels together",
                settings.channels * behind.sps,
                std::size_t{ 1 },
                std::size_t{ window_geometry::most_sps });
    if (settings.outputs > 1)
        check_range("half window of a model for two outputs or more",
                    std::size_t{ behind.half_window },
                    std::size_t{ 0 },
                    std::size_t{ expected_waveform::most_reach });
    return settings;
}

} // namespace

void mimo_filter_settings::check() const
{
    check_range<std::size_t>("channels", channels, 1, 8);
    check_range<std::size_t>("outputs", outputs, 1, channels);
    check_range("length", length, 1u, 64u);
}

mimo_streams::mimo_streams(const model& behind, const mimo_filter_settings& settings)
    : waveform(complex_waveform_of(behind)),
      alphabet(behind.symbols),
      window(behind.window),
      half_window(behind.half_window),
      taps(odd_taps(checked(settings, behind).length, behind.sps)),
      delay(whole_symbols(reach(), behind.sps)),
      kept(start_symbols + delay + 2 * (half_window + waveform.reach()) +
           whole_symbols(taps, behind.sps) + step),
      capacity(kept + sample_history::room),
      in(settings.channels,
         planes(sample(capacity + step) + taps + 2 * lanes + 16, true)),
      filled(kept),
      first(kept),
      sums(taps, true, simd::active(), settings.channels),
      d_filter(taps, true, simd::active())
{
    const mimo_output each{ tap_bank(taps,
                                     odd_taps((settings.length + 1) / 2, behind.sps),
                                     true,
                                     block,
                                     usual_memories,
                                     1,
                                     simd::active(),
                                     settings.channels),
                            carrier(in[0].re.size(),
                                    behind.sps,
                                    decided_later(),
                                    phase_search::tolerated(alphabet)),
                            aligned_floats(2 * in[0].re.size()),
                            phase_decisions(
                                alphabet, window, waveform.reach(), capacity + step),
                            noise_level(waveform, alphabet, compared),
                            std::vector<std::uint8_t>(capacity + step) };
    outputs.assign(settings.outputs, each);
    for (std::size_t o = 0; o < outputs.size(); ++o) { // output o starts as channel o
        aligned_floats nothing(sums.vector_floats());
        nothing[o * taps + reach()] = 1;
        outputs[o].bank.reset(nothing);
    }
}

bool mimo_streams::is_usable(const mimo_output& each, std::size_t symbol) const
{
    return each.starts > 0 && symbol >= each.known + waveform.reach() &&
           unusable + reach() + sps() <= sample(symbol);
}

const mimo_output* mimo_streams::shares_with(const mimo_output& each) const
{
    const auto other = std::find_if(outputs.begin(), outputs.end(), [&](const auto& one) {
        return one_carrier && one.found && &one != &each;
    });
    return other == outputs.end() ? nullptr : &*other;
}

std::vector<signal_planes> mimo_streams::from(std::size_t sample) const
{
    std::vector<signal_planes> all;
    all.reserve(channels());
    for (const auto& channel : in)
        all.push_back(channel + static_cast<std::ptrdiff_t>(sample));
    return all;
}

void mimo_streams::load(const float* const* samples, std::size_t offset)
{
    if (filled + step > capacity)
        make_room();
    const std::size_t begin = sample(filled), n = sample(step);
    for (std::size_t c = 0; c < channels(); ++c)
        for (std::size_t i = 0; i < n; ++i) {
            const float* from = samples[c] + offset + 2 * i;
            const bool good = all_usable(from, 2);
            in[c].re[begin + i] = good ? from[0] : 0.0f;
            in[c].im[begin + i] = good ? from[1] : 0.0f;
            if (!good)
                unusable = std::max(unusable, begin + i + 1);
        }
    filled += step;
}

void mimo_streams::run(const float* taps, std::size_t from, std::size_t n, planes& to)
{
    const auto channel = [&](std::size_t c) {
        return in[c] + static_cast<std::ptrdiff_t>(from);
    };
    if (channels() == 1)
        return d_filter.run(
            taps, sums.pitch(), channel(0), n, to.re.data(), to.im.data());
    for (std::size_t c = 0; c < channels(); ++c)
        d_filter.run_channel(taps + c * this->taps,
                             sums.pitch(),
                             channel(c),
                             n,
                             to.re.data(),
                             to.im.data(),
                             c > 0);
}

// Moves the samples and labels that are still needed to the start of the buffers.
void mimo_streams::make_room()
{
    const std::size_t symbols = filled - kept, from = sample(symbols);
    const auto move_back = [](auto& buffer, std::size_t n) {
        std::copy(buffer.begin() + n, buffer.end(), buffer.begin());
    };
    for (auto& channel : in) {
        move_back(channel.re, from);
        move_back(channel.im, from);
    }
    for (auto& each : outputs) {
        move_back(each.filtered, 2 * from);
        move_back(each.labels, symbols);
        each.phases.move_back(symbols);
        each.turn.move_back(from);
        each.known -= std::min(each.known, symbols);
    }
    moved += symbols;
    filled -= symbols;
    this->first -= std::min(this->first, symbols);
    unusable -= std::min(unusable, from);
}

} // namespace gr::adann::core
