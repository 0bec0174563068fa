/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/lost_decisions.h"

#include <cmath>

namespace gr::adann::core {

lost_decisions::lost_decisions(const tracked_stream& stream,
                               const constellation& alphabet,
                               const std::vector<float>& probabilities)
    : d_remembered(stream, alphabet, probabilities),
      d_labels(judge::symbols + 2 * stream.target.reach()),
      d_windows(stream.history.window_floats(d_labels.size()))
{
}

feature_view lost_decisions::windows(tracked_stream& stream,
                                     std::size_t n,
                                     std::size_t position,
                                     aligned_floats& scratch)
{
    const sample_history& history = stream.history;
    return d_by_remembered
               ? d_remembered.windows(stream, history.next(), n, position, scratch)
               : history.received_windows(history.next(), n, scratch);
}

void lost_decisions::test(tracked_stream& stream,
                          const network_decider& decides,
                          label_evidence& evidence)
{
    if (!d_remembered.remembers())
        return;
    const std::size_t n = d_labels.size();
    decides(d_remembered.windows(stream, stream.history.next() - n, n, 0, d_windows),
            d_labels.data());
    const float unfiltered = evidence.fit_unfiltered(stream);
    if (evidence.shows_signal())
        d_remembered.note_signal();
    const float held = evidence.fit(stream, d_labels.data());
    d_unfiltered_is_better = as_before * unfiltered < held;
    evidence.fit_latest(stream);
}

void lost_decisions::choose(bool lost)
{
    d_by_remembered = d_remembered.is_pause() ||
                      (lost && d_remembered.has_gap() && !d_unfiltered_is_better);
}

bool lost_decisions::goes_back(const tracked_stream& stream,
                               const resumption::tried& held,
                               bool was_in_use,
                               float limit) const
{
    const auto [mean, own] = stream.residual();
    const bool has_gap = d_remembered.has_gap();
    const bool rotates = stream.carrier && !stream.carrier->loop().idle();
    if (!held.explains || !(held.residual < limit) || !(has_gap || rotates))
        return false;
    if (was_in_use || !has_gap)
        return as_before * held.residual < own;
    return std::isnan(mean) ? !d_has_started : held.residual < as_before * own;
}

void lost_decisions::state(archive& members)
{
    d_remembered.state(members);
    members("holds", d_by_remembered);
    members("is_raw", d_unfiltered_is_better);
    members("has_started", d_has_started);
}

} // namespace gr::adann::core
