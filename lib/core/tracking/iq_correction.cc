/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/iq_correction.h"

#include "core/common/complex.h"
#include "core/signal/expected_waveform.h"

#include <string>

namespace gr::adann::core {

namespace {

constexpr std::size_t stale =
    8; // blocks after a change that may be corrected by the old value
constexpr std::size_t least = stale + 64; // blocks from a change to the next one
constexpr float keep = 1 - 1.0f / 1024;   // of the sums, per block
constexpr float significant = 16;         // squared deviations
constexpr float part = 2.0f / 3;          // of an estimate that is applied
constexpr float most = 0.1f;              // |ρ|²: a gain of 1.9, or 35°

// Σ (x - m)² and Σ |x - m|² of samples with the mean m.
struct squares_of_samples {
    std::complex<float> sum = 0, squares = 0;
    float power = 0, count = 0;

    void add(std::complex<float> x)
    {
        sum += x;
        squares += times(x, x);
        power += std::norm(x);
        ++count;
    }
    std::complex<float> pseudo() const { return squares - times(sum, sum) / count; }
    float centred() const { return power - std::norm(sum) / count; }
};

// Whether E[x²] is 0, within four standard deviations of a mean of as many Gaussian samples as symbols.
bool is_proper(const std::vector<float>& x)
{
    squares_of_samples all;
    for (std::size_t i = 0; i < x.size(); i += 2)
        all.add({ x[i], x[i + 1] });
    const auto independent = static_cast<float>(expected_waveform::drawn_symbols);
    return std::norm(all.pseudo()) * independent <=
           significant * all.centred() * all.centred();
}

} // namespace

iq_correction::iq_correction(const constellation& alphabet,
                             const std::vector<float>& expected)
    : d_has_image(alphabet.is_complex() && alphabet.symmetries().size() > 2),
      d_is_proper(d_has_image && !alphabet.is_offset() && is_proper(expected))
{
    for (const std::complex<float> point : alphabet.unit_points()) {
        d_squares.push_back(point * point);
        d_variance += std::norm(d_squares.back());
    }
    d_variance /= static_cast<float>(d_squares.size());
}

// Whether Σ P² of these labels is within four standard deviations of random ones'.
bool iq_correction::are_random(const std::uint8_t* labels, std::size_t n) const
{
    std::complex<float> sum = 0;
    for (std::size_t k = 0; k < n; ++k)
        sum += d_squares[labels[k]];
    return std::norm(sum) <= significant * d_variance * static_cast<float>(n);
}

void iq_correction::apply(float* re, float* im, std::size_t n) const
{
    const float a = 1 - d_image.real(), b = d_image.imag(), d = 1 + d_image.real();
    for (std::size_t i = 0; i < n; ++i) {
        const float x = re[i], y = im[i];
        re[i] = a * x - b * y;
        im[i] = d * y - b * x;
    }
}

void iq_correction::learn(const signal_planes& x,
                          const std::uint8_t* labels,
                          const signal_planes* residual,
                          std::size_t first,
                          std::size_t apart,
                          std::size_t n)
{
    if (!d_has_image || ++d_blocks <= stale ||
        (!residual && !(d_is_proper && are_random(labels, n))))
        return;
    std::complex<float> more = 0;
    float power = 0;
    if (residual) {
        for (std::size_t i = first; i < first + n * apart; i += apart) {
            const std::complex<float> sample(x.re[i], x.im[i]);
            more -= times({ residual->re[i], residual->im[i] }, sample);
            power += std::norm(sample);
        }
    } else {
        squares_of_samples block;
        for (std::size_t i = first; i < first + n * apart; i += apart)
            block.add({ x.re[i], x.im[i] });
        more = block.pseudo();
        power = 2 * block.centred();
    }
    d_sum = keep * d_sum + more;
    d_scatter = keep * keep * d_scatter + std::norm(more);
    d_power = keep * d_power + power;
    if (d_blocks < least || !(std::norm(d_sum) > significant * d_scatter) ||
        !(d_power > 0))
        return;
    const std::complex<float> image = d_image + part * d_sum / d_power;
    if (std::norm(image) < most)
        d_image = image;
    begin();
}

void iq_correction::state(archive& members)
{
    static_assert(sizeof(std::complex<float>) == 2 * sizeof(float));
    const auto complex = [&](const char* name, std::complex<float>& value) {
        members.numbers(name, reinterpret_cast<float*>(&value), { 2 });
    };
    complex("image", d_image);
    if (!(std::norm(d_image) <= most))
        members.refuse("image", "has more power than " + std::to_string(most));
    complex("sum", d_sum);
    members("scatter", d_scatter);
    members("power", d_power);
    members("blocks", d_blocks);
}

} // namespace gr::adann::core
