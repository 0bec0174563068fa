/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/mlse/mlse.h"

#include "core/common/checks.h"
#include "core/simd/kernels.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

namespace {

constexpr std::uint8_t unknown = 0xff;
constexpr std::size_t renormalise_after = 32; // steps: keeps the metrics' resolution
constexpr float unreachable = 1e30f;

// Portions of equal size, up to 4 depths, that end where the response is updated: the
// traceback costs at most a quarter more steps than it decides symbols.
std::size_t portion_of(const mlse_settings& s)
{
    const std::size_t portions =
        (s.update_interval + 4 * s.traceback_depth - 1) / (4 * s.traceback_depth);
    return (s.update_interval + portions - 1) / portions;
}

std::size_t survivor_rows(const mlse_settings& s)
{
    return s.block_length ? s.block_length : s.traceback_depth + portion_of(s);
}

std::size_t states_of(const channel_model& channel, std::size_t memory)
{
    const std::size_t bits =
        channel.alphabet.bits_per_symbol() * std::max<std::size_t>(memory - 1, 1);
    return std::max(std::size_t{ 1 } << std::min<std::size_t>(bits, 40),
                    simd::trellis_lanes);
}

std::size_t
bytes_of(const channel_model& channel, const mlse_settings& settings, std::size_t memory)
{
    const std::size_t states = states_of(channel, memory);
    return trellis::bytes(channel, states) + 2 * sizeof(float) * states +
           survivor_rows(settings) * states;
}

const channel_model& checked(const channel_model& channel, const mlse_settings& s)
{
    mlse_settings::visit(s, setting_checks{});
    if (channel.alphabet.size() > mlse::most_points)
        refuse("constellation",
               channel.alphabet.name() + " with " +
                   std::to_string(channel.alphabet.size()) + " points",
               "up to " + std::to_string(mlse::most_points) +
                   " points: the trellis grows with a power of their number");
    if (channel.alphabet.is_offset())
        refuse(
            "constellation", channel.alphabet.name(), "one whose I and Q come together");
    check_range<std::size_t>("traceback_depth", s.traceback_depth, channel.memory, 4096);
    check_range<int>("guard", s.guard, -1, int(channel.alphabet.size()) - 1);
    if (bytes_of(channel, s, channel.memory) > mlse::limit) {
        std::size_t fits = channel.memory;
        while (fits > 0 && bytes_of(channel, s, fits) > mlse::limit)
            --fits;
        refuse("memory",
               channel.memory,
               "1 to " + std::to_string(fits) + " for " + channel.alphabet.name() + ", " +
                   std::to_string(survivor_rows(s)) + " survivors and " +
                   std::to_string(mlse::limit >> 20) + " MiB");
    }
    return channel;
}

const response_taps& checked(const channel_model& channel, const response_taps& taps)
{
    channel.check(taps);
    return taps;
}

} // namespace

mlse::mlse(const channel_model& channel, const mlse_settings& settings)
    : d_settings(settings),
      d_trellis(checked(channel, settings)),
      d_tracker(channel,
                settings.response.empty() ? channel.linear_interpolation()
                                          : checked(channel, settings.response)),
      d_adaptation(settings.adaptation),
      d_step(settings.step),
      d_portion(portion_of(settings)),
      d_margin(channel.memory - 1),
      d_samples((d_margin + survivor_rows(settings)) * channel.floats()),
      d_usable(d_margin + survivor_rows(settings)),
      d_known(d_usable.size()),
      d_labels(d_usable.size()),
      d_taught(d_usable.size()),
      d_survivors(survivor_rows(settings) * d_trellis.padded_states())
{
    for (auto& metrics : d_metrics)
        metrics.resize(d_trellis.padded_states() + simd::trellis_lanes);
    d_trellis.set_response(d_tracker.taps());
    start();
}

void mlse::start()
{
    std::fill(d_samples.begin(), d_samples.end(), 0.0f);
    for (auto* rows : { &d_usable, &d_known, &d_labels, &d_taught })
        std::fill(rows->begin(), rows->end(), 0);
    d_rows = d_decided = d_given = d_margin;
    d_trained = d_margin + d_trellis.channel().memory - 1 - d_trellis.channel().ahead();
    d_until_traceback = d_settings.block_length ? d_settings.block_length : d_portion;
    d_since_update = 0;
    d_training_position = d_training.size();
    d_now = 0;
    start_metrics();
}

std::size_t mlse::latency() const { return survivor_rows(d_settings); }

void mlse::set_training(const std::vector<std::uint8_t>& labels)
{
    for (const auto label : labels)
        check_range<unsigned>(
            "a label of training", label, 0, d_trellis.channel().alphabet.size() - 1);
    d_training = labels;
    d_training_position = labels.size();
}

void mlse::set_response(const response_taps& taps)
{
    d_tracker.set_taps(checked(d_trellis.channel(), taps));
    use_response();
}

void mlse::set_step(float step)
{
    check_range("step", step, 0.0f, 1.0f);
    d_step = step;
}

mlse::progress mlse::process(const float* samples,
                             const std::uint8_t* known,
                             std::size_t symbols,
                             std::uint8_t* labels,
                             std::size_t room)
{
    progress done{};
    for (;;) {
        const std::size_t given = std::min(room - done.labels, d_decided - d_given);
        std::copy_n(d_labels.data() + d_given, given, labels + done.labels);
        d_given += given;
        done.labels += given;
        if (pending() || done.symbols == symbols)
            return done;
        forget();
        const std::size_t n = std::min(symbols - done.symbols, d_until_traceback);
        take(samples + done.symbols * d_trellis.channel().floats(),
             known ? known + done.symbols : nullptr,
             n);
        done.symbols += n;
        if (d_until_traceback == 0)
            traceback();
    }
}

// Drops the rows that are decided and handed out, but for the margin.
void mlse::forget()
{
    const std::size_t n = d_decided - d_margin;
    if (n == 0)
        return;
    const auto drop = [](auto& rows, std::size_t first, std::size_t last) {
        std::copy(rows.begin() + first, rows.begin() + last, rows.begin());
    };
    const std::size_t floats = d_trellis.channel().floats();
    const std::size_t states = d_trellis.padded_states();
    drop(d_samples, n * floats, d_rows * floats);
    drop(d_usable, n, d_rows);
    drop(d_known, n, d_rows);
    drop(d_labels, n, d_rows);
    drop(d_taught, n, d_rows);
    drop(d_survivors, n * states, (d_rows - d_margin) * states);
    d_rows -= n;
    d_decided -= n;
    d_given -= n;
    d_trained -= n;
}

void mlse::take(const float* samples, const std::uint8_t* known, std::size_t symbols)
{
    const std::size_t first = d_rows, floats = d_trellis.channel().floats();
    float* const rows = d_samples.data() + first * floats;
    std::copy_n(samples, symbols * floats, rows);
    std::fill_n(d_usable.begin() + first, symbols, 1);
    const bool all_usable = usable(samples, symbols * floats);
    if (!all_usable)
        for (std::size_t i = 0; i < symbols; ++i)
            if (!usable(samples + i * floats, floats)) {
                d_usable[first + i] = 0;
                std::fill_n(rows + i * floats, floats, 0.0f);
            }

    std::uint8_t* const labels = d_known.data() + first;
    std::fill_n(labels, symbols, unknown);
    const std::size_t trained =
        std::min(symbols, d_training.size() - d_training_position);
    std::copy_n(d_training.data() + d_training_position, trained, labels);
    d_training_position += trained;
    if (known)
        for (std::size_t i = 0; i < symbols; ++i)
            if (known[i] < d_trellis.channel().alphabet.size())
                labels[i] = known[i];

    if (all_usable)
        advance(first, symbols);
    else
        for (std::size_t i = 0; i < symbols; ++i)
            advance(first + i, 1);
    d_rows += symbols;
    d_since_update += symbols;
    d_until_traceback -= symbols;
}

// Steps over rows that are all usable, or over one row.
void mlse::advance(std::size_t row, std::size_t symbols)
{
    if (!d_usable[row]) {
        add_pending(-1);
        step(d_trellis.erased_tables(), row, 1);
        return;
    }
    step(d_trellis.tables(), row, symbols);
}

void mlse::step(const simd::trellis_tables& tables, std::size_t row, std::size_t symbols)
{
    for (std::size_t n; symbols > 0; row += n, symbols -= n) {
        n = std::min(symbols, d_until_renormalised);
        float* metrics[2] = { d_metrics[d_now].data(), d_metrics[1 - d_now].data() };
        simd::active().add_compare_select(tables,
                                          d_samples.data() + row * tables.floats,
                                          n,
                                          metrics,
                                          d_survivors.data() +
                                              (row - d_margin) * tables.states);
        d_now = (d_now + n) % 2;
        d_until_renormalised -= n;
        if (d_until_renormalised == 0) {
            auto& now = d_metrics[d_now];
            // Any state serves: all are reached by then, and never far from each other.
            const float reference = now[0];
            for (auto& metric : now)
                metric -= reference;
            d_until_renormalised = renormalise_after;
        }
    }
}

void mlse::add_pending(float sign)
{
    for (std::size_t s = 0; s < d_trellis.states(); ++s)
        d_metrics[d_now][s] += sign * d_trellis.pending()[s];
}

// Symbols before the first: unknown, or `guard`. Digits below ahead() belong to it
// already.
void mlse::start_metrics()
{
    auto& now = d_metrics[d_now];
    for (std::size_t s = 0; s < d_trellis.states(); ++s) {
        now[s] = 0;
        for (std::size_t k = d_trellis.channel().ahead(); k < d_margin; ++k)
            if (d_settings.guard >= 0 && d_trellis.digit(s, k) != d_settings.guard)
                now[s] = unreachable;
    }
    add_pending(1);
    d_until_renormalised = renormalise_after;
}

// Where a traceback starts; a block's end knows the symbols after it, if there is a
// guard.
std::size_t mlse::best_state() const
{
    const bool guarded = d_settings.block_length && d_settings.guard >= 0;
    const auto& now = d_metrics[d_now];
    std::size_t best = 0;
    float least = 2 * unreachable;
    for (std::size_t s = 0; s < d_trellis.states(); ++s) {
        bool allowed = true;
        for (std::size_t k = 0; guarded && k < d_trellis.channel().ahead(); ++k)
            allowed = allowed && d_trellis.digit(s, k) == d_settings.guard;
        const float metric = now[s] - d_trellis.pending()[s];
        if (allowed && metric < least) {
            least = metric;
            best = s;
        }
    }
    return best;
}

void mlse::traceback()
{
    const std::size_t depth = d_settings.block_length ? 0 : d_settings.traceback_depth;
    const std::size_t first = d_decided;
    d_decided = std::max(first, d_rows - std::min(depth, d_rows));
    if (d_decided > first) {
        std::size_t state = best_state();
        const std::size_t states = d_trellis.padded_states();
        const std::uint8_t* survivors = d_survivors.data() + (d_rows - d_margin) * states;
        for (std::size_t row = d_rows; row-- > first;) {
            survivors -= states;
            d_labels[row] = d_trellis.label(state);
            state = d_trellis.predecessor(state, survivors[state]);
        }
        train(first);
    }
    const bool due = d_since_update >= d_settings.update_interval;
    if (due) {
        d_since_update = 0;
        if (d_adaptation != mlse_adaptation::off) {
            use_response();
            ++d_updates;
        }
    }
    if (d_settings.block_length) {
        d_until_traceback = d_settings.block_length;
        d_trained = d_rows + d_margin - d_trellis.channel().ahead();
        start_metrics();
    } else {
        d_until_traceback =
            std::min(d_portion, d_settings.update_interval - d_since_update);
    }
}

// Rows from `first` on are newly decided.
void mlse::train(std::size_t first)
{
    const std::size_t ahead = d_trellis.channel().ahead();
    const std::size_t floats = d_trellis.channel().floats();
    for (std::size_t row = first; row < d_decided; ++row)
        d_taught[row] = d_known[row] == unknown ? d_labels[row] : d_known[row];
    for (; d_trained + ahead < d_decided; ++d_trained) {
        const std::size_t newest = d_trained + ahead;
        const bool known = std::find(d_known.data() + newest - d_margin,
                                     d_known.data() + newest + 1,
                                     unknown) == d_known.data() + newest + 1;
        if (d_usable[d_trained] && d_step > 0 &&
            (known ? d_adaptation != mlse_adaptation::off
                   : d_adaptation == mlse_adaptation::decision_directed))
            d_tracker.update(d_samples.data() + d_trained * floats,
                             d_taught.data() + newest,
                             d_step,
                             !known);
    }
}

void mlse::use_response()
{
    add_pending(-1);
    d_trellis.set_response(d_tracker.taps());
    add_pending(1);
}

} // namespace gr::adann::core
