/* -*- c++ -*- */
/*
 * A network and a stream of samples to decide, both random and always the same.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/network.h"
#include "core/signal/windows.h"
#include "core/training/initialize.h"

#include <random>
#include <vector>

//! `count` windows of sizes.front() floats, `stride` floats apart.
struct random_windows {
    random_windows(const std::vector<std::size_t>& sizes,
                   std::size_t stride,
                   std::size_t count)
        : net(sizes), samples((count - 1) * stride + sizes.front())
    {
        initialize(net, sizes.front());
        std::mt19937 generator(7);
        std::normal_distribution<float> normal;
        for (auto& sample : samples)
            sample = normal(generator);
        for (auto& parameter : net.parameters())
            parameter += 0.1f * normal(generator); // biases too
        view = { samples.data(), stride, sizes.front(), count };
    }

    gr::adann::core::network net;
    std::vector<float> samples;
    gr::adann::core::feature_view view;
};
