/* -*- c++ -*- */
/*
 * Requests of other threads to an adapter.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/checks.h"
#include "core/network/model.h"

#include <gnuradio/adann/equalizer_settings.h>

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gr::adann::core {

/*! Keeps requests until the adapter takes them. Any thread may call its methods; a call waits for
 * other such calls only. */
class adaptation_requests
{
public:
    //! A model file or checkpoint to be loaded.
    struct read_file {
        std::string path;
        std::size_t training = 0; //!< length of bursts' training sequence; 0: none
        std::optional<model> found;
        std::string problem; //!< why `found` is empty
    };
    struct taken {
        std::optional<training_settings> changed;
        bool resets = false;
        std::vector<std::string> saves; //!< paths
        std::optional<read_file> loads;
    };

    explicit adaptation_requests(const training_settings& training) : d_training(training)
    {
    }

    void reset();
    void save(const std::string& path);
    void load(const std::string& path, std::size_t training);
    //! \param make changes a training_settings. \throws
    //! std::invalid_argument if one is out of range
    template <typename change>
    void change_training(change make)
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        training_settings changed = d_training;
        make(changed);
        training_settings::visit(changed, setting_checks{});
        d_training = changed;
        d_is_changed = true;
    }
    //! The settings with all changes.
    training_settings training() const;

    //! Reads the requested file, if there is one. For the adapter thread.
    void read();
    //! Takes all requests. For the adapter. \param loads whether it can change to another model now
    taken take(bool loads);

private:
    mutable std::mutex d_mutex;
    training_settings d_training;
    bool d_is_changed = false, d_resets = false;
    std::vector<std::string> d_saves;
    std::optional<read_file> d_asked, d_read; // requested; read
};

} // namespace gr::adann::core
