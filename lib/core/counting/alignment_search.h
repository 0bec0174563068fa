/* -*- c++ -*- */
/*
 * Which delay and which symmetry of the constellation, or which permutation of its labels,
 * relate decided labels to sent ones.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/counting/label_stream.h"
#include "core/signal/constellation.h"

#include <array>
#include <optional>

namespace gr::adann::core {

//! decided[i] is sent[i - delay] after symmetry number `symmetry`.
struct alignment {
    std::int64_t delay = 0;
    unsigned symmetry = 0;

    bool operator==(const alignment& other) const
    {
        return delay == other.delay && symmetry == other.symmetry;
    }
};

/*! Natural logarithm of one over (a bound of) the probability that `matches` or more of
 * `n` independent pairs agree where each does so with probability `chance`:
 * n·KL(matches/n ‖ chance), Chernoff's bound of the binomial tail. 0 where they agree no
 * more than by chance. */
double evidence(std::uint64_t matches, std::uint64_t n, double chance);

/*! Correlates a window of decided labels with sent ones at every delay and symmetry.
 *
 * The best of the 2·search + 1 delays times S symmetries counts as found if its agreement
 * has, by Chernoff's bound and Bonferroni's correction for having tried them all, a
 * probability below `false_alarm` on streams that have nothing to do with each other. The
 * agreement by chance is that of the very labels compared, randomly paired, so that
 * constant or unevenly used labels are not taken for an alignment. One of the streams must
 * be random (scrambled data): two different repeating patterns do not. Of alignments
 * that explain the labels equally well (a short repeating pattern) the one nearest to the
 * centre wins.
 */
class alignment_search
{
public:
    //! Probability of a false alarm per window.
    static constexpr double false_alarm = 1e-12;

    /*! \param alphabet gives the symmetries
     * \param search largest delay from the centre that is tried
     * \param longest longest window */
    alignment_search(const constellation& alphabet, unsigned search, std::size_t longest);

    struct match {
        alignment where;
        double chance;     //!< agreement of unrelated labels
        double error_rate; //!< of the symbols compared
    };

    /*! Searches for decided labels `from` … `from + length - 1`, at delays around `centre`.
     * Pairs whose sent label is not there are left out. */
    std::optional<match> find(const label_stream& decided,
                              std::int64_t from,
                              std::size_t length,
                              const label_stream& sent,
                              std::int64_t centre);

    //! Another order of the labels: [l] is the label decided for the sent label l.
    using order = std::vector<std::uint8_t>;
    struct permuted {
        order labels;
        double error_rate; //!< of the symbols compared
    };

    /*! The same where no symmetry but another order of the labels relates the streams, as
     * between two senders' bit mappings, or a mirrored constellation. All permutations of
     * up to 4 labels are tried. Of more labels it is the reflections, and the one that the
     * streams show: at the delay where pairs of a decided and a sent label recur most, each
     * sent label is the one that is decided most often with it. Bonferroni's correction is
     * for all permutations then.
     * \param search largest delay from the centre that is tried */
    std::optional<permuted> find_permuted(const label_stream& decided,
                                          std::int64_t from,
                                          std::size_t length,
                                          const label_stream& sent,
                                          std::int64_t centre,
                                          std::int64_t search);

    std::size_t symmetries() const { return d_undo.size(); }
    //! Label l as it was before symmetry s: undo(s)[l].
    const std::array<std::uint8_t, 256>& undo(unsigned s) const { return d_undo[s]; }

private:
    using tables = std::vector<std::array<std::uint8_t, 256>>;

    std::optional<match> best(const tables& undo,
                              const label_stream& decided,
                              std::int64_t from,
                              std::size_t length,
                              const label_stream& sent,
                              std::int64_t centre,
                              std::int64_t search);

    std::optional<permuted> shown(const label_stream& decided,
                                  std::int64_t from,
                                  std::size_t length,
                                  const label_stream& sent,
                                  std::int64_t centre,
                                  std::int64_t search);

    std::size_t d_labels;
    std::int64_t d_search;
    std::vector<order> d_permutations; // those that are tried
    std::vector<std::uint32_t>
        d_pairs; // how often each sent label meets each decided one
    tables d_undo;
    tables d_undo_permutation;
    std::vector<std::vector<std::uint8_t>> d_undone; // the window, without each of them
};

} // namespace gr::adann::core
