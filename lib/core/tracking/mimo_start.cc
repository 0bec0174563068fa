/* How the taps of a mimo_filter start, and when they start again.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/mimo_filter.h"

#include "core/common/checks.h"
#include "core/common/cholesky.h"

#include <algorithm>
#include <complex>

namespace gr::adann::core {

namespace {

constexpr float doubtful = 0.5f;                     // the same, of what is unusual
constexpr double much_more = 2;                      // than usual
constexpr double usually = 0.125;                    // part that the latest has in that
constexpr std::size_t compared = 256, most_late = 4; // labels of two outputs
constexpr std::size_t most_patience = 65536;         // symbols
constexpr double ridge = 1e-3; // of the mean power: where there is only noise, no taps
constexpr double together_by = 0.95;  // mean cosine of phases that go together
constexpr std::size_t at_once = 1024; // symbols whose sums are made together

} // namespace

// All channels as separate_blindly() takes them.
std::vector<float> mimo_filter::together(const std::vector<signal_planes>& x,
                                         std::size_t symbols) const
{
    std::vector<float> mixed(2 * channels() * sample(symbols));
    for (std::size_t c = 0; c < channels(); ++c)
        for (std::size_t i = 0; i < sample(symbols); ++i) {
            mixed[2 * (i * channels() + c)] = x[c].re[i];
            mixed[2 * (i * channels() + c) + 1] = x[c].im[i];
        }
    return mixed;
}

// The labels of the symbols from half_window on, half_window before the end.
void mimo_filter::find_labels(const std::vector<signal_planes>& x,
                              std::size_t symbols,
                              std::vector<separated>& transmitters) const
{
    separate_blindly({ together(x, symbols).data(), symbols, sps(), channels() },
                     d_symbols,
                     d_half_window,
                     transmitters);
}

carrier_track mimo_filter::carrier_of(const std::vector<signal_planes>& x,
                                      const std::vector<std::uint8_t>& labels) const
{
    // Of the first and last symbols, too: what their windows lack is zero.
    const std::size_t stride = 2 * channels() * sps(), beyond = d_half_window * stride;
    const std::vector<float> own = together(x, labels.size());
    std::vector<float> mixed(own.size() + 2 * beyond);
    std::copy(
        own.begin(), own.end(), mixed.begin() + static_cast<std::ptrdiff_t>(beyond));
    return track_known({ mixed.data(),
                         stride,
                         (2 * std::size_t{ d_half_window } + 1) * stride,
                         labels.size() },
                       points_of(labels, d_symbols));
}

// Least squares to the waveform of the symbols that have all their neighbours, with its carrier.
aligned_floats mimo_filter::fit(const std::vector<signal_planes>& x,
                                const separated& sent)
{
    const std::uint8_t* const labels = sent.labels.data();
    const std::size_t symbols = sent.labels.size();
    const std::size_t around = d_waveform.reach(), unknowns = d_sums.unknowns();
    normal_equations all(d_sums);
    all.clear();
    std::vector<float> expected(2 * sample(at_once));
    planes wanted(sample(at_once), true);
    for (std::size_t k = around; k + around < symbols; k += at_once) {
        const std::size_t n = std::min(at_once, symbols - around - k);
        d_waveform.expect(labels + k, n, expected.data());
        wanted.assign(expected.data(), sample(n));
        for (std::size_t i = 0; !sent.carrier.stands() && i < sample(n); ++i) {
            const auto by = std::complex<float>(
                std::polar(1.0, sent.carrier.at(sample(k) + i, sps())));
            const float re = wanted.re[i];
            wanted.re[i] = re * by.real() - wanted.im[i] * by.imag();
            wanted.im[i] = re * by.imag() + wanted.im[i] * by.real();
        }
        std::vector<signal_planes> from;
        from.reserve(x.size());
        for (const auto& channel : x)
            from.push_back(channel + (static_cast<std::ptrdiff_t>(sample(k)) -
                                      static_cast<std::ptrdiff_t>(d_reach)));
        d_sums.set(from.data(), wanted, sample(n));
        all.add(1, d_sums);
    }
    using number = std::complex<double>;
    std::vector<number> matrix(unknowns * unknowns), taps(unknowns);
    double trace = 0;
    for (std::size_t u = 0; u < unknowns; ++u) {
        for (std::size_t v = 0; v <= u; ++v)
            matrix[u * unknowns + v] = { all.row(u)[v], all.row(u, true)[v] };
        trace += all.row(u)[u];
        taps[u] = { all.correlation()[u], all.correlation()[all.pitch() + u] };
    }
    for (std::size_t u = 0; u < unknowns; ++u)
        matrix[u * (unknowns + 1)] += ridge * trace / static_cast<double>(unknowns);
    if (!solve(matrix, unknowns, taps, 1))
        throw eye_closed("the samples are all alike");
    aligned_floats found(all.vector_floats());
    for (std::size_t u = 0; u < unknowns; ++u) {
        found[u] = static_cast<float>(taps[u].real());
        found[all.pitch() + u] = static_cast<float>(taps[u].imag());
    }
    return found;
}

// Whether their phases go together, but for constant ones and the constellation's symmetries.
bool mimo_filter::have_one_carrier(const std::vector<separated>& transmitters) const
{
    const auto order = static_cast<double>(d_symbols.symmetries().size());
    const carrier_track& a = transmitters.front().carrier;
    return std::all_of(
        transmitters.begin() + 1, transmitters.end(), [&](const separated& each) {
            const carrier_track& b = each.carrier;
            const std::size_t n = std::max(a.phase.size(), b.phase.size());
            if (n == 0) // both stand, if a power would have told otherwise
                return order > 1 && order <= 8;
            std::complex<double> sum = 0;
            for (std::size_t i = 0; i < n; ++i) {
                const double apart = (a.stands() ? 0.0 : double{ a.phase[i] }) -
                                     (b.stands() ? 0.0 : double{ b.phase[i] });
                sum += std::polar(1.0, order * apart);
            }
            return std::abs(sum) >= together_by * static_cast<double>(n);
        });
}

// From symbol `number` of a stretch of x, which is `symbol` of the buffer.
void mimo_filter::begin(output& each,
                        const output* beside,
                        const std::vector<signal_planes>& x,
                        separated& sent,
                        std::size_t number,
                        std::size_t symbol)
{
    sent.carrier.count_from(number); // the taps have the phase that it has there
    if (beside) {
        if (sent.carrier.stands())
            sent.carrier.phase.assign(sent.labels.size(), 0.0f);
        const auto there = static_cast<float>(beside->turn.phase_at(sample(symbol)));
        for (auto& phase : sent.carrier.phase)
            phase += there;
    }
    each.settled = fit(x, sent);
    each.bank.reset(each.settled);
    if (beside) {
        each.turn = beside->turn;
        each.search.begin(beside->search.line());
    } else {
        each.turn.reset();
        if (sent.carrier.turns()) {
            each.turn.skip(sample(latest(step)) - sps() / 2);
            each.turn.begin(sent.carrier.frequency, 0, sample(symbol));
        }
        const std::size_t middle = sample(latest(step) + step / 2) - d_window.sps() / 2;
        each.search.begin(
            { wrapped(static_cast<float>(each.turn.phase_at(middle))),
              static_cast<float>(2 * M_PI * step) * each.turn.frequency() });
    }
    each.left = {};
    each.known = ready() + d_half_window + 1;
    each.remains = 0;
    each.measured = 0;
    each.usual = 0;
    each.found = true;
    ++each.starts;
}

void mimo_filter::start(const float* const* samples,
                        std::size_t symbols,
                        const std::uint8_t* const* labels)
{
    // Its first and last symbols do not have all of their own samples.
    const std::size_t least =
        d_sums.unknowns() + 2 * (d_waveform.reach() + d_half_window) + 2;
    check_range<std::size_t>("symbols", symbols, least, 100'000'000);
    for (std::size_t o = 0; labels && o < outputs(); ++o)
        for (std::size_t i = 0; i < symbols; ++i)
            check_range("label",
                        std::size_t{ labels[o][i] },
                        std::size_t{ 0 },
                        d_symbols.size() - 1);
    const std::size_t n = symbols - 2, owned = d_window.sps() - d_window.sps() / 2;
    const std::size_t margin = d_reach + d_taps + 2 * simd::lanes + 16;
    std::vector<planes> stretch(channels(), planes(sample(symbols) + 2 * margin, true));
    std::vector<signal_planes> x;
    for (std::size_t c = 0; c < channels(); ++c) {
        for (std::size_t i = 0; i < sample(symbols); ++i) {
            const float* from = samples[c] + 2 * i;
            const bool good = all_usable(from, 2);
            stretch[c].re[margin + i] = good ? from[0] : 0.0f;
            stretch[c].im[margin + i] = good ? from[1] : 0.0f;
        }
        x.push_back(stretch[c] + static_cast<std::ptrdiff_t>(margin + owned));
    }
    std::vector<separated> transmitters(outputs());
    std::size_t unlabelled = 0; // at each end
    if (labels) {
        for (std::size_t o = 0; o < outputs(); ++o) {
            transmitters[o].labels.assign(labels[o] + 1, labels[o] + 1 + n);
            transmitters[o].carrier = carrier_of(x, transmitters[o].labels);
        }
    } else {
        find_labels(x, n, transmitters);
        unlabelled = d_half_window;
    }
    for (auto& channel : x)
        channel = channel + static_cast<std::ptrdiff_t>(sample(unlabelled));
    d_one_carrier = have_one_carrier(transmitters);
    for (std::size_t o = 0; o < outputs(); ++o)
        begin(d_outputs[o],
              d_one_carrier && o > 0 ? &d_outputs[0] : nullptr,
              x,
              transmitters[o],
              0,
              d_filled + 1 + unlabelled);
}

// Which outputs have lost their transmitter, or have another one's; these start again.
void mimo_filter::watch()
{
    for (auto& each : d_outputs) {
        const double left = remains(each);
        const bool unusual = each.usual > 0 && left > much_more * each.usual;
        const bool is_lost = left > (unusual ? doubtful : lost) * d_chance;
        const bool is_off = has_unusual_power(each);
        if ((is_lost || is_off) && begin_at_level(each))
            continue;
        if (is_lost || (each.starts > 0 && each.heard == 0))
            each.found = false;
        else if (!unusual)
            each.usual += (each.usual > 0 ? usually : 1) * (left - each.usual);
        if (each.found && !unusual && !is_off)
            std::copy_n(each.bank.taps(), each.settled.size(), each.settled.begin());
    }
    for (std::size_t a = 0; a < outputs(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (are_one(d_outputs[a], d_outputs[b])) {
                const bool first = remains(d_outputs[a]) > remains(d_outputs[b]);
                d_outputs[first ? a : b].found = false;
            }
    for (auto& each : d_outputs) {
        each.remains = 0;
        each.measured = 0;
    }
    if (std::all_of(d_outputs.begin(), d_outputs.end(), [](const auto& each) {
            return each.found;
        })) {
        d_patience = watched_every;
        return;
    }
    d_rest -= std::min(d_rest, watched_every);
    if (d_rest == 0 && ready() >= d_first + start_symbols)
        find();
}

bool mimo_filter::are_one(const output& a, const output& b) const
{
    return a.found && b.found && told(a) && told(b) &&
           alike(&a.labels[compared_from()], &b.labels[compared_from()]);
}

std::size_t mimo_filter::compared_from() const
{
    return decided() - compared - most_late;
}

// Whether what is compared of an output's labels is behind its present taps.
bool mimo_filter::told(const output& each) const
{
    return each.starts > 0 && compared_from() >= each.known + most_late;
}

// Whether labels are one transmitter's, by half-way from chance to certainty.
bool mimo_filter::alike(const std::uint8_t* a, const std::uint8_t* b) const
{
    const std::size_t many = compared * (d_symbols.size() + 1) / (2 * d_symbols.size());
    for (const auto& symmetry : d_symbols.symmetries())
        for (std::size_t late = 0; late <= 2 * most_late; ++late) {
            const std::uint8_t* const other = b + late - most_late;
            std::size_t same = 0;
            for (std::size_t k = 0; k < compared; ++k)
                same += a[k] == symmetry[other[k]];
            if (same > many)
                return true;
        }
    return false;
}

// Starts those that have no transmitter from the latest symbols, blindly.
void mimo_filter::find()
{
    const std::size_t first = ready() - start_symbols;
    std::vector<separated> transmitters(outputs());
    for (std::size_t o = 0; o < outputs(); ++o) {
        const auto& each = d_outputs[o];
        if (!each.found)
            continue;
        if (each.known > first + d_half_window)
            return; // its labels are too few to take it out: later
        transmitters[o].labels.assign(each.labels.begin() + first + d_half_window,
                                      each.labels.begin() + decided());
    }
    std::vector<signal_planes> x;
    const auto own = static_cast<std::ptrdiff_t>(sample(first) - d_window.sps() / 2);
    for (const auto& channel : d_in)
        x.push_back(channel + own);
    d_rest = d_patience;
    d_patience = std::min(2 * d_patience, most_patience);
    try {
        find_labels(x, start_symbols, transmitters);
        for (auto& channel : x)
            channel = channel + static_cast<std::ptrdiff_t>(sample(d_half_window));
        std::vector<std::size_t> sought;
        for (std::size_t o = 0; o < outputs(); ++o)
            if (!d_outputs[o].found)
                sought.push_back(o);
        // What is found where an output is already was not lost: that one goes on.
        std::vector<std::size_t> news = sought;
        for (auto o = sought.begin(); o != sought.end();) {
            output& each = d_outputs[*o];
            const auto there = std::find_if(news.begin(), news.end(), [&](std::size_t t) {
                const auto& labels = transmitters[t].labels;
                return told(each) && each.heard > 0 &&
                       alike(&each.labels[compared_from()],
                             labels.data() + labels.size() - compared - most_late);
            });
            each.found = there != news.end();
            if (each.found) {
                each.usual = 0; // another one from now on
                news.erase(there);
            }
            o = each.found ? sought.erase(o) : o + 1;
        }
        if (sought.empty())
            return;
        // Loops of their own have phases of their own.
        const bool share = d_one_carrier || sought.size() + 1 >= outputs();
        d_one_carrier = share && have_one_carrier(transmitters);
        for (std::size_t i = 0; i < sought.size(); ++i) {
            const auto beside =
                std::find_if(d_outputs.begin(), d_outputs.end(), [&](const auto& other) {
                    return d_one_carrier && other.found;
                });
            separated& sent = transmitters[news[i]];
            begin(d_outputs[sought[i]],
                  beside == d_outputs.end() ? nullptr : &*beside,
                  x,
                  sent,
                  sent.labels.size() - 1,
                  decided() - 1);
        }
    } catch (const eye_closed&) { // it is tried again
    }
}

} // namespace gr::adann::core
