/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "status_message.h"

#include "core/common/printable.h"

namespace gr::adann {

pmt::pmt_t status_message(const core::adaptation_event& event,
                          const std::string& network,
                          bool has_front_filter,
                          std::optional<std::int64_t> known_position)
{
    pmt::pmt_t status = pmt::make_dict();
    const auto add = [&status](const char* key, const pmt::pmt_t& value) {
        status = pmt::dict_add(status, pmt::mp(key), value);
    };
    add("event", pmt::mp(adann::name(event.what)));
    if (!event.detail.empty())
        add("detail", pmt::mp(core::printable(event.detail)));
    if (event.what == core::event_kind::step) {
        add("loss", pmt::from_double(event.step.loss));
        add("confidence", pmt::from_double(event.step.confidence));
    }
    if (!std::isnan(event.estimated.ber)) {
        add("ber", pmt::from_double(event.estimated.ber));
        add("ber_low", pmt::from_double(event.estimated.low));
        add("ber_high", pmt::from_double(event.estimated.high));
        add("trustworthy",
            pmt::from_bool(event.estimated.untrusted == core::distrust::none));
        add("untrusted", pmt::mp(adann::name(event.estimated.untrusted)));
    }
    add("network", pmt::mp(network));
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
    if (known_position)
        add("known_position", pmt::from_long(*known_position));
    if (has_front_filter) {
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
        if (event.front.level != 1)
            add_power("level", event.front.level * event.front.level);
        add_power("image", std::norm(event.front.image));
        add_power("leakage", std::norm(event.front.leakage));
        add_power("echo", event.front.echo * event.front.echo);
        if (event.front.echo_delay > 0)
            add("echo_delay", pmt::from_double(event.front.echo_delay));
        add_power("tone", event.front.tone * event.front.tone);
        if (event.front.tone > 0)
            add("tone_frequency", pmt::from_double(event.front.tone_frequency));
    }
    return status;
}

} // namespace gr::adann
