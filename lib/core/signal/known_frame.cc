/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/known_frame.h"

#include "core/common/checks.h"
#include "core/signal/known_symbols.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace gr::adann::core {

namespace {
constexpr double sure = 16; // |C|² / n, which by chance 10^-7 of the positions exceed
constexpr double gone = 8;  // |C|² / n, which by chance one position in 3000 exceeds
constexpr double looked_at = 64; // known symbols from one check to the next
constexpr std::size_t most_period = std::size_t{ 1 } << 20;
} // namespace

std::vector<std::uint8_t> frame_of(const std::vector<known_pattern>& patterns,
                                   std::size_t classes)
{
    std::size_t longest = 1;
    for (const auto& [labels, period, offset] : patterns) {
        check_range<std::size_t>("known_symbols' period", period, 1, most_period);
        longest = std::max(longest, period);
    }
    std::vector<std::uint8_t> frame(longest, not_known);
    for (const auto& [labels, period, offset] : patterns) {
        if (longest % period)
            refuse("known_symbols' period",
                   period,
                   "one that divides the longest, " + std::to_string(longest));
        check_range<std::size_t>(
            "known_symbols' number of labels", labels.size(), 1, period);
        check_range<std::size_t>("known_symbols' offset", offset, 0, period - 1);
        for (std::size_t i = 0; i < labels.size(); ++i) {
            if (labels[i] == not_known)
                continue;
            check_range<std::size_t>("known_symbols' label", labels[i], 0, classes - 1);
            for (std::size_t at = (offset + i) % period; at < longest; at += period) {
                if (frame[at] != not_known && frame[at] != labels[i])
                    refuse("known_symbols",
                           "two labels for symbol " + std::to_string(at),
                           "one for each symbol of the frame");
                frame[at] = labels[i];
            }
        }
    }
    if (std::all_of(
            frame.begin(), frame.end(), [](auto label) { return label == not_known; }))
        refuse("known_symbols", "all 255", "one known label at least");
    return frame;
}

known_frame::known_frame(const constellation& symbols, std::vector<std::uint8_t> labels)
    : d_points(symbols.unit_points()),
      d_labels(std::move(labels)),
      d_next(d_labels.size(), not_known),
      d_sums(d_labels.size())
{
    for (std::size_t place = 0; place < d_labels.size(); ++place)
        if (is_known(d_labels[place], d_points.size())) {
            d_known.push_back({ place, sent(place) });
            d_sent += std::norm(sent(place));
        }
}

void known_frame::start()
{
    d_in_period = 0;
    d_position = {};
    d_doubtful = false;
    forget();
}

void known_frame::forget()
{
    std::fill(d_sums.begin(), d_sums.end(), 0.0f);
    d_received = 0;
    d_symbols = d_frames = 0;
}

const std::uint8_t* known_frame::next()
{
    if (!d_position) {
        std::fill(d_next.begin(), d_next.end(), not_known);
        return d_next.data();
    }
    std::size_t place = (d_in_period + period() - *d_position) % period();
    for (std::size_t i = 0; i < left(); ++i) {
        d_next[i] = d_labels[place];
        place = place + 1 < period() ? place + 1 : 0;
    }
    return d_next.data();
}

void known_frame::take(const std::uint8_t* decided, std::size_t n)
{
    for (std::size_t i = 0; i < n; ++i, ++d_in_period) {
        const std::complex<float> point = d_points[decided[i]];
        d_received += std::norm(point);
        ++d_symbols;
        if (d_position) {
            const std::size_t place = (d_in_period + period() - *d_position) % period();
            if (is_known(d_labels[place], d_points.size()))
                d_sums[0] += point * std::conj(sent(place));
            continue;
        }
        for (const auto& known : d_known) {
            const std::size_t position = d_in_period >= known.place
                                             ? d_in_period - known.place
                                             : d_in_period + period() - known.place;
            d_sums[position] += point * std::conj(known.point);
        }
    }
    if (d_in_period < period())
        return;
    d_in_period = 0;
    ++d_frames;
    d_position ? check() : search();
}

// At the end of a frame: searches for its position.
void known_frame::search()
{
    const auto largest =
        std::max_element(d_sums.begin(), d_sums.end(), [](auto a, auto b) {
            return std::norm(a) < std::norm(b);
        });
    const double by_chance = d_sent * static_cast<double>(d_frames) * d_received /
                             static_cast<double>(d_symbols);
    if (std::norm(*largest) >
        (sure + std::log(static_cast<double>(period()))) * by_chance) {
        d_position = largest - d_sums.begin();
        forget();
    } else if (d_frames == most_frames) {
        forget();
    }
}

void known_frame::check()
{
    const double frames = static_cast<double>(d_frames);
    if (static_cast<double>(d_known.size()) * frames < looked_at)
        return;
    const double by_chance =
        d_sent * frames * d_received / static_cast<double>(d_symbols);
    const bool explains = std::norm(d_sums[0]) > gone * by_chance;
    if (!explains && d_doubtful)
        d_position = {};
    d_doubtful = !explains && d_position;
    forget();
}

} // namespace gr::adann::core
