/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "equalizer_impl.h"

#include "core/common/checks.h"
#include "core/common/printable.h"
#include "core/signal/known_frame.h"
#include "status_message.h"

#include <algorithm>
#include <complex>
#include <filesystem>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/io_signature.h>

namespace gr::adann {

namespace {

constexpr std::size_t bytes_per_call = 1 << 19; // of samples

const pmt::pmt_t status_port = pmt::mp("status");
const pmt::pmt_t control_port = pmt::mp("control");
const pmt::pmt_t known_port = pmt::mp("known");
const pmt::pmt_t position_key = pmt::mp("position");

// A real number of any type.
std::optional<double> real(const pmt::pmt_t& value)
{
    if (pmt::is_uint64(value)) // to_double() does not know it
        return static_cast<double>(pmt::to_uint64(value));
    return pmt::is_real(value) || pmt::is_integer(value)
               ? std::optional(pmt::to_double(value))
               : std::nullopt;
}

// A boolean, or 0 and 1 as widgets send them.
std::optional<bool> truth(const pmt::pmt_t& value)
{
    if (pmt::is_bool(value))
        return pmt::to_bool(value);
    const auto number = real(value);
    return number == 0 || number == 1 ? std::optional(number == 1) : std::nullopt;
}

std::size_t item_floats(const core::window_geometry& window,
                        const equalizer_settings& settings)
{
    return settings.input == input_kind::vectors ? window.dimension()
                                                 : window.floats_per_sample();
}

// A checkpoint from which an equalizer without a model continues.
void check_same(const std::string& path,
                const core::model& saved,
                const core::model& wanted)
{
    core::compare_signals(
        saved,
        wanted,
        [&](const char* what, const std::string& of_file, const std::string& given) {
            if (of_file != given)
                core::refuse(what,
                             given,
                             of_file + ", as the checkpoint '" + path +
                                 "' has it, or another checkpoint file");
        });
}

} // namespace

equalizer::sptr equalizer::make(const std::string& model,
                                const equalizer_settings& settings)
{
    return gnuradio::make_block_sptr<equalizer_impl>(core::load_model(model), settings);
}

equalizer::sptr equalizer::make_from_memory(const std::string& contents,
                                            const equalizer_settings& settings)
{
    return gnuradio::make_block_sptr<equalizer_impl>(core::parse_model(contents),
                                                     settings);
}

equalizer::sptr equalizer::make_blind(const std::string& constellation,
                                      unsigned sps,
                                      unsigned half_window,
                                      bool complex,
                                      const equalizer_settings& settings)
{
    const core::blind_start start(
        constellation, sps, half_window, complex, settings.seed);
    if (settings.checkpoint.empty() || !std::filesystem::exists(settings.checkpoint))
        return gnuradio::make_block_sptr<equalizer_impl>(start.found(), settings, start);
    const auto saved = core::load_model(settings.checkpoint);
    check_same(settings.checkpoint, saved, start.found());
    return gnuradio::make_block_sptr<equalizer_impl>(saved, settings);
}

equalizer_impl::equalizer_impl(const core::model& model,
                               const equalizer_settings& settings,
                               const std::optional<core::blind_start>& start)
    : gr::block(
          "adann_equalizer",
          gr::io_signature::make3(1,
                                  3,
                                  item_floats(model.window, settings) * sizeof(float),
                                  sizeof(std::uint8_t),
                                  model.symbols.bits_per_symbol() * sizeof(float)),
          gr::io_signature::makev(
              1,
              4,
              { static_cast<int>(sizeof(std::uint8_t)),
                static_cast<int>(model.symbols.size() * sizeof(float)),
                static_cast<int>(model.window.floats_per_sample() * sizeof(float)),
                static_cast<int>(sizeof(float)) })),
      d_vectors(settings.input == input_kind::vectors),
      d_supervised(row(settings.loss).supervised() &&
                   settings.mode != adaptation_mode::off),
      d_has_frame(!settings.known_symbols.empty()),
      d_window(model.window),
      d_soft_symbol(settings.soft_symbol),
      d_items_per_symbol(d_vectors ? 1 : d_window.sps()),
      d_stride(d_vectors ? d_window.dimension() : d_window.stride()),
      d_bits_per_symbol(model.symbols.bits_per_symbol()),
      d_bursts(settings),
      d_batch(settings.batch),
      d_live(settings.mode == adaptation_mode::live),
      d_log(d_logger),
      d_core(start ? core::adaptive_equalizer(*start, d_stride, settings, publisher())
                   : core::adaptive_equalizer(model, d_stride, settings, publisher()))
{
    d_margin =
        (d_core.dimension() - d_window.dimension()) / 2 / d_window.floats_per_sample();
    if (settings.front_filter && settings.mode != adaptation_mode::off && !d_vectors &&
        !start && !model.waveform)
        d_logger->info(
            "the model has no expected waveform, so no front filter follows the "
            "signal; `adann train` writes models that have one");
    check_training(model, start.has_value(), settings);
    if (d_has_frame) {
        if (settings.mode == adaptation_mode::off)
            core::refuse("known_symbols", "given", "with a mode other than 'off' only");
        d_core.set_known_frame(
            core::frame_of(settings.known_symbols, model.symbols.size()));
    }
    if (settings.mode != adaptation_mode::off && settings.balance > 0 &&
        !model.symbols.parts().count)
        d_logger->info("no pattern balance for {}: it has no levels of I and Q by "
                       "which patterns could be counted",
                       model.symbols.name());
    // The buffer before this block is sized by its output multiple: long enough that the
    // scheduler's work per call does not count. start() then allows any number of
    // symbols.
    set_output_multiple(std::clamp<std::size_t>(
        bytes_per_call / (d_stride * sizeof(float)), 1024, 32768));
    // The scheduler keeps the samples before the current symbol, zeros at first.
    set_history(d_vectors ? 1 : d_window.samples_before() + d_margin + 1);
    set_relative_rate(1, d_items_per_symbol);
    set_tag_propagation_policy(TPP_CUSTOM); // it would take that rate for both inputs
    register_ports();
}

bool equalizer_impl::check_topology(int ninputs, int noutputs)
{
    const bool is_told = ninputs > 1 || d_has_frame;
    const bool is_soft = noutputs > 1;
    if (d_supervised && !is_told)
        d_logger->error("loss 'supervised' needs the known labels at input 1");
    if (d_has_frame && ninputs > 1)
        d_logger->error("known_symbols are given, so nothing goes to input 1");
    if (ninputs > 2 && !is_soft)
        d_logger->error("a priori ratios at input 2 need output 1, the posteriors");
    return (!d_supervised || is_told) && !(d_has_frame && ninputs > 1) &&
           (ninputs < 3 || is_soft);
}

bool equalizer_impl::start()
{
    set_output_multiple(1);
    d_in_batch = d_held = 0;
    d_core.start();
    d_bursts.start(d_core);
    return true;
}

bool equalizer_impl::stop()
{
    d_core.stop();
    if (const std::string more = d_refusals.left_out(); !more.empty())
        d_logger->warn("control messages were refused{:s}", more);
    if (const std::string more = d_refused_packets.left_out(); !more.empty())
        d_logger->warn("known packets were refused{:s}", more);
    d_log.finish();
    return true;
}

void equalizer_impl::forecast(int noutput_items, gr_vector_int& required)
{
    required[0] = (noutput_items - 1) * d_items_per_symbol +
                  (d_vectors ? 1 : d_window.samples() + 2 * d_margin);
    for (std::size_t input = 1; input < required.size(); ++input)
        required[input] = noutput_items + history() - 1;
    if (d_held && detail()->input(0)->done())
        std::fill(required.begin(), required.end(), 0); // they come without more input
}

int equalizer_impl::general_work(int noutput_items,
                                 gr_vector_int& ninput_items,
                                 gr_vector_const_void_star& input_items,
                                 gr_vector_void_star& output_items)
{
    const int past =
        history() - 1; // the scheduler keeps as many items of the others, unused
    int symbols = std::min<int>(
        noutput_items,
        d_vectors
            ? ninput_items[0]
            : d_window.windows_in(std::max<std::size_t>(ninput_items[0], 2 * d_margin) -
                                  2 * d_margin));
    const std::uint8_t* known_labels = nullptr;
    if (input_items.size() > 1) {
        known_labels = static_cast<const std::uint8_t*>(input_items[1]) + past;
        symbols = std::clamp(ninput_items[1] - past, 0, symbols);
    }
    const float* a_priori = nullptr;
    if (input_items.size() > 2) {
        a_priori = static_cast<const float*>(input_items[2]) + past * d_bits_per_symbol;
        symbols = std::clamp(ninput_items[2] - past, 0, symbols);
    }

    const bool estimates = output_items.size() > 3; // each after its batch
    if (estimates)
        symbols = std::min<int>(symbols, d_batch - d_in_batch);
    if (d_bursts.are_used() && symbols > 0) {
        get_tags_in_window(d_tags, 0, 0, symbols * d_items_per_symbol);
        symbols = d_bursts.up_to_mark(d_tags,
                                      nitems_read(0) / d_items_per_symbol,
                                      d_items_per_symbol,
                                      symbols,
                                      d_held > 0,
                                      d_core);
    }

    if (symbols <= 0 && d_held)
        return flush(output_items, noutput_items);
    const core::feature_view view{ static_cast<const float*>(input_items[0]),
                                   d_stride,
                                   d_core.dimension(),
                                   static_cast<std::size_t>(symbols) };
    auto posteriors =
        output_items.size() > 1 ? static_cast<float*>(output_items[1]) : nullptr;
    auto soft = output_items.size() > 2 ? static_cast<float*>(output_items[2]) : nullptr;
    const auto written = d_core.decide(view,
                                       known_labels,
                                       static_cast<std::uint8_t*>(output_items[0]),
                                       posteriors,
                                       soft,
                                       d_soft_symbol,
                                       a_priori);

    const std::size_t of_symbols = std::min<std::size_t>(output_items.size(), 3);
    pass_tags(0, symbols, d_items_per_symbol, of_symbols);
    consume(0, symbols * d_items_per_symbol);
    for (std::size_t input = 1; input < input_items.size(); ++input) {
        pass_tags(input, symbols, 1, of_symbols);
        consume(input, symbols);
    }
    for (std::size_t output = 0; output < of_symbols; ++output)
        produce(output, output < 2 ? written.labels : written.points);
    d_held += symbols - written.labels;
    d_in_batch = (d_in_batch + symbols) % d_batch;
    if (estimates && symbols && d_in_batch == 0) {
        *static_cast<float*>(output_items[3]) = d_estimated;
        produce(3, 1);
    }
    return WORK_CALLED_PRODUCE;
}

// Hands out the remaining labels when a burst or the input has ended.
int equalizer_impl::flush(gr_vector_void_star& output_items, int room)
{
    const auto& input = detail()->input(0);
    const std::size_t least = d_vectors ? 1 : d_window.samples() + 2 * d_margin;
    // In this order: nothing comes once it is done.
    if (d_bursts.ends_first() ||
        (input->done() && static_cast<std::size_t>(input->items_available()) < least)) {
        const bool soft = output_items.size() > 1;
        const std::size_t n =
            d_core.flush(static_cast<std::uint8_t*>(output_items[0]),
                         room,
                         soft ? static_cast<float*>(output_items[1]) : nullptr);
        d_held -= n;
        produce(0, n);
        if (soft)
            produce(1, n);
    }
    return WORK_CALLED_PRODUCE;
}

void equalizer_impl::pass_tags(int input,
                               std::size_t symbols,
                               std::size_t items_per_symbol,
                               std::size_t outputs)
{
    get_tags_in_window(d_tags, input, 0, symbols * items_per_symbol);
    for (auto& tag : d_tags) {
        tag.offset = (tag.offset + items_per_symbol / 2) / items_per_symbol;
        for (std::size_t output = 0; output < outputs; ++output)
            add_item_tag(output, tag);
    }
}

ber_estimate equalizer_impl::estimated_ber() const
{
    const auto found = d_core.status().estimated;
    return { found.ber,
             found.low,
             found.high,
             found.untrusted == core::distrust::none,
             adann::name(found.untrusted) };
}

front_filter_state equalizer_impl::front_filter() const
{
    const auto found = d_core.front_status();
    return { d_core.taps(),        adann::name(found.state),
             found.memory,         decibels(found.residual),
             found.resets,         found.slips,
             found.frequency,      found.offset,
             found.image,          found.leakage,
             found.echo_delay,     found.echo,
             found.tone_frequency, found.tone,
             found.level };
}

std::int64_t equalizer_impl::known_position() const
{
    const auto position = d_core.known_position();
    return position ? static_cast<std::int64_t>(*position) : -1;
}

void equalizer_impl::set_loss(const std::string& loss)
{
    std::string allowed;
    for (const auto& each : words(loss_kind{})) {
        if (loss == each.name)
            return d_core.set_loss(each.value);
        allowed += (allowed.empty() ? "" : ", ") + std::string(each.name);
    }
    core::refuse("loss", "'" + core::printable(loss) + "'", allowed);
}

std::string equalizer_impl::network() const
{
    return d_core.started() ? core::guard::name(d_core.status().in_use) : "linear";
}

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

// Called in the block's thread, between two calls of work().
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

// Called in the block's thread, between two calls of work().
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

// Carries out a control word; false if it is not known, or its value does not fit.
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
        d_core.request_load(pmt::symbol_to_string(value), d_bursts.training());
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

// Requests for the same path are carried out once.
void equalizer_impl::save(const std::string& path)
{
    {
        const std::lock_guard<std::mutex> lock(d_asking);
        if (!d_asked.insert(path).second)
            return;
    }
    d_core.request_save(path);
}

// Called in the adapter's thread, in lockstep in the block's.
void equalizer_impl::publish(const core::adaptation_event& event)
{
    using core::event_kind;
    if (event.what == event_kind::saved || event.what == event_kind::error) {
        const std::lock_guard<std::mutex> lock(d_asking);
        event.what == event_kind::saved ? d_asked.erase(event.detail)
                                        : (d_asked.clear(), 0);
    }
    d_estimated = static_cast<float>(event.estimated.ber);
    if (!d_log.take(event, d_core.started()) ||
        pmt::is_null(message_subscribers(status_port)))
        return;
    if (event.what == event_kind::step && d_live) {
        constexpr auto interval = std::chrono::milliseconds(50);
        if (clock::now() - d_published_step < interval)
            return;
        d_published_step = clock::now();
    }
    message_port_pub(
        status_port,
        status_message(event,
                       d_core.started() ? core::guard::name(event.in_use) : "linear",
                       d_core.has_front_filter(),
                       d_has_frame ? std::optional(known_position()) : std::nullopt));
}

double equalizer_impl::modulation_error_ratio() const
{
    return -decibels(d_core.front_status().residual);
}

} // namespace gr::adann
