/* -*- c++ -*- */
/*
 * A checkpoint with recorded batches, and changes to its numbers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "input.h"

#include "core/adaptation/learner.h"
#include "core/adaptation/replay.h"
#include "core/training/initialize.h"
#include "core/training/noise.h"

namespace fuzz {

using namespace gr::adann;
using namespace gr::adann::core;

constexpr std::size_t batch = 64, batches = 40, kept = 2;

struct recording {
    //! \param judges whether the model has an expected waveform, by which a guard judges
    explicit recording(bool judges) : samples(2 * batch * batches + 6)
    {
        network net({ 6, 4, 4 });
        initialize(net, 1);
        model initial(net, 2, 1, false, "pam4");
        initial.symbol_error_rate = 0.01f;
        if (judges) {
            expected_waveform waveform(initial.symbols, 2, false, 1, 1);
            waveform.set(std::vector<float>(8, 0.5f), std::vector<float>(8, 0.1f), 0.3f);
            initial.set_waveform(waveform);
        }
        settings.batch = batch;
        gaussian_noise(1).fill(samples.data(), samples.size());
        learner learning(initial, settings);
        batch_recorder recorder(2, 6, batch, kept);
        std::vector<std::uint8_t> labels(batch);
        for (std::size_t i = 0; i < batches; ++i) {
            for (std::size_t t = 0; t < batch; ++t)
                labels[t] = (i + t * t) % 4;
            if (i >= batches - 2 * kept)
                recorder.add({ &samples[2 * batch * i], labels.data() },
                             [&] { return learning.checkpoint(); });
            learning.step(view(i), labels.data());
        }
        file = recorder.recorded(settings);
    }
    feature_view view(std::size_t i) const
    {
        return { &samples[2 * batch * i], 2, 6, batch };
    }

    learner_settings settings;
    std::vector<float> samples;
    std::optional<model> file;
};

inline const recording& recorded(bool judges)
{
    static const recording plain(false), judged(true);
    return judges ? judged : plain;
}

//! Changes some numbers, shapes and lengths of a file's tensors.
inline void change(std::vector<tensor_file::tensor>& tensors, input& from)
{
    for (std::size_t n = from.up_to(7); n-- > 0;) {
        auto& each = tensors[from.up_to(tensors.size() - 1)];
        const std::size_t what = from.up_to(15);
        if (what == 0 && !each.shape.empty())
            each.shape[0] = from.take<std::uint64_t>();
        else if (what == 1)
            each.bytes.resize(from.up_to(4096));
        else if (!each.bytes.empty()) {
            const std::size_t width = std::min<std::size_t>(
                each.bytes.size(), each.dtype.find("64") != each.dtype.npos ? 8 : 4);
            const std::size_t at =
                from.up_to(each.bytes.size() / width - 1) * width % each.bytes.size();
            const auto value = from.take<std::uint64_t>();
            std::memcpy(&each.bytes[at], &value, width);
        }
    }
}

} // namespace fuzz
