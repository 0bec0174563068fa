/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/adaptation_settings.h"

#include "core/common/checks.h"

#include <filesystem>

namespace gr::adann::core {

const std::vector<std::string>& adaptation_settings::modes()
{
    static const std::vector<std::string> all{ "lockstep", "live", "off" };
    return all;
}

training_settings learner_settings::automatic_training()
{
    training_settings training;
    training.loss.pseudo_label = "doubted";
    training.learning_rate = training_settings::automatic;
    training.loss.sigma = training.loss.epsilon = loss_settings::automatic;
    return training;
}

void learner_settings::check() const
{
    check_range<std::size_t>("batch", batch, 16, std::size_t{ 1 } << 20);
    check_range<std::size_t>("average", average, 0, 1'000'000'000);
}

void adaptation_settings::check() const
{
    learner_settings::check();
    choice("mode", mode, modes());
    front.check();
    check_range<std::size_t>(
        "checkpoint_interval", checkpoint_interval, 0, 1'000'000'000);
    if (checkpoint.empty())
        return;
    const auto file = std::filesystem::absolute(checkpoint);
    if (!std::filesystem::is_directory(file.parent_path()) ||
        std::filesystem::is_directory(file))
        refuse("checkpoint", "'" + checkpoint + "'", "a file in a folder that exists");
}

void learner_settings::state(archive& members)
{
    members("batch", batch);
    members("average", average);
    members("guard", guard);
    members("optimizer", training.optimizer);
    members("learning_rate", training.learning_rate);
    members("loss", training.loss.loss);
    members("pseudo_label", training.loss.pseudo_label);
    members("sigma", training.loss.sigma);
    members("epsilon", training.loss.epsilon);
    members("xi", training.loss.xi);
    members("noise", training.loss.noise);
    members("balance", training.loss.balance);
}

} // namespace gr::adann::core
