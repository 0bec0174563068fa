/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/replay.h"

#include "core/common/checks.h"
#include "core/signal/known_symbols.h"

#include <algorithm>
#include <type_traits>

namespace gr::adann::core {

namespace {

constexpr std::size_t most_bytes = 8 << 20; // of samples
constexpr std::size_t most_apart = 255; // batches: more than the slowest pace in lockstep

// All of a learner's settings, by their names.
struct archived {
    learner_settings& settings;

    void state(archive& members) { learner_settings::visit(settings, each{ members }); }

    struct each {
        archive& members;

        template <typename T>
        void operator()(const char* name, T& member, const char*)
        {
            if constexpr (std::is_enum_v<T>) {
                std::string word = row(member).name;
                members(name, word);
                member = value_of<T>(name, word);
            } else {
                members(name, member);
            }
        }
        template <typename T>
        void operator()(const char* name, T& member, T, T, const char*)
        {
            members(name, member);
        }
        template <typename T>
        void operator()(const char* name, std::optional<T>& member, T, T, const char*)
        {
            constexpr T is_automatic = -1; // no setting is below 0
            T number = member.value_or(is_automatic);
            members(name, number);
            member = number == is_automatic ? automatic : std::optional<T>(number);
        }
    };
};

} // namespace

batch_recorder::batch_recorder(std::size_t stride,
                               std::size_t dimension,
                               std::size_t batch,
                               std::size_t half)
    : d_stride(stride),
      d_floats((batch - 1) * stride + dimension),
      d_symbols(batch),
      d_half(
          std::clamp<std::size_t>(most_bytes / 2 / (d_floats * sizeof(float)), 1, half)),
      d_samples(2 * d_half * d_floats),
      d_labels(2 * d_half * d_symbols),
      d_known(d_labels.size(), not_known),
      d_apart(2 * d_half),
      d_unexplained(2 * d_half)
{
}

void batch_recorder::add(const learnt& next, const std::function<model()>& checkpoint)
{
    if (d_batches == 2 * d_half) {
        const auto keep_later = [this](auto& values, std::size_t each) {
            std::copy_n(&values[d_half * each], d_half * each, values.begin());
        };
        keep_later(d_samples, d_floats);
        keep_later(d_labels, d_symbols);
        keep_later(d_known, d_symbols);
        keep_later(d_apart, 1);
        keep_later(d_unexplained, 1);
        std::swap(d_before[0], d_before[1]);
        d_batches = d_half;
    }
    if (d_batches % d_half == 0)
        d_before[d_batches / d_half] = checkpoint();
    std::copy_n(next.samples, d_floats, &d_samples[d_batches * d_floats]);
    std::copy_n(next.labels, d_symbols, &d_labels[d_batches * d_symbols]);
    if (next.known)
        std::copy_n(next.known, d_symbols, &d_known[d_batches * d_symbols]);
    else
        std::fill_n(&d_known[d_batches * d_symbols], d_symbols, not_known);
    d_apart[d_batches] = static_cast<std::uint8_t>(std::min(next.apart, most_apart));
    d_unexplained[d_batches] = next.unexplained;
    ++d_batches;
}

model batch_recorder::recorded(learner_settings settings, bool decides_refined)
{
    model result = *d_before[0];
    archive members = archive::saving(result.state, "replay");
    archived to{ settings };
    members("settings", to);
    members("decides_refined", decides_refined);
    members("stride", d_stride);
    members.numbers("labels", d_labels.data(), { d_batches, d_symbols });
    members.numbers("known", d_known.data(), { d_batches, d_symbols });
    members.numbers("apart", d_apart.data(), { d_batches });
    members.numbers("unexplained", d_unexplained.data(), { d_batches });
    members.numbers("samples", d_samples.data(), { d_batches, d_floats });
    return result;
}

std::vector<replayed_event> replay(const model& recorded)
{
    model initial = recorded;
    if (!initial.state.has("replay.labels"))
        initial.state.fail("holds no recorded batches: a rollback did not write it");
    archive members = archive::restoring(initial.state, "replay");
    try {
        learner_settings settings;
        archived from{ settings };
        members("settings", from);
        std::size_t stride = 0;
        members("stride", stride);
        const std::size_t dimension = initial.window.dimension();
        if (stride != initial.window.stride() && stride != dimension)
            members.refuse("stride", "is " + std::to_string(stride));
        learner learning(initial, settings);
        const std::size_t batches = members.shape("labels", { 0, 0 })[0];
        const auto labels =
            members.array<std::uint8_t>("labels", { batches, settings.batch });
        if (labels.empty() ||
            std::any_of(labels.begin(), labels.end(), [&](std::size_t label) {
                return label >= initial.symbols.size();
            }))
            members.refuse("labels", "are none, or not all of the constellation");
        std::vector<std::uint8_t> known(labels.size(), not_known);
        if (initial.state.has("replay.known"))
            known = members.array<std::uint8_t>("known", { batches, settings.batch });
        const auto apart = members.array<std::uint8_t>("apart", { batches });
        if (std::count(apart.begin(), apart.end(), 0))
            members.refuse("apart", "is 0");
        bool decides_refined = false; // older files have neither this nor the following
        std::vector<double> unexplained(batches);
        if (initial.state.has("replay.unexplained")) {
            members("decides_refined", decides_refined);
            unexplained = members.array<double>("unexplained", { batches });
        }
        if (decides_refined)
            learning.decide_refined();
        const std::size_t floats = (settings.batch - 1) * stride + dimension;
        const auto samples =
            members.array<float>("samples", { batches, floats }, archive::any);
        std::vector<replayed_event> replayed;
        for (std::size_t i = 0; i < batches; ++i) {
            const feature_view batch{
                &samples[i * floats], stride, dimension, settings.batch
            };
            learning.set_missed_errors({ unexplained[i], 0 });
            for (const auto& event : learning.step(batch,
                                                   &labels[i * settings.batch],
                                                   apart[i],
                                                   &known[i * settings.batch]))
                replayed.push_back({ event, learning.guard_estimates() });
        }
        return replayed;
    } catch (const std::invalid_argument& error) {
        initial.state.fail(error.what());
    }
}

} // namespace gr::adann::core
