/* -*- c++ -*- */
/*
 * An adaptive equalizer whose guard has decisions to make, and what it decided and told.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/adaptive_equalizer.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

namespace slicer_link {

using namespace gr::adann;
using namespace gr::adann::core;

inline constexpr std::size_t symbols = 60'000, batch = 512;
inline const std::string path = "checkpoint_test.safetensors";
inline const std::string rollback_path = "checkpoint_test.rollback.safetensors";

//! What an equalizer decided and told.
struct result {
    std::vector<std::uint8_t> labels;
    std::vector<float> posteriors;
    std::vector<adaptation_event> events; // those that come of a batch

    void append(const result& more)
    {
        labels.insert(labels.end(), more.labels.begin(), more.labels.end());
        posteriors.insert(
            posteriors.end(), more.posteriors.begin(), more.posteriors.end());
        events.insert(events.end(), more.events.begin(), more.events.end());
    }
};

//! NaN is NaN; 0 and -0 differ.
inline bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

inline bool same(const learner_event& a, const learner_event& b)
{
    return a.what == b.what && a.detail == b.detail && a.in_use == b.in_use &&
           same_bits(a.step.loss, b.step.loss) &&
           same_bits(a.step.confidence, b.step.confidence) && a.steps == b.steps &&
           a.updates == b.updates && a.rollbacks == b.rollbacks;
}

inline void check_same(const result& found, const result& expected)
{
    BOOST_TEST((found.labels == expected.labels));
    BOOST_TEST((found.posteriors == expected.posteriors));
    BOOST_REQUIRE(found.events.size() == expected.events.size());
    for (std::size_t i = 0; i < found.events.size(); ++i)
        BOOST_REQUIRE_MESSAGE(same(found.events[i], expected.events[i]),
                              "event " << i << ": " << name(found.events[i].what)
                                       << " at step " << found.events[i].steps);
}

/* PAM4 in noise, one sample a symbol; the offline network is a slicer. A learning rate of
 * 1 makes the adaptive one bad, so that the guard has decisions to make. */
struct slicer_fixture {
    slicer_fixture() : initial(slicer())
    {
        std::mt19937 random(1);
        std::normal_distribution<float> noise(0.0f, 0.12f);
        samples.resize(symbols + 2);
        for (auto& sample : samples)
            sample = (2.0f * (random() & 3) - 3) / std::sqrt(5.0f) + noise(random);
        // The input is stuck for a while.
        std::fill_n(samples.begin() + 20 * batch, 2 * batch, 1.0f);
        settings.mode = adaptation_mode::lockstep;
        settings.batch = batch;
        settings.learning_rate = 1;
        settings.front_filter = false;
        settings.decisions = decision_kind::network;
        settings.balance = 0; // decisions of a bad network are no reason to pause
    }
    ~slicer_fixture()
    {
        std::remove(path.c_str());
        std::remove(rollback_path.c_str());
    }

    // Label l's logit is l x - l²/2 on the scale where levels are 0 … 3, sharpened.
    static model slicer()
    {
        network net({ 3, 2, 4 });
        auto& p = net.parameters();
        const auto& hidden = net.layers()[0];
        const auto& last = net.layers()[1];
        p[hidden.weights + 1] = 1; // the middle sample and its negative
        p[hidden.weights + 4] = -1;
        for (int l = 0; l < 4; ++l) {
            const float position = static_cast<float>(l) - 1.5f;
            p[last.weights + 2 * l] = 15 * position;
            p[last.weights + 2 * l + 1] = -15 * position;
            p[last.biases + l] = -15 * position * position / std::sqrt(5.0f);
        }
        model m(net, 1, 1, false, "pam4");
        m.symbol_error_rate = 1e-3f;
        // The label's own point, of the symbol itself: what the guard judges by.
        expected_waveform waveform(m.symbols, 1, false, 1, 0);
        std::vector<float> affine(waveform.rows());
        affine[2] = 1;
        waveform.set(affine, std::vector<float>(1), 0.12f);
        m.set_waveform(waveform);
        return m;
    }

    feature_view view(std::size_t first, std::size_t count) const
    {
        return feature_view{ samples.data(), 1, 3, symbols }.from(first, count);
    }

    result run(const model& from,
               std::size_t first,
               std::size_t count,
               const std::string& save_as = "") const
    {
        result all{ std::vector<std::uint8_t>(count), std::vector<float>(4 * count), {} };
        semaphore saved;
        adaptive_equalizer equalizer(from, 1, settings, [&](const adaptation_event& e) {
            if (e.what == event_kind::error)
                BOOST_ERROR(e.detail);
            if (e.what != event_kind::saved)
                all.events.push_back(e);
            else if (e.detail == save_as)
                saved.post();
        });
        equalizer.start();
        equalizer.decide(
            view(first, count), nullptr, all.labels.data(), all.posteriors.data());
        if (!save_as.empty()) {
            equalizer.request_save(save_as);
            saved.wait();
        }
        equalizer.stop();
        return all;
    }

    void refused(const std::string& reason) const
    {
        BOOST_CHECK_EXCEPTION(adaptive_equalizer(load_model(path), 1, settings),
                              model_file_error,
                              [&](const auto& error) {
                                  const std::string what = error.what();
                                  BOOST_TEST_MESSAGE(what);
                                  return what.find("model file " + path + ": ") == 0 &&
                                         what.find(reason) != what.npos &&
                                         what.find('\n') == what.npos;
                              });
    }

    model initial;
    adaptation_settings settings;
    std::vector<float> samples;
};

inline std::size_t count_of(const result& all, event_kind what)
{
    return std::count_if(all.events.begin(), all.events.end(), [&](const auto& event) {
        return event.what == what;
    });
}

} // namespace slicer_link
