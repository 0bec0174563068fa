/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/iq_correction.h"

#include "core/common/complex.h"

#include <string>
#include <utility>

namespace gr::adann::core {

namespace {

constexpr std::size_t stale =
    8; // blocks after a change that may be corrected by the old value
constexpr std::size_t least = stale + 64; // blocks from a change to the next one
constexpr float keep = 1 - 1.0f / 1024;   // of the sums, per block
constexpr float significant = 16;         // squared deviations
constexpr float image_part = 2.0f / 3;    // of an image's estimate that is applied
constexpr float most = 1;                 // largest coefficient: no impairment makes more

} // namespace

void iq_correction::estimate::add(float kept, std::complex<float> more, float of_power)
{
    sum = kept * sum + more;
    scatter = kept * kept * scatter + std::norm(more);
    power = kept * power + of_power;
}

bool iq_correction::estimate::take(float part)
{
    if (!(std::norm(sum) > significant * scatter) || !(power > 0))
        return false;
    const std::complex<float> more = part * sum / power;
    if (std::norm(taken + more) < most * most)
        taken += more;
    return true;
}

void iq_correction::apply(float* re, float* im, std::size_t n) const
{
    const float a = 1 - d_image.taken.real(), b = d_image.taken.imag(),
                d = 1 + d_image.taken.real();
    const float c = d_constant.taken.real(), s = d_constant.taken.imag();
    for (std::size_t i = 0; i < n; ++i) {
        const float x = re[i], y = im[i];
        re[i] = a * x - b * y - c;
        im[i] = d * y - b * x - s;
    }
}

void iq_correction::learn(const signal_planes& x,
                          const signal_planes& residual,
                          std::size_t first,
                          std::size_t apart,
                          std::size_t n)
{
    if (++d_blocks <= stale)
        return;
    std::complex<float> image = 0, constant = 0;
    float power = 0;
    for (std::size_t i = first; i < first + n * apart; i += apart) {
        const std::complex<float> sample(x.re[i], x.im[i]),
            e(residual.re[i], residual.im[i]);
        image -= times(e, sample);
        constant -= e;
        power += std::norm(sample);
    }
    if (d_is_proper)
        d_image.add(keep, image, power);
    d_constant.add(keep, constant, static_cast<float>(n));
    if (d_blocks < least)
        return;
    const bool has_image = d_image.take(image_part), has_constant = d_constant.take(1);
    if (!has_image && !has_constant)
        return;
    d_blocks = 0;
    d_image = { d_image.taken };
    d_constant = { d_constant.taken };
}

void iq_correction::state(archive& members)
{
    static_assert(sizeof(std::complex<float>) == 2 * sizeof(float));
    const auto complex = [&](const std::string& name, std::complex<float>& value) {
        members.numbers(name, reinterpret_cast<float*>(&value), { 2 });
    };
    for (auto [name, each] :
         { std::pair("image", &d_image), { "constant", &d_constant } }) {
        const std::string prefix = name;
        complex(prefix, each->taken);
        if (!(std::norm(each->taken) <= most * most))
            members.refuse(name, "is more than " + std::to_string(most));
        complex(prefix + ".sum", each->sum);
        members(prefix + ".scatter", each->scatter);
        members(prefix + ".power", each->power);
    }
    members("blocks", d_blocks);
}

} // namespace gr::adann::core
