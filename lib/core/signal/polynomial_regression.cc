/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/signal/polynomial_regression.h"

namespace gr::adann::core {

polynomial_regression::polynomial_regression(unsigned sps, bool complex, unsigned memory)
    : d_shape(sps, complex, memory),
      d_sps(sps),
      d_step(memory_polynomial::spacing(sps)),
      d_planes(d_shape.planes()),
      d_monomials(memory_polynomial::monomials(complex)),
      d_sums(d_shape.unknowns(), d_planes),
      d_row(d_sums.unknowns(), 1.0),
      d_parts((2 * reach() + 1) * sps * d_planes),
      d_values((2 * reach() + 1) * sps * d_monomials)
{
}

void polynomial_regression::add(const float* affine, const float* rest)
{
    const std::size_t n = (2 * reach() + 1) * d_sps, taps = d_shape.taps();
    const float* const first = affine - reach() * d_sps * d_planes;
    for (std::size_t k = 0; k < n * d_planes; ++k)
        d_parts[k % d_planes * n + k / d_planes] = first[k];
    for (std::size_t which = 0; which < d_monomials; ++which)
        memory_polynomial::monomial(which,
                                    d_parts.data(),
                                    d_planes == 2 ? &d_parts[n] : nullptr,
                                    n,
                                    &d_values[which * n]);
    for (std::size_t j = 0; j < d_sps; ++j) {
        const std::size_t earliest = reach() * d_sps + j - memory() * d_step;
        for (std::size_t which = 0; which < d_monomials; ++which)
            for (std::size_t tap = 0; tap < taps; ++tap)
                d_row[1 + which * taps + tap] =
                    d_values[which * n + earliest + tap * d_step];
        d_sums.add(d_row.data(), rest + j * d_planes);
    }
}

} // namespace gr::adann::core
