/* -*- c++ -*- */
/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/counting/error_counter.h"
#include <array>
#include <gnuradio/adann/ber_counter.h>
#include <memory>
#include <mutex>

namespace gr::adann {

class ber_counter_impl : public ber_counter
{
public:
    ber_counter_impl(const std::string& constellation,
                     std::size_t batch,
                     unsigned search);

    bool locked() const override;
    long delay() const override;
    unsigned symmetry() const override;
    std::string permuted() const override;
    unsigned long relocks() const override;
    unsigned long errors() const override;
    unsigned long bits() const override;
    double ber() const override;
    double gmi() const override;
    std::pair<double, double> interval() const override;
    void reset() override;

    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    struct input_state {
        bool done;     // upstream has finished
        int available; // labels in the buffer
    };
    input_state look_at(int input) const;
    std::optional<core::batch_result> next();
    void publish_batch(const core::batch_result& batch);
    void publish_lock();
    void warn_unaligned();

    const core::constellation d_alphabet;
    const std::size_t d_batch;
    const unsigned d_search;
    mutable std::mutex d_mutex; // guards the counter
    std::unique_ptr<core::error_counter> d_counter;

    // The scheduler ends a block without outputs as soon as one input is finished and
    // empty, even if the other has more to come. So the last label of each input stays in
    // its buffer after it was counted: the number of counted labels in the buffer.
    std::array<int, 2> d_taken{};
    std::array<bool, 2> d_ended{};
    bool d_posteriors = false; // whether they are connected
    bool d_more = false;       // whether there are more batches, as the output was full
    bool d_was_locked = false;
    std::uint64_t d_seen_relocks = 0;
    std::uint64_t d_unknown =
        0; // batches that were NaN at output 0 since there was a lock
    bool d_has_warned_unaligned = false;
    std::string d_was_permuted;
};

} // namespace gr::adann
