/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ber_counter_impl.h"

#include "core/counting/code_rates.h"

#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/io_signature.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace gr::adann {

namespace {

const pmt::pmt_t port = pmt::mp("ber");
// Symbols without a delay found after which it warns: longer than the start of a receiver.
constexpr std::uint64_t long_enough = 300'000;
constexpr std::size_t longest_permutation = 80; // characters of a permutation

// A dictionary that takes its entries one by one.
class dictionary
{
public:
    dictionary& add(const char* key, const pmt::pmt_t& value)
    {
        d_dict = pmt::dict_add(d_dict, pmt::mp(key), value);
        return *this;
    }
    dictionary& add(const char* key, std::uint64_t value)
    {
        return add(key, pmt::from_uint64(value));
    }
    dictionary& add(const char* key, double value)
    {
        return add(key, pmt::from_double(value));
    }
    dictionary& add(const core::alignment& where)
    {
        add("delay", pmt::from_long(where.delay));
        return add("symmetry", pmt::from_long(where.symmetry));
    }
    operator const pmt::pmt_t&() const { return d_dict; }

private:
    pmt::pmt_t d_dict = pmt::make_dict();
};

} // namespace

ber_counter::sptr
ber_counter::make(const std::string& constellation, std::size_t batch, unsigned search)
{
    return gnuradio::make_block_sptr<ber_counter_impl>(constellation, batch, search);
}

ber_counter_impl::ber_counter_impl(const std::string& constellation,
                                   std::size_t batch,
                                   unsigned search)
    : gr::block("adann_ber_counter",
                gr::io_signature::make3(2,
                                        3,
                                        sizeof(std::uint8_t),
                                        sizeof(std::uint8_t),
                                        sizeof(float) *
                                            core::constellation(constellation).size()),
                gr::io_signature::make(0, 1, sizeof(float))),
      d_alphabet(constellation),
      d_batch(batch),
      d_search(search),
      d_counter(std::make_unique<core::error_counter>(d_alphabet, batch, search))
{
    set_tag_propagation_policy(TPP_DONT);
    message_port_register_out(port);
}

bool ber_counter_impl::start()
{
    std::scoped_lock guard(d_mutex);
    d_posteriors = detail()->ninputs() > 2;
    d_counter = std::make_unique<core::error_counter>(
        d_alphabet, d_batch, d_search, d_posteriors);
    d_taken = {};
    d_ended = {};
    d_more = false;
    d_was_locked = false;
    d_seen_relocks = 0;
    d_was_permuted.clear();
    d_unknown = 0;
    d_has_warned_unaligned = false;
    return block::start();
}

bool ber_counter_impl::stop()
{
    std::scoped_lock guard(d_mutex);
    d_counter->end_decided();
    d_counter->end_sent();
    while (next())
        ;
    if (d_counter->passed() && !d_counter->totals().bits)
        warn_unaligned();
    return block::stop();
}

ber_counter_impl::input_state ber_counter_impl::look_at(int input) const
{
    const auto look = [this](int one) -> input_state {
        const auto reader = detail()->input(one);
        gr::thread::scoped_lock guard(*reader->mutex());
        return { reader->done(), reader->items_available() };
    };
    const input_state labels = look(input);
    if (input != 0 || !d_posteriors)
        return labels;
    // A decided label is there when its posteriors are.
    const input_state rows = look(2);
    const int both = std::min(labels.available, rows.available);
    return { (labels.done && both == labels.available) ||
                 (rows.done && both == rows.available),
             both };
}

// Inputs are taken independently. If there is nothing to do, this names the input to wait for.
void ber_counter_impl::forecast(int, gr_vector_int& required)
{
    std::scoped_lock guard(d_mutex);
    std::fill(required.begin(), required.end(), 0);
    const std::size_t room[] = { d_counter->room_decided(), d_counter->room_sent() };
    for (int i = 0; i < 2; ++i) {
        const auto [done, available] = look_at(i);
        const bool fresh = available > d_taken[i];
        if (d_more || (fresh && room[i]) || (!fresh && done && !d_ended[i]))
            return;
    }
    if (d_counter->lacks_decided())
        required[0] = d_taken[0] + 1;
    if (d_counter->lacks_sent())
        required[1] = d_taken[1] + 1;
    if (d_posteriors)
        required[2] = required[0];
}

int ber_counter_impl::general_work(int noutput_items,
                                   gr_vector_int& ninput_items,
                                   gr_vector_const_void_star& input_items,
                                   gr_vector_void_star& output_items)
{
    std::scoped_lock guard(d_mutex);
    for (int i = 0; i < 2; ++i) {
        const auto labels = static_cast<const std::uint8_t*>(input_items[i]) + d_taken[i];
        const bool has_rows = i == 0 && d_posteriors;
        const int there =
            has_rows ? std::min(ninput_items[0], ninput_items[2]) : ninput_items[i];
        const int fresh = there - d_taken[i];
        const float* posteriors = has_rows ? static_cast<const float*>(input_items[2]) +
                                                 d_taken[0] * d_alphabet.size()
                                           : nullptr;
        const int taken = i == 0 ? d_counter->append_decided(labels, fresh, posteriors)
                                 : d_counter->append_sent(labels, fresh);
        // Once upstream is done, what is in the buffer is all there will be.
        const auto [done, available] = look_at(i);
        d_ended[i] = done && available == d_taken[i] + taken;
        if (d_ended[i])
            i == 0 ? d_counter->end_decided() : d_counter->end_sent();

        const int seen = d_taken[i] + taken;
        d_taken[i] = std::min(seen, 1);
        consume(i, seen - d_taken[i]);
        if (has_rows)
            consume(2, seen - d_taken[i]);
    }

    auto ber = output_items.empty() ? nullptr : static_cast<float*>(output_items[0]);
    int produced = 0;
    for (;;) {
        d_more = ber && produced == noutput_items;
        if (d_more)
            return produced;
        if (const auto batch = next()) {
            if (ber)
                ber[produced++] = static_cast<float>(batch->counts.ber());
            continue;
        }
        // One NaN for each batch without an alignment.
        const std::uint64_t unknown = d_counter->passed() / d_batch;
        d_unknown = std::min(d_unknown, unknown);
        if (!ber || d_unknown == unknown)
            break;
        ber[produced++] = std::numeric_limits<float>::quiet_NaN();
        ++d_unknown;
    }
    const bool finished = !d_counter->lacks_decided() && !d_counter->lacks_sent();
    return finished && !produced ? WORK_DONE : produced;
}

// The next batch of the counter, after the messages of what happened up to it.
std::optional<core::batch_result> ber_counter_impl::next()
{
    const auto batch = d_counter->next();
    if (batch)
        publish_batch(*batch);
    const auto permuted = core::describe_permutation(d_counter->permutation());
    if (permuted != d_was_permuted && !permuted.empty())
        d_logger->warn(
            "labels are permuted ({}{}): what the sender and this receiver call a "
            "label differs, errors are not counted",
            permuted.substr(0, longest_permutation),
            permuted.size() > longest_permutation ? "..." : "");
    if (d_counter->locked() != d_was_locked || d_counter->relocks() != d_seen_relocks ||
        permuted != d_was_permuted) {
        d_was_permuted = permuted;
        publish_lock();
    }
    if (d_counter->passed() >= long_enough)
        warn_unaligned();
    else if (d_was_locked)
        d_has_warned_unaligned = false;
    return batch;
}

// Warns once, until there is a lock. Permuted labels have a warning of their own.
void ber_counter_impl::warn_unaligned()
{
    if (std::exchange(d_has_warned_unaligned, true) || !d_was_permuted.empty())
        return;
    d_logger->warn("no delay up to {:d} symbols found at which decided and sent labels "
                   "agree, nothing is counted: is the Search long enough, are both of "
                   "the same data, and the labels in the same order?",
                   d_search);
    publish_lock();
}

void ber_counter_impl::publish_batch(const core::batch_result& batch)
{
    const auto [low, high] = batch.counts.ci95();
    const core::error_counts& totals = d_counter->totals();
    dictionary message;
    if (d_posteriors)
        message.add("gmi", batch.counts.gmi())
            .add("ngmi", batch.counts.ngmi())
            .add("code_rate", pmt::intern(core::highest_code_rate(batch.counts.ngmi())))
            .add("total_gmi", totals.gmi());
    message_port_pub(port,
                     message.add("batch", batch.index)
                         .add("first", batch.first)
                         .add(batch.where)
                         .add("symbols", batch.counts.symbols)
                         .add("symbol_errors", batch.counts.symbol_errors)
                         .add("bits", batch.counts.bits)
                         .add("bit_errors", batch.counts.bit_errors)
                         .add("ber", batch.counts.ber())
                         .add("ci95_low", low)
                         .add("ci95_high", high)
                         .add("smoothed_ber", batch.smoothed.ber())
                         .add("total_bits", totals.bits)
                         .add("total_bit_errors", totals.bit_errors)
                         .add("total_ber", totals.ber()));
}

void ber_counter_impl::publish_lock()
{
    d_was_locked = d_counter->locked();
    d_seen_relocks = d_counter->relocks();
    message_port_pub(port,
                     dictionary()
                         .add("locked", pmt::from_bool(d_was_locked))
                         .add(d_counter->where())
                         .add("relocks", d_seen_relocks)
                         .add("permuted", pmt::intern(d_was_permuted)));
}

bool ber_counter_impl::locked() const
{
    std::scoped_lock guard(d_mutex);
    return d_counter->locked();
}

long ber_counter_impl::delay() const
{
    std::scoped_lock guard(d_mutex);
    return d_counter->where().delay;
}

unsigned ber_counter_impl::symmetry() const
{
    std::scoped_lock guard(d_mutex);
    return d_counter->where().symmetry;
}

std::string ber_counter_impl::permuted() const
{
    std::scoped_lock guard(d_mutex);
    return core::describe_permutation(d_counter->permutation());
}

unsigned long ber_counter_impl::relocks() const
{
    std::scoped_lock guard(d_mutex);
    return d_counter->relocks();
}

unsigned long ber_counter_impl::errors() const
{
    std::scoped_lock guard(d_mutex);
    return d_counter->totals().bit_errors;
}

unsigned long ber_counter_impl::bits() const
{
    std::scoped_lock guard(d_mutex);
    return d_counter->totals().bits;
}

double ber_counter_impl::ber() const
{
    std::scoped_lock guard(d_mutex);
    return d_counter->totals().ber();
}

double ber_counter_impl::gmi() const
{
    std::scoped_lock guard(d_mutex);
    return d_counter->totals().gmi();
}

std::pair<double, double> ber_counter_impl::interval() const
{
    std::scoped_lock guard(d_mutex);
    const auto [low, high] = d_counter->totals().ci95();
    return { low, high };
}

void ber_counter_impl::reset()
{
    std::scoped_lock guard(d_mutex);
    d_counter->reset();
}

} // namespace gr::adann
