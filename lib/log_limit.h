/* -*- c++ -*- */
/*
 * Ten lines a minute: what floods an input does not flood the log.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace gr::adann {

//! For one thread at a time.
class log_limit
{
public:
    //! Whether a line may be written now; if not, it is counted.
    bool allows()
    {
        const auto now = std::chrono::steady_clock::now();
        if (d_lines == 0 || now - d_begin >= std::chrono::minutes(1)) {
            d_begin = now;
            d_lines = 0;
        }
        const bool allowed = d_lines < most;
        ++(allowed ? d_lines : d_left_out);
        return allowed;
    }

    //! For the end of a line: the number of lines that were not written since the latest call.
    std::string left_out()
    {
        const std::uint64_t count = std::exchange(d_left_out, 0);
        return count ? " (and " + std::to_string(count) + " that were not written)" : "";
    }

private:
    static constexpr std::uint64_t most = 10;
    std::chrono::steady_clock::time_point d_begin;
    std::uint64_t d_lines = 0, d_left_out = 0;
};

} // namespace gr::adann
