/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/carrier.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

namespace gr::adann::core {

namespace {
constexpr double most_error = 1; // radians: a larger error is another symmetry's
// Steps from the middle of the measured step to the middle of the one that is rotated next:
// `behind` symbols and two halves of a step.
std::size_t steps_ahead(std::size_t behind)
{
    const std::size_t steps = 1 + (behind + carrier::step - 1) / carrier::step;
    return std::min(steps, phase_bank::most_ahead);
}
} // namespace

std::complex<double> remaining(const float* expected, const float* samples, std::size_t n)
{
    std::complex<double> sum = 0;
    for (std::size_t i = 0; i < 2 * n; i += 2)
        sum += std::complex<double>(samples[i], samples[i + 1]) *
               std::complex<double>(expected[i], -expected[i + 1]);
    return sum;
}

void rotate_by_steps(const float* reference,
                     std::size_t n,
                     float* samples,
                     std::size_t steps)
{
    const auto correlation = [&](std::size_t i) {
        return i < steps ? remaining(samples + 2 * i * n, reference + 2 * i * n, n)
                         : std::complex<double>(0);
    };
    std::complex<double> before = 0, at = correlation(0);
    for (std::size_t i = 0; i < steps; ++i) {
        const std::complex<double> after = correlation(i + 1), sum = before + at + after;
        before = at;
        at = after;
        if (const double size = std::abs(sum); std::isfinite(size) && size > 0)
            rotate(samples + 2 * i * n,
                   std::complex<float>(sum / size),
                   n,
                   samples + 2 * i * n);
    }
}

double power_of(const float* samples, std::size_t n)
{
    return std::inner_product(samples, samples + 2 * n, samples, 0.0);
}

carrier::carrier(std::size_t samples,
                 std::size_t sps,
                 std::size_t behind,
                 float tolerated)
    : d_sps(sps), d_rotation(samples, true), d_phases(steps_ahead(behind), tolerated)
{
}

double carrier::phase_at(std::size_t sample) const
{
    const phase_line line = d_phases.in_use();
    const double since = static_cast<double>(sample) - static_cast<double>(d_middle);
    return d_ambiguity_phase + line.phase +
           line.growth * since / static_cast<double>(step * d_sps);
}

void carrier::begin(double frequency, double phase, std::size_t at, std::size_t sure)
{
    const double growth = 2 * M_PI * frequency * step;
    const double since = static_cast<double>(at) - static_cast<double>(d_middle);
    const double before = phase - growth * since / static_cast<double>(step * d_sps);
    d_ambiguity_phase = 0;
    d_phases.set({ static_cast<float>(std::remainder(before, 2 * M_PI)),
                   static_cast<float>(growth) },
                 sure);
}

void carrier::turn(double by, std::size_t first, std::size_t end)
{
    turn(by);
    const auto re = static_cast<float>(std::cos(by)),
               im = static_cast<float>(std::sin(by));
    for (std::size_t i = first; i < end; ++i)
        core::rotate(d_rotation.re[i], d_rotation.im[i], re, im);
}

void carrier::prepare(std::size_t first, std::size_t end)
{
    const phase_line line = d_phases.in_use();
    // In double precision, as the products accumulate over the samples of the step.
    std::complex<double> now = std::polar(1.0, phase_at(first));
    const std::complex<double> turn =
        std::polar(1.0, line.growth / static_cast<double>(step * d_sps));
    for (std::size_t i = first; i < end; ++i, now *= turn) {
        d_rotation.re[i] = static_cast<float>(now.real());
        d_rotation.im[i] = static_cast<float>(now.imag());
    }
}

std::complex<double>
carrier::compare(const float* expected, const float* rotated, std::size_t first) const
{
    std::complex<double> sum = 0;
    for (std::size_t i = 0; i < step * d_sps; ++i) {
        const std::complex<double> wanted(expected[2 * i], expected[2 * i + 1]);
        const std::complex<double> found(rotated[2 * i], rotated[2 * i + 1]);
        const std::complex<double> by(d_rotation.re[first + i], d_rotation.im[first + i]);
        sum += std::conj(wanted) * found * by;
    }
    return sum;
}

void carrier::measure(std::complex<double> sum, std::size_t first, phase_reference by)
{
    if (!std::isfinite(std::abs(sum)) || !(std::abs(sum) > 0))
        return skip(first);
    d_middle = middle_of(first);
    d_phases.measure(followed(std::arg(sum)), by);
}

void carrier::measure_by_means(const float* expected,
                               const float* rotated,
                               std::size_t first,
                               float power)
{
    const std::complex<double> taken_off = rotation(middle_of(first));
    const std::complex<double> sum = compare(expected, rotated, first);
    const double error = (sum * std::conj(taken_off)).imag() /
                         (double{ power } * static_cast<double>(step * d_sps));
    if (!std::isfinite(error))
        return skip(first);
    d_middle = middle_of(first);
    const double phase = std::arg(taken_off) + std::clamp(error, -most_error, most_error);
    d_phases.measure(followed(phase), phase_reference::means);
}

void carrier::skip(std::size_t first)
{
    d_middle = middle_of(first);
    d_phases.skip();
}

void carrier::rotate_back(
    const float* re, const float* im, std::size_t first, std::size_t n, float* to) const
{
    const float *c = &d_rotation.re[first], *s = &d_rotation.im[first];
    for (std::size_t i = 0; i < n; ++i) {
        to[2 * i] = re[i] * c[i] + im[i] * s[i];
        to[2 * i + 1] = im[i] * c[i] - re[i] * s[i];
    }
}

void carrier::turn_to(const phase_path& path,
                      const float* rotated,
                      std::size_t first,
                      std::size_t n,
                      float* to) const
{
    const auto samples = static_cast<double>(step * d_sps);
    const auto part = [&](std::size_t from, std::size_t end, float growth) { // in a step
        const double a_sample = growth / samples;
        const double since = static_cast<double>(from) - static_cast<double>(path.middle);
        double c = std::cos(path.line.phase + since * a_sample),
               s = std::sin(path.line.phase + since * a_sample);
        const double c_turn = std::cos(a_sample), s_turn = std::sin(a_sample);
        for (std::size_t i = from; i < end; ++i) {
            // Rotated forward by the old phase, and back by the new one, c + is.
            const auto re =
                static_cast<float>(d_rotation.re[i] * c + d_rotation.im[i] * s);
            const auto im =
                static_cast<float>(d_rotation.im[i] * c - d_rotation.re[i] * s);
            const std::size_t at = 2 * (i - first);
            to[at] = rotated[at] * re - rotated[at + 1] * im;
            to[at + 1] = rotated[at + 1] * re + rotated[at] * im;
            const double before = c;
            c = before * c_turn - s * s_turn;
            s = s * c_turn + before * s_turn;
        }
    };
    const std::size_t bend = std::clamp(path.middle, first, first + n);
    const float growth = path.line.growth;
    part(first, bend, growth + wrapped(path.line.phase - path.before - growth));
    part(bend, first + n, growth);
}

void carrier::rotate(planes& samples, std::size_t first, std::size_t n) const
{
    const float *c = &d_rotation.re[first], *s = &d_rotation.im[first];
    for (std::size_t i = 0; i < n; ++i)
        core::rotate(samples.re[i], samples.im[i], c[i], s[i]);
}

void carrier::move_back(std::size_t samples)
{
    std::copy(
        d_rotation.re.begin() + samples, d_rotation.re.end(), d_rotation.re.begin());
    std::copy(
        d_rotation.im.begin() + samples, d_rotation.im.end(), d_rotation.im.begin());
    d_middle -= std::min(d_middle, samples);
}

float carrier::frequency() const
{
    return d_phases.in_use().growth / static_cast<float>(2 * M_PI * step);
}

void carrier::state(archive& members, std::size_t first, std::size_t n)
{
    members("phases", d_phases);
    members("aside", d_ambiguity_phase);
    std::size_t middle = d_middle - std::min(d_middle, first);
    members("middle", middle);
    if (middle > d_rotation.re.size() - first)
        members.refuse("middle", "is out of range");
    if (d_middle != first + middle)
        d_middle = first + middle;
    members.numbers("rotation.re", &d_rotation.re[first], { n }, -1.01f, 1.01f);
    members.numbers("rotation.im", &d_rotation.im[first], { n }, -1.01f, 1.01f);
}

} // namespace gr::adann::core
