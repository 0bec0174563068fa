/* -*- c++ -*- */
/*
 * The inner loops of inference and training: one table of functions per instruction set.
 *
 * All of them work on a tile: `tile` neighbouring symbols, one row per feature or neuron.
 * A row is `tile` floats; where rows are not simply one after the other, `row[i]` says
 * where row i starts. Every loop runs over symbols, so layer widths need not be multiples
 * of the vector's.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/simd/integer_kernels.h"
#include "core/simd/trellis_kernels.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gr::adann::core::simd {

constexpr std::size_t tile = 128; //!< symbols
constexpr std::size_t lanes =
    16; //!< of partial sums and of noise, whatever the vector's length

constexpr std::size_t whole_lanes(std::size_t n)
{
    return (n + lanes - 1) / lanes * lanes;
}

//! xoshiro128++ in `lanes` interleaved streams.
struct noise_state {
    std::uint32_t words[4][lanes];
};

//! What becomes of W x + b.
enum class activation {
    none,
    relu,
    masked, //!< kept where `active` is above zero, else zero: the way back through a ReLU
};

//! W x, as `affine` has it below.
struct weighted_rows {
    const float* weights;
    std::size_t inputs;
    const float* x;
    const std::uint32_t* row;
};

//! A layer, as `affine` has it below.
struct dense_layer {
    const float* weights;
    const float* biases;
    std::size_t outputs;
};

/*! The network on two tiles, the even and the odd symbols, whose first layers have a sum
 * in common (fast_fir.h). All layers but the last have the same number of outputs.
 *
 * \param common, biases of that sum
 * \param own what is added to it, two
 * \param rest `count` layers after the first one, at least one
 * \param columns of the tiles that are wanted; the others' labels and logits may be
 * anything
 * \param labels two tiles: the row of the largest logit; any row if one is NaN
 * \param logits null, or two tiles of rows */
using narrow_kernel = void(const weighted_rows& common,
                           const float* biases,
                           const weighted_rows* own,
                           const dense_layer* rest,
                           std::size_t count,
                           std::size_t columns,
                           std::uint8_t (*labels)[tile],
                           float* const* logits);

constexpr std::size_t most_sliding_rows = 4;

//! How many outputs a layer may have, except the last one.
constexpr std::size_t narrowest = 2, widest_narrow = 10;

struct kernels {
    const char* name;

    /*! Sorts a stream by phase: phases[p * pitch + s] = samples[s * stride + p] for s <
     * columns; zero from samples[available] on. Feature k of symbol t is then phases[(k %
     * stride) * pitch + k / stride + t]: no feature vector is ever copied. */
    void (*split)(const float* samples,
                  std::size_t available,
                  std::size_t stride,
                  std::size_t columns,
                  float* phases,
                  std::size_t pitch);

    /*! y = W x + b + c, `outputs` rows.
     * \param weights (inputs, outputs): Wᵀ row by row
     * \param biases b, null for none
     * \param start c, rows as y, null for none
     * \param active rows as y, for activation::masked only */
    void (*affine)(const float* weights,
                   const float* biases,
                   const float* start,
                   std::size_t inputs,
                   std::size_t outputs,
                   const float* x,
                   const std::uint32_t* row,
                   activation then,
                   const float* active,
                   float* y);

    //! narrow_kernel for `narrowest` to `widest_narrow` outputs, or null: too few
    //! registers.
    narrow_kernel* const* narrow_pairs;

    /*! Adds dy xᵀ to `sums`, (outputs, inputs, lanes): partial sums over the symbols, to
     * be added up over the lanes when the batch is done. */
    void (*outer)(const float* dy,
                  std::size_t outputs,
                  const float* x,
                  const std::uint32_t* row,
                  std::size_t inputs,
                  float* sums);

    //! Adds the rows of dy to `sums`, (outputs, lanes): the biases' gradient.
    void (*row_sums)(const float* dy, std::size_t outputs, float* sums);

    //! Softmax over `classes` rows. A symbol with a logit that is not finite gets 1 /
    //! classes.
    void (*softmax)(const float* logits, std::size_t classes, float* posteriors);

    //! The row of the largest value, the first of equals; 0 if one is not finite.
    void (*argmax)(const float* logits, std::size_t classes, std::uint8_t* labels);

    /*! Cross-entropy of the first n symbols and its gradient by the logits; zero for the
     * others.
     * \return the sum of the losses, natural log */
    double (*cross_entropy)(const float* logits,
                            const float* posteriors,
                            std::size_t classes,
                            const std::uint8_t* labels,
                            std::size_t n,
                            float* error);

    /*! to - from of two softmaxes, each symbol's column scaled so that its largest
     * element is ±1, unless all are zero: a gradient's direction, whose squares do not
     * vanish where a decision is sure. The element of `from`'s largest class is taken
     * from the others': near 1 a difference of two posteriors would have lost its digits.
     */
    void (*posterior_change)(const float* to,
                             const float* from,
                             std::size_t classes,
                             float* change);

    //! even[i] - odd[i] and even[i + 1] - odd[i] for i < n, n a multiple of `lanes`.
    void (*differences)(
        const float* even, const float* odd, std::size_t n, float* same, float* next);

    //! y = max(x, 0) for whole rows.
    void (*rectify)(const float* x, std::size_t rows, float* y);

    /*! y = x + each symbol's column of y scaled to the given length; a zero column stays
     * zero. The columns' squares must neither vanish nor overflow.
     * \param x rows, null for none */
    void (*set_length)(const float* x,
                       const std::uint32_t* row,
                       std::size_t rows,
                       float length,
                       float* y);

    //! y = ln x for n normal numbers above zero, n a multiple of `lanes`.
    void (*logarithm)(const float* x, std::size_t n, float* y);

    /*! y = x + scale · n, n the next rows × tile standard normal numbers: see
     * gaussian_noise.
     * \param x rows, null for none; may be y */
    void (*add_noise)(noise_state& state,
                      const float* x,
                      const std::uint32_t* row,
                      std::size_t rows,
                      float scale,
                      float* y);

    /*! y[r][l] = keep · y[r][l] + Σ_{i < n} a[r][i] · x[i · step + l] for r < rows and l <
     * columns: `rows` products with a matrix that slides by `step` floats. With step 1
     * that is a filter (its taps in `a`) or correlations (a signal in `a`, l the lag).
     * Every sum adds up in the order of i: wherever it comes in a row, it is the same to
     * the bit.
     * \param rows 1 to most_sliding_rows
     * \param columns a multiple of `lanes`
     * \param keep with 0, y may hold anything */
    void (*slide)(const float* const* a,
                  std::size_t rows,
                  std::size_t n,
                  const float* x,
                  std::size_t step,
                  std::size_t columns,
                  float keep,
                  float* const* y);

    //! Σ a[i] b[i] for i < n; Σ a[i] without b.
    float (*dot)(const float* a, const float* b, std::size_t n);

    /*! Of the matrix of sums over n windows, Σ_{i < n} x[i + k] x[i + j] in row k and column j, the
     * rows after the first one, each of which follows from the one before it: the window's
     * first sample goes out, the one after its last comes in. Columns from `taps` on become zero.
     * \param x n + taps - 1 samples; `lanes` more can be read
     * \param matrix (taps, pitch), its first row known \param pitch a multiple of `lanes` */
    void (*covariance_rows)(const float* x,
                            std::size_t n,
                            std::size_t taps,
                            std::size_t pitch,
                            float* matrix);

    //! Steps of the Viterbi algorithm: see trellis_kernels.h.
    trellis_kernel* add_compare_select;

    //! Those of quantised networks: see integer_kernels.h.
    const integer_kernels* integers;
};

//! The plain loops that everything else is compared with.
extern const kernels plain;

/*! The same, which count what they multiply: products, and vectors scaled. Softmax, loss
 * and the drawing of noise are not counted. */
extern const kernels counting;
extern thread_local std::size_t multiplications; //!< by `counting`, in this thread

//! The tables that this machine can run: plain, baseline, and avx2, avx512, avx512vnni if
//! it has them.
const std::vector<const kernels*>& available();

/*! The fastest of them, chosen at the first call. The environment variable ADANN_ISA
 * names another one.
 * \throws std::invalid_argument if this machine cannot run that */
const kernels& active();

} // namespace gr::adann::core::simd
