/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/first_network.h"

#include "core/adaptation/waveform_judge.h"
#include "core/common/split_mix.h"
#include "core/network/decider.h"
#include "core/training/trainer.h"

#include <algorithm>
#include <utility>

namespace gr::adann::core {

namespace {

constexpr int epochs = 20;
constexpr std::size_t batch_size = 512;
constexpr float rate = 0.001f; // learning rate of Adam

std::optional<network> train(const model& linear,
                             const std::vector<labelled_windows>& parts,
                             std::uint64_t seed,
                             const std::function<bool()>& goes_on)
{
    training_settings settings;
    settings.loss = loss_kind::supervised;
    settings.learning_rate = rate;
    settings.sigma = settings.epsilon = 0.0f;
    settings.balance = 0;
    trainer training(linear.net, {}, settings);
    std::vector<std::pair<std::size_t, std::size_t>> order; // part, and symbol in it
    for (std::size_t part = 0; part < parts.size(); ++part)
        for (std::size_t i = 0; i < parts[part].windows.count; ++i)
            order.emplace_back(part, i);
    const std::size_t dimension = linear.window.dimension();
    std::vector<float> windows(batch_size * dimension);
    std::vector<std::uint8_t> wanted(batch_size);
    for (int epoch = 0; epoch < epochs; ++epoch) {
        for (std::size_t i = order.size(); i-- > 1;)
            std::swap(order[i], order[split_mix(seed) % (i + 1)]);
        for (std::size_t first = 0; first + batch_size <= order.size();
             first += batch_size) {
            if (!goes_on())
                return {};
            for (std::size_t i = 0; i < batch_size; ++i) {
                const auto [part, symbol] = order[first + i];
                std::copy_n(
                    parts[part].windows[symbol], dimension, &windows[i * dimension]);
                wanted[i] = parts[part].labels[symbol];
            }
            training.step({ windows.data(), dimension, dimension, batch_size },
                          wanted.data());
        }
    }
    return training.net();
}

bool is_better(const network& trained,
               const network& in_use,
               const model& linear,
               const std::vector<labelled_windows>& parts)
{
    if (parts.empty())
        return false;
    const std::size_t count = parts.front().windows.count;
    decider decides(trained);
    const prepared_network first(trained), second(in_use);
    waveform_judge judge(*linear.waveform, linear.window, count);
    const label_noise equal_noise(linear.symbols.size());
    unsigned won = 0, lost = 0;
    std::vector<std::uint8_t> by_trained(count), by_other(count);
    for (const auto& [windows, labels] : parts) {
        decides.decide(first, windows, by_trained.data());
        decides.decide(second, windows, by_other.data());
        judge.look(windows, labels);
        const auto votes = judge.compare(by_trained.data(), by_other.data(), equal_noise);
        won += votes.first;
        lost += votes.second;
    }
    return won >= lost;
}

} // namespace

std::optional<first_network>
train_first_network(const model& linear,
                    const network& in_use,
                    const std::vector<labelled_windows>& parts,
                    std::uint64_t seed,
                    const std::function<bool()>& goes_on)
{
    const auto held_back =
        parts.begin() + static_cast<std::ptrdiff_t>(parts.size() - parts.size() / 4);
    const auto trained = train(linear, { parts.begin(), held_back }, seed, goes_on);
    if (!trained)
        return {};
    return first_network{
        *trained, is_better(*trained, in_use, linear, { held_back, parts.end() })
    };
}

} // namespace gr::adann::core
