/* The kernels as plain loops, the reference in tests; also with products counted.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/simd/kernels.h"

#include <algorithm>
#include <cmath>

namespace gr::adann::core::simd {

namespace {

float multiply(float a, float b) { return a * b; }

float multiply_and_count(float a, float b)
{
    ++multiplications;
    return a * b;
}

using product = float (*)(float, float);

void split(const float* samples,
           std::size_t available,
           std::size_t stride,
           std::size_t columns,
           float* phases,
           std::size_t pitch)
{
    for (std::size_t p = 0; p < stride; ++p)
        for (std::size_t s = 0; s < columns; ++s)
            phases[p * pitch + s] =
                s * stride + p < available ? samples[s * stride + p] : 0.0f;
}

template <product times>
void affine(const float* weights,
            const float* biases,
            const float* start,
            std::size_t inputs,
            std::size_t outputs,
            const float* x,
            const std::uint32_t* row,
            activation then,
            const float* active,
            float* y)
{
    for (std::size_t o = 0; o < outputs; ++o)
        for (std::size_t t = 0; t < tile; ++t) {
            float sum = biases ? biases[o] : 0.0f;
            if (start)
                sum += start[o * tile + t];
            for (std::size_t i = 0; i < inputs; ++i)
                sum += times(weights[i * outputs + o], x[row[i] + t]);
            if ((then == activation::relu && !(sum > 0.0f)) ||
                (then == activation::masked && !(active[o * tile + t] > 0.0f)))
                sum = 0.0f;
            y[o * tile + t] = sum;
        }
}

template <product times>
void outer(const float* dy,
           std::size_t outputs,
           const float* x,
           const std::uint32_t* row,
           std::size_t inputs,
           float* sums)
{
    for (std::size_t o = 0; o < outputs; ++o)
        for (std::size_t i = 0; i < inputs; ++i)
            for (std::size_t t = 0; t < tile; ++t)
                sums[(o * inputs + i) * lanes + t % lanes] +=
                    times(dy[o * tile + t], x[row[i] + t]);
}

void row_sums(const float* dy, std::size_t outputs, float* sums)
{
    for (std::size_t o = 0; o < outputs; ++o)
        for (std::size_t t = 0; t < tile; ++t)
            sums[o * lanes + t % lanes] += dy[o * tile + t];
}

bool all_finite(const float* logits, std::size_t classes, std::size_t t)
{
    for (std::size_t j = 0; j < classes; ++j)
        if (!std::isfinite(logits[j * tile + t]))
            return false;
    return true;
}

std::size_t largest(const float* logits, std::size_t classes, std::size_t t)
{
    std::size_t best = 0;
    for (std::size_t j = 1; j < classes; ++j)
        if (logits[j * tile + t] > logits[best * tile + t])
            best = j;
    return best;
}

void softmax(const float* logits, std::size_t classes, float* posteriors)
{
    for (std::size_t t = 0; t < tile; ++t) {
        const bool valid = all_finite(logits, classes, t);
        const float top = logits[largest(logits, classes, t) * tile + t];
        float sum = 0;
        for (std::size_t j = 0; j < classes; ++j)
            sum += posteriors[j * tile + t] =
                valid ? std::exp(logits[j * tile + t] - top) : 1.0f;
        for (std::size_t j = 0; j < classes; ++j)
            posteriors[j * tile + t] /= sum;
    }
}

void argmax(const float* logits, std::size_t classes, std::uint8_t* labels)
{
    for (std::size_t t = 0; t < tile; ++t)
        labels[t] = all_finite(logits, classes, t) ? largest(logits, classes, t) : 0;
}

double cross_entropy(const float* logits,
                     const float* posteriors,
                     std::size_t classes,
                     const std::uint8_t* labels,
                     std::size_t n,
                     float* error)
{
    double loss = 0;
    std::fill_n(error, classes * tile, 0.0f);
    for (std::size_t t = 0; t < n; ++t) {
        const std::size_t label = labels[t];
        // The label's own p - 1 is taken from the other posteriors: exact near 1.
        double ratios = 0;
        float others = 0;
        for (std::size_t j = 0; j < classes; ++j)
            if (j != label) {
                ratios += std::exp(static_cast<double>(logits[j * tile + t]) -
                                   logits[label * tile + t]);
                others += error[j * tile + t] = posteriors[j * tile + t];
            }
        error[label * tile + t] = -others;
        loss += std::log1p(ratios);
    }
    return loss;
}

void posterior_change(const float* to,
                      const float* from,
                      std::size_t classes,
                      float* change)
{
    for (std::size_t t = 0; t < tile; ++t) {
        const std::size_t top = largest(from, classes, t);
        float others = 0;
        for (std::size_t j = 0; j < classes; ++j)
            if (j != top)
                others += change[j * tile + t] = to[j * tile + t] - from[j * tile + t];
        change[top * tile + t] = -others;
        float most = 0;
        for (std::size_t j = 0; j < classes; ++j)
            most = std::max(most, std::abs(change[j * tile + t]));
        for (std::size_t j = 0; j < classes && most > 0; ++j)
            change[j * tile + t] /= most;
    }
}

void differences(
    const float* even, const float* odd, std::size_t n, float* same, float* next)
{
    for (std::size_t i = 0; i < n; ++i) {
        same[i] = even[i] - odd[i];
        next[i] = even[i + 1] - odd[i];
    }
}

void rectify(const float* x, std::size_t rows, float* y)
{
    for (std::size_t i = 0; i < rows * tile; ++i)
        y[i] = std::max(x[i], 0.0f);
}

template <product times>
void set_length(
    const float* x, const std::uint32_t* row, std::size_t rows, float length, float* y)
{
    for (std::size_t t = 0; t < tile; ++t) {
        float squares = 0;
        for (std::size_t k = 0; k < rows; ++k)
            squares += times(y[k * tile + t], y[k * tile + t]);
        const float scale = squares > 0 ? length / std::sqrt(squares) : 0.0f;
        for (std::size_t k = 0; k < rows; ++k)
            y[k * tile + t] = (x ? x[row[k] + t] : 0.0f) + times(y[k * tile + t], scale);
    }
}

void logarithm(const float* x, std::size_t n, float* y)
{
    for (std::size_t i = 0; i < n; ++i)
        y[i] = std::log(x[i]);
}

template <product times>
void slide(const float* const* a,
           std::size_t rows,
           std::size_t n,
           const float* x,
           std::size_t step,
           std::size_t columns,
           float keep,
           float* const* y)
{
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t l = 0; l < columns; ++l) {
            float sum = keep != 0 ? times(keep, y[r][l]) : 0.0f;
            for (std::size_t i = 0; i < n; ++i)
                sum += times(a[r][i], x[i * step + l]);
            y[r][l] = sum;
        }
}

std::uint32_t rotate_left(std::uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

// xoshiro128++ by Blackman and Vigna (2019), one stream.
std::uint32_t next(noise_state& state, std::size_t l)
{
    auto& w = state.words;
    const std::uint32_t result = rotate_left(w[0][l] + w[3][l], 7) + w[0][l];
    const std::uint32_t t = w[1][l] << 9;
    w[2][l] ^= w[0][l];
    w[3][l] ^= w[1][l];
    w[1][l] ^= w[2][l];
    w[0][l] ^= w[3][l];
    w[2][l] ^= t;
    w[3][l] = rotate_left(w[3][l], 11);
    return result;
}

template <product times>
float dot(const float* a, const float* b, std::size_t n)
{
    float sum = 0;
    for (std::size_t i = 0; i < n; ++i)
        sum += b ? times(a[i], b[i]) : a[i];
    return sum;
}

template <product times>
void covariance_rows(
    const float* x, std::size_t n, std::size_t taps, std::size_t pitch, float* matrix)
{
    for (std::size_t k = 1; k < taps; ++k) {
        float* const row = matrix + k * pitch;
        row[0] = matrix[k];
        for (std::size_t j = 1; j < taps; ++j)
            row[j] = row[j - 1 - pitch] - times(x[k - 1], x[j - 1]) +
                     times(x[k - 1 + n], x[j - 1 + n]);
        std::fill(row + taps, row + pitch, 0.0f);
    }
}

// The uppermost bit is the sign, the others the uniform number.
double radius(std::uint32_t bits)
{
    const float uniform = static_cast<float>((bits & 0x7fffffffu) | 1) * 0x1p-31f;
    const double size = std::sqrt(-2 * std::log(static_cast<double>(uniform)));
    return bits >> 31 ? -size : size;
}

/* Box-Muller: of three random words two give a radius each, with a sign, and one both
 * angles, as a number from -2^31 to 2^31 - 1 that stands for -90 to 90 degrees. */
void normal(noise_state& state, float* out)
{
    for (std::size_t first = 0; first < tile; first += 4 * lanes)
        for (std::size_t l = 0; l < lanes; ++l) {
            float* to = out + first + l;
            const double radii[] = { radius(next(state, l)), radius(next(state, l)) };
            const std::uint32_t angles = next(state, l);
            for (int i = 0; i < 2; ++i, to += 2 * lanes) {
                const double angle =
                    M_PI / 2 * 0x1p-31 * static_cast<std::int32_t>(angles << (16 * i));
                to[0] = static_cast<float>(radii[i] * std::cos(angle));
                to[lanes] = static_cast<float>(radii[i] * std::sin(angle));
            }
        }
}

template <product times>
void add_noise(noise_state& state,
               const float* x,
               const std::uint32_t* row,
               std::size_t rows,
               float scale,
               float* y)
{
    for (std::size_t k = 0; k < rows; ++k) {
        float numbers[tile];
        normal(state, numbers);
        for (std::size_t t = 0; t < tile; ++t)
            y[k * tile + t] = (x ? x[row[k] + t] : 0.0f) + times(scale, numbers[t]);
    }
}

template <product times>
constexpr kernels table(const char* name)
{
    kernels all{};
    all.name = name;
    all.split = split;
    all.affine = affine<times>;
    all.outer = outer<times>;
    all.row_sums = row_sums;
    all.softmax = softmax;
    all.argmax = argmax;
    all.cross_entropy = cross_entropy;
    all.posterior_change = posterior_change;
    all.differences = differences;
    all.rectify = rectify;
    all.set_length = set_length<times>;
    all.logarithm = logarithm;
    all.add_noise = add_noise<times>;
    all.slide = slide<times>;
    all.dot = dot<times>;
    all.covariance_rows = covariance_rows<times>;
    all.add_compare_select = plain_add_compare_select;
    all.integers = &plain_integers;
    return all;
}

} // namespace

const kernels plain = table<multiply>("plain");
const kernels counting = table<multiply_and_count>("counting");

thread_local std::size_t multiplications = 0;

} // namespace gr::adann::core::simd
