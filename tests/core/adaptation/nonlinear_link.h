/* A link whose expected waveform is known, and which has gone on since.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "core/signal/expected_waveform.h"
#include "core/signal/windows.h"

#include <ostream>
#include <random>
#include <vector>

namespace nonlinear {

using namespace gr::adann::core;

constexpr std::size_t batch = 256, half_window = 2;

/* A nonlinear sender, an echo that the trained waveform does not know, and noise; samples
 * as windows of 2 half_window + 1 symbols. Everything by its definition, in doubles. */
struct nonlinear_link {
    //! \param memory of the waveform's polynomial, as expected_waveform takes it
    nonlinear_link(const char* name,
                   unsigned sps,
                   bool is_complex,
                   unsigned seed,
                   unsigned memory = 0)
        : symbols(name),
          window(sps, half_window, is_complex),
          trained(symbols, sps, is_complex, 2, 2, memory),
          random(seed)
    {
        std::normal_distribution<float> normal;
        std::vector<float> affine(trained.affine().size()), table(trained.table().size());
        for (std::size_t row = 0; row < trained.rows(); ++row) {
            const std::size_t dimensions = symbols.is_complex() ? 2 : 1;
            const std::size_t place = row ? (row - 1) / dimensions : 0;
            const float size = row && place == 2 ? 0.7f : 0.15f;
            for (std::size_t j = 0; j < trained.stride(); ++j)
                affine[row * trained.stride() + j] =
                    size * (1 + 0.3f * normal(random)) *
                    (is_complex && symbols.is_complex() && row && (row - 1) % 2 != j % 2
                         ? 0.1f
                         : 1.0f);
        }
        for (auto& value : table)
            value = 0.1f * normal(random);
        std::vector<float> polynomial(trained.polynomial().coefficients().size());
        for (auto& value : polynomial)
            value = 0.02f * normal(random);
        trained.set(affine, table, 0.1f, {}, polynomial);
    }

    //! Labels from `values` alone: not scrambled data, if there are few.
    void send(std::size_t count, std::size_t values)
    {
        labels.resize(count + 2 * margin);
        for (auto& label : labels)
            label = random() % values;
        const std::size_t reach = trained.reach();
        std::vector<float> clean((labels.size() - 2 * reach) * trained.stride());
        trained.expect(labels.data() + reach, labels.size() - 2 * reach, clean.data());
        std::normal_distribution<double> normal(0, 0.05);
        const std::size_t step = window.floats_per_sample();
        samples.assign(labels.size() * trained.stride(), 0);
        for (std::size_t i = 4 * trained.stride();
             i + 4 * trained.stride() < clean.size();
             ++i)
            samples[i + reach * trained.stride()] =
                static_cast<float>(0.9 * clean[i] + 0.25 * clean[i - step] -
                                   0.15 * clean[i + 2 * step] + 0.05 + normal(random));
    }
    feature_view view(std::size_t first) const
    {
        return { &samples[(margin + first - half_window) * trained.stride()],
                 trained.stride(),
                 window.dimension(),
                 batch };
    }
    const std::uint8_t* sent(std::size_t first) const { return &labels[margin + first]; }

    static constexpr std::size_t margin = 16;
    constellation symbols;
    window_geometry window;
    expected_waveform trained;
    std::mt19937 random;
    std::vector<std::uint8_t> labels;
    std::vector<float> samples;
};

struct kind {
    const char* symbols;
    unsigned sps;
    bool is_complex;
};
inline const kind kinds[] = { { "pam2", 4, false },
                              { "pam4", 2, false },
                              { "pam4", 1, true },
                              { "qpsk", 2, true },
                              { "16qam", 4, true } };
inline std::ostream& operator<<(std::ostream& out, const kind& one)
{
    return out << one.symbols << ", " << one.sps << " samples";
}

} // namespace nonlinear
