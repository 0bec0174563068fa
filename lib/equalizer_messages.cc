/* The equalizer's message ports: control in, status out, and what it logs.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "equalizer_impl.h"

#include "core/common/printable.h"

#include <cmath>
#include <optional>
#include <utility>

namespace gr::adann {

namespace {
const pmt::pmt_t status_port = pmt::mp("status");
const pmt::pmt_t control_port = pmt::mp("control");
const pmt::pmt_t known_port = pmt::mp("known");
const pmt::pmt_t position_key = pmt::mp("position");
constexpr double drops_grow = 10; // the share that is trained on, since it was told

// A real number of any type.
std::optional<double> real(const pmt::pmt_t& value)
{
    if (pmt::is_uint64(value)) // to_double() does not know it
        return static_cast<double>(pmt::to_uint64(value));
    return pmt::is_real(value) || pmt::is_integer(value)
               ? std::optional(pmt::to_double(value))
               : std::nullopt;
}

// As widgets send it: a boolean, or 0 and 1.
std::optional<bool> truth(const pmt::pmt_t& value)
{
    if (pmt::is_bool(value))
        return pmt::to_bool(value);
    const auto number = real(value);
    return number == 0 || number == 1 ? std::optional(number == 1) : std::nullopt;
}
} // namespace

void equalizer_impl::register_ports()
{
    message_port_register_out(status_port);
    message_port_register_in(control_port);
    set_msg_handler(control_port,
                    [this](const pmt::pmt_t& message) { control(message); });
    message_port_register_in(known_port);
    set_msg_handler(known_port,
                    [this](const pmt::pmt_t& message) { take_packet(message); });
}

// In the block's thread, between two calls of work().
void equalizer_impl::take_packet(const pmt::pmt_t& message)
{
    const auto refuse = [&](const std::string& why) {
        if (d_refused_packets.allows())
            d_logger->warn("known packet: {:s}{:s}", why, d_refused_packets.left_out());
    };
    const bool is_pair = pmt::is_pair(message);
    pmt::pmt_t position = is_pair ? pmt::car(message) : pmt::PMT_NIL;
    if (pmt::is_dict(position))
        position = pmt::dict_ref(position, position_key, pmt::PMT_NIL);
    const bool is_number = pmt::is_uint64(position) ||
                           (pmt::is_integer(position) && pmt::to_long(position) >= 0);
    if (!is_number)
        return refuse(
            "position is " + core::printable(pmt::write_string(position)) +
            ", allowed: a whole number of 0 or more, the packet's first symbol");
    if (!pmt::is_u8vector(pmt::cdr(message)))
        return refuse("labels are no u8vector");
    try {
        d_core.take_packet(pmt::is_uint64(position)
                               ? pmt::to_uint64(position)
                               : static_cast<std::uint64_t>(pmt::to_long(position)),
                           pmt::u8vector_elements(pmt::cdr(message)));
    } catch (const std::invalid_argument& error) {
        refuse(error.what());
    }
}

// In the block's thread, between two calls of work().
void equalizer_impl::control(const pmt::pmt_t& message)
{
    const auto refuse = [&](const pmt::pmt_t& what, const std::string& why) {
        if (d_refusals.allows())
            d_logger->warn("control message is {:s}, {:s}{:s}",
                           core::printable(pmt::write_string(what)),
                           why,
                           d_refusals.left_out());
    };
    pmt::pmt_t commands = message;
    if (pmt::is_dict(message))
        commands = pmt::dict_items(message);
    else
        commands = pmt::list1(message);
    for (; pmt::is_pair(commands); commands = pmt::cdr(commands)) {
        const pmt::pmt_t command = pmt::car(commands);
        const bool pair = pmt::is_pair(command);
        const pmt::pmt_t word = pair ? pmt::car(command) : command;
        try {
            if (!pmt::is_symbol(word) ||
                !obey(pmt::symbol_to_string(word), pair ? pmt::cdr(command) : pmt::PMT_T))
                refuse(command,
                       "allowed: freeze, resume, reset, (freeze . bool), (front_filter . "
                       "bool), (learning_rate . number), (sigma . number), (epsilon . "
                       "number), (loss . name), (load . path), (save . path), or a "
                       "dictionary of these");
        } catch (const std::invalid_argument& error) {
            refuse(command, error.what());
        }
    }
}

// Whether a word is known, and its value fits.
bool equalizer_impl::obey(const std::string& word, const pmt::pmt_t& value)
{
    const std::optional<bool> is_true = truth(value);
    std::optional<float> number = automatic;
    if (const auto given = real(value))
        number = static_cast<float>(*given);
    const bool is_number = number || pmt::is_null(value);
    if (word == "freeze" && is_true)
        set_frozen(*is_true);
    else if (word == "front_filter" && is_true)
        set_front_filter(*is_true);
    else if (word == "resume" && is_true.value_or(false))
        set_frozen(false);
    else if (word == "reset" && is_true) // a button's release changes nothing
        *is_true ? d_core.request_reset() : void();
    else if (word == "loss" && pmt::is_symbol(value))
        set_loss(pmt::symbol_to_string(value));
    else if (word == "load" && pmt::is_symbol(value))
        d_core.request_load(pmt::symbol_to_string(value), d_training.size());
    else if (word == "save" && pmt::is_symbol(value))
        save(pmt::symbol_to_string(value));
    else if (word == "learning_rate" && is_number)
        set_learning_rate(number);
    else if (word == "sigma" && is_number)
        set_sigma(number);
    else if (word == "epsilon" && is_number)
        set_epsilon(number);
    else
        return false;
    return true;
}

// Asked for again before it is done, it is done once.
void equalizer_impl::save(const std::string& path)
{
    {
        const std::lock_guard<std::mutex> lock(d_asking);
        if (!d_asked.insert(path).second)
            return;
    }
    d_core.request_save(path);
}

// Of the adapter. What is told again and again is told once a minute, and drops as they grow.
void equalizer_impl::log(const core::adaptation_event& event)
{
    using core::event_kind;
    const auto now = clock::now();
    const auto minute_since = [now](clock::time_point& last) {
        if (last.time_since_epoch().count() && now - last < std::chrono::minutes(1))
            return false;
        last = now;
        return true;
    };
    switch (event.what) {
    case event_kind::error:
        if (d_errors.allows())
            d_logger->error("adaptation: {:s}{:s}", event.detail, d_errors.left_out());
        break;
    case event_kind::refused:
        if (d_refused_files.allows())
            d_logger->warn(
                "not loaded: {:s}{:s}", event.detail, d_refused_files.left_out());
        break;
    case event_kind::loaded: // counts are the file's
        d_drops_at_start = event.dropped;
        d_told_share = 1;
        d_told_rollback.reset();
        if (d_starts.allows())
            d_logger->info(
                "loaded {:s}{:s}", core::printable(event.detail), d_starts.left_out());
        break;
    case event_kind::start:
        d_drops_at_start = event.dropped;
        d_logger->info("{:s}{:s}", event.detail, d_starts.left_out());
        break;
    case event_kind::paused:
        if ((d_pause_told = minute_since(d_told_pause)))
            d_logger->warn("adaptation: paused: {:s}; the last good network decides",
                           event.detail);
        break;
    case event_kind::resumed:
        if (std::exchange(d_pause_told, false))
            d_logger->info("adaptation: resumed");
        break;
    case event_kind::frozen:
        if (!d_core.started())
            d_logger->warn("frozen before it has started: {:s} decides until it is "
                           "resumed",
                           network());
        break;
    case event_kind::step: {
        const std::uint64_t dropped = event.dropped - d_drops_at_start;
        const double all = static_cast<double>(event.steps + dropped);
        const double share = static_cast<double>(event.steps) / all;
        const bool grows = share < d_told_share / drops_grow;
        if (dropped && (minute_since(d_told_drops) || grows)) {
            d_told_share = share;
            d_logger->info("trained on {:d} of {:d} batches; decisions are not affected",
                           event.steps,
                           event.steps + dropped);
        }
        break;
    }
    default:
        break;
    }
}

// Of the adapter: in its thread, in lockstep in the block's.
void equalizer_impl::publish(const core::adaptation_event& event)
{
    using core::event_kind;
    if (event.what == event_kind::start && !d_core.started() && !d_starts.allows())
        return; // it tries again and again
    log(event);
    if (event.what == event_kind::saved || event.what == event_kind::error) {
        const std::lock_guard<std::mutex> lock(d_asking);
        event.what == event_kind::saved ? d_asked.erase(event.detail)
                                        : (d_asked.clear(), 0);
    }
    d_estimated = static_cast<float>(event.estimated.ber);
    // Training that starts over again and again from the same network changes nothing to be seen.
    if (event.what == event_kind::rollback &&
        std::exchange(d_told_rollback, event.in_use) == event.in_use)
        return;
    if (d_told_rollback != event.in_use)
        d_told_rollback.reset();
    if (pmt::is_null(message_subscribers(status_port)))
        return;
    if (event.what == event_kind::step && d_live) {
        constexpr auto interval = std::chrono::milliseconds(50);
        if (clock::now() - d_told_step < interval)
            return;
        d_told_step = clock::now();
    }
    pmt::pmt_t status = pmt::make_dict();
    const auto add = [&status](const char* key, const pmt::pmt_t& value) {
        status = pmt::dict_add(status, pmt::mp(key), value);
    };
    add("event", pmt::mp(adann::name(event.what)));
    if (!event.detail.empty())
        add("detail", pmt::mp(core::printable(event.detail)));
    if (event.what == event_kind::step) {
        add("loss", pmt::from_double(event.step.loss));
        add("confidence", pmt::from_double(event.step.confidence));
    }
    if (!std::isnan(event.estimated.ber)) {
        add("ber", pmt::from_double(event.estimated.ber));
        add("ber_low", pmt::from_double(event.estimated.low));
        add("ber_high", pmt::from_double(event.estimated.high));
        add("trustworthy", pmt::from_bool(event.estimated.trustworthy));
    }
    add("network",
        pmt::mp(d_core.started() ? core::guard::name(event.in_use) : "linear"));
    add("refined", pmt::from_bool(event.refined));
    add("decided", pmt::from_uint64(event.symbols));
    add("step", pmt::from_uint64(event.steps));
    add("updates", pmt::from_uint64(event.updates));
    add("dropped", pmt::from_uint64(event.dropped));
    add("rejected", pmt::from_uint64(event.rejected()));
    add("rollbacks", pmt::from_uint64(event.rollbacks));
    add("queued", pmt::from_uint64(event.queued));
    if (event.packets.packets) {
        add("packets", pmt::from_uint64(event.packets.packets));
        add("packet_bits", pmt::from_uint64(event.packets.bits));
        add("packet_errors", pmt::from_uint64(event.packets.errors));
        add("packet_ber", pmt::from_double(event.packets.ber()));
    }
    if (d_has_frame)
        add("known_position", pmt::from_long(known_position()));
    if (d_core.has_front_filter()) {
        add("tracking", pmt::mp(adann::name(event.front.state)));
        add("memory", pmt::from_uint64(event.front.memory));
        if (!std::isnan(event.front.residual)) {
            const double residual = decibels(event.front.residual);
            add("residual", pmt::from_double(residual));
            add("mer", pmt::from_double(-residual));
            add("evm", pmt::from_double(std::sqrt(event.front.residual)));
        }
        add("filter_resets", pmt::from_uint64(event.front.resets));
        add("cycle_slips", pmt::from_uint64(event.front.slips));
        add("frequency", pmt::from_double(event.front.frequency));
        add("bursts", pmt::from_uint64(event.front.bursts));
        const auto add_power = [&](const char* key, float power) {
            if (power > 0)
                add(key, pmt::from_double(decibels(power)));
        };
        add_power("image", std::norm(event.front.image));
        add_power("leakage", std::norm(event.front.leakage));
        add_power("echo", event.front.echo * event.front.echo);
        if (event.front.echo_delay > 0)
            add("echo_delay", pmt::from_double(event.front.echo_delay));
        add_power("tone", event.front.tone * event.front.tone);
        if (event.front.tone > 0)
            add("tone_frequency", pmt::from_double(event.front.tone_frequency));
    }
    message_port_pub(status_port, status);
}

} // namespace gr::adann
