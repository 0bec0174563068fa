/* -*- c++ -*- */
/*
 * What the parts of kernels_bench share: the clock, the data and the networks.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/network/network.h"
#include "core/signal/windows.h"
#include "core/simd/kernels.h"
#include "core/training/initialize.h"
#include "core/training/noise.h"

#include <cstdint>
#include <string>
#include <time.h>
#include <vector>

namespace bench {

//! Processor time of this thread: what else runs on the machine does not count.
inline double thread_seconds()
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

/*! How many `items` a second go through calls of work(), each of which does so many.
 *
 * Looking at the clock takes a microsecond, so it is done once a millisecond at most. */
template <typename Work>
double rate(double items, double seconds, Work work)
{
    std::size_t calls_at_once = 1;
    const auto timed_calls = [&] {
        const double start = thread_seconds();
        for (std::size_t i = 0; i < calls_at_once; ++i)
            work();
        return thread_seconds() - start;
    };
    // Caches, pages and the clock's frequency settle first.
    for (double spent = 0, last; spent < seconds / 4; spent += last) {
        last = timed_calls();
        if (last < 1e-3)
            calls_at_once *= 2;
    }
    double spent = 0, calls = 0;
    for (; spent < seconds; calls += calls_at_once)
        spent += timed_calls();
    return items * calls / spent;
}

//! A network with random weights and a stream of samples in front of it.
struct scene {
    /*! \param sizes neurons of each layer, input first
     * \param stride floats from one feature vector to the next */
    scene(const std::vector<std::size_t>& sizes, std::size_t stride, std::size_t count)
        : net(sizes), samples((count - 1) * stride + sizes.front())
    {
        initialize(net, 1);
        gr::adann::core::gaussian_noise(2).fill(samples.data(), samples.size());
        view = { samples.data(), stride, sizes.front(), count };
    }

    gr::adann::core::network net;
    std::vector<float> samples;
    gr::adann::core::feature_view view;
};

//! Floating-point operations per second of one core with nothing but multiply-adds.
double peak(const std::string& isa, double seconds);

/*! Labels by Eigen, sizes known to the compiler: 44-10-10-10-10-4 with stride 4 or
 * 88-10-10-10-10-16 with stride 8.
 * \return symbols per second */
double eigen(const scene& data, double seconds);

/*! A model's network, and a front filter before it or refined decisions behind it.
 * \param what "network": without; "refined": its decisions, refined; "still", "moving": the
 * link, with a front filter
 * \return symbols per second
 * \throws std::runtime_error if the filter loses the signal */
double tracking(const std::string& path, const std::string& what, double seconds);

/*! A matrix of filters for two channels, and the network that decides each output in it.
 * \param outputs 1 or 2
 * \param what "still", "moving": the mixture
 * \return symbols of each channel per second
 * \throws std::runtime_error if it loses a transmitter */
double channels(const std::string& path,
                std::size_t outputs,
                const std::string& what,
                double seconds);

//! Prints where the time of inference and of the losses' steps goes, kernel by kernel.
void profile(const gr::adann::core::simd::kernels& kernels,
             const scene& data,
             double seconds);

} // namespace bench
