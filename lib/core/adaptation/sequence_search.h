/* -*- c++ -*- */
/*
 * Labels of several symbols that are changed together.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/label_trellis.h"

#include <array>
#include <vector>

namespace gr::adann::core {

/*! Looks for label sequences that explain the samples better where a descent ends: there, each change of a
 * label, or of two, makes it worse. A label_trellis proposes the most probable labels of a window; the whole
 * waveform decides (label_descent::try_sequence()). Nothing is allocated after construction. */
class sequence_search
{
public:
    static constexpr std::size_t window = label_trellis::window;
    static_assert(window <= label_descent::most_together);
    //! Symbols by which one window starts after another.
    static constexpr std::size_t step = label_trellis::block;

    explicit sequence_search(const constellation& symbols);

    //! The signal from now on.
    void use(const label_descent& signal) { d_trellis.use(signal, true, 0); }
    //! Whether responses overlap so much that a descent over single labels and pairs is hardly worth it.
    bool is_coupled() const { return d_trellis.is_coupled(); }
    /*! Looks at a window.
     * \param first of its symbols: those from `step` on are decided
     * \param changed called with the first and the last symbol of each sequence that was changed
     * \return number of labels that are others */
    template <typename Changed>
    std::size_t visit(label_descent& descent,
                      const label_descent::stretch& all,
                      std::size_t first,
                      Changed changed);

private:
    // Right labels between two sequences, symbols: after these their changes hardly meet.
    static constexpr std::size_t apart = label_trellis::memory;

    void
    propose(label_descent& descent, const label_descent::stretch& all, std::size_t first);

    label_trellis d_trellis;
    std::array<label_descent::match, window> d_matches;
    std::array<label_descent::choice, window> d_proposed;
    std::size_t d_count = 0; // of them
};

template <typename Changed>
std::size_t sequence_search::visit(label_descent& descent,
                                   const label_descent::stretch& all,
                                   std::size_t first,
                                   Changed changed)
{
    propose(descent, all, first);
    std::size_t gained = 0;
    for (std::size_t i = 0, end; i < d_count; i = end) {
        for (end = i + 1; end < d_count &&
                          d_proposed[end].symbol <= d_proposed[end - 1].symbol + apart;
             ++end)
            ;
        if (descent.try_sequence(all, &d_proposed[i], end - i)) {
            changed(d_proposed[i].symbol, d_proposed[end - 1].symbol);
            gained += end - i;
        }
    }
    return gained;
}

} // namespace gr::adann::core
