/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/adaptation_requests.h"

#include <exception>
#include <utility>

namespace gr::adann::core {

void adaptation_requests::reset()
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    d_resets = true;
}

void adaptation_requests::save(const std::string& path)
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    d_saves.push_back(path);
}

void adaptation_requests::load(const std::string& path, std::size_t training)
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    d_asked = read_file{ path, training, {}, {} };
}

training_settings adaptation_requests::training() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    return d_training;
}

void adaptation_requests::read()
{
    read_file next;
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        if (d_read || !d_asked)
            return;
        next = *std::exchange(d_asked, std::nullopt);
    }
    try {
        next.found = load_model(next.path);
    } catch (const std::exception& error) {
        next.problem = error.what();
    }
    const std::lock_guard<std::mutex> lock(d_mutex);
    d_read = std::move(next);
}

adaptation_requests::taken adaptation_requests::take(bool loads)
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    taken all;
    if (std::exchange(d_is_changed, false))
        all.changed = d_training;
    std::swap(all.resets, d_resets);
    std::swap(all.saves, d_saves);
    if (loads)
        std::swap(all.loads, d_read);
    return all;
}

} // namespace gr::adann::core
