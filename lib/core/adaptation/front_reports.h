/* -*- c++ -*- */
/*
 * Reports of a front filter for other threads.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/handover.h"
#include "core/tracking/front_filter.h"

#include <complex>
#include <mutex>
#include <vector>

namespace gr::adann::core {

//! Status and taps of the deciding thread's front filter.
//! publish() never waits; readers wait for each other.
class front_reports
{
public:
    //! \param most largest number of taps
    explicit front_reports(std::size_t most)
        : d_reports({ {}, std::vector<std::complex<float>>(most) })
    {
    }

    //! For the deciding thread.
    void publish(const front_filter& front)
    {
        report& next = d_reports.writing();
        const signal_planes taps = front.in_use();
        next.status = front.status();
        next.taps.resize(front.taps());
        for (std::size_t k = 0; k < next.taps.size(); ++k)
            next.taps[k] = { taps.re[k], taps.im ? taps.im[k] : 0.0f };
        d_reports.publish();
    }

    //! By the latest publish(), or the initial status.
    front_filter_status status() const
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        return d_reports.newest().status;
    }
    //! The taps in use, that of the earliest sample first.
    std::vector<std::complex<float>> taps() const
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        return d_reports.newest().taps;
    }

private:
    struct report {
        front_filter_status status;
        std::vector<std::complex<float>> taps;
    };

    mutable std::mutex d_mutex; // readers'
    mutable latest_value<report> d_reports;
};

} // namespace gr::adann::core
