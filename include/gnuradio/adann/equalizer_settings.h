/* -*- c++ -*- */
/*
 * The equalizer's settings: name, range, default and a sentence for each, in one place.
 * Python, the command line and the checks visit them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/adann/words.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace gr::adann {

//! Of a setting that the equalizer finds itself, from the constellation and the sps.
inline constexpr std::nullopt_t automatic = std::nullopt;

enum class loss_kind { self_training, pi_model, vat, aug_vat, supervised };

//! What a loss needs besides a network's decisions: eq. (3) and (5) to (9) of the paper.
struct loss_traits {
    enum needs : unsigned { nothing = 0, noise = 1, perturbation = 2, known_labels = 4 };

    loss_kind value;
    const char* name;
    unsigned needed;

    constexpr bool augments() const { return needed & noise; }
    constexpr bool adversarial() const { return needed & perturbation; }
    constexpr bool supervised() const { return needed & known_labels; }
    //! Whether it needs posteriors at other points than the feature vectors themselves.
    constexpr bool perturbs() const { return augments() || adversarial(); }
};

constexpr std::array<loss_traits, 5> words(loss_kind)
{
    using traits = loss_traits;
    return { {
        { loss_kind::self_training, "self_training", traits::nothing },
        { loss_kind::pi_model, "pi_model", traits::noise },
        { loss_kind::vat, "vat", traits::perturbation },
        { loss_kind::aug_vat, "aug_vat", traits::noise | traits::perturbation },
        { loss_kind::supervised, "supervised", traits::known_labels },
    } };
}

//! Where the label comes from that a symbol is trained with: see core::loss_gradient.
enum class pseudo_label_kind { clean, confidence_weighted, perturbed, refined };
constexpr std::array<word<pseudo_label_kind>, 4> words(pseudo_label_kind)
{
    return { { { pseudo_label_kind::clean, "clean" },
               { pseudo_label_kind::confidence_weighted, "confidence_weighted" },
               { pseudo_label_kind::perturbed, "perturbed" },
               { pseudo_label_kind::refined, "refined" } } };
}

//! The six of the paper, Section II-B.
enum class optimizer_kind { sgd, momentum, nesterov, adagrad, rmsprop, adam };
constexpr std::array<word<optimizer_kind>, 6> words(optimizer_kind)
{
    return { { { optimizer_kind::sgd, "sgd" },
               { optimizer_kind::momentum, "momentum" },
               { optimizer_kind::nesterov, "nesterov" },
               { optimizer_kind::adagrad, "adagrad" },
               { optimizer_kind::rmsprop, "rmsprop" },
               { optimizer_kind::adam, "adam" } } };
}

enum class adaptation_mode { live, lockstep, off };
constexpr std::array<word<adaptation_mode>, 3> words(adaptation_mode)
{
    return { { { adaptation_mode::live, "live" },
               { adaptation_mode::lockstep, "lockstep" },
               { adaptation_mode::off, "off" } } };
}

//! What an equalizer puts out: its network's labels, or those with the smallest residual nearby.
enum class decision_kind { refined, network };
constexpr std::array<word<decision_kind>, 2> words(decision_kind)
{
    return { { { decision_kind::refined, "refined" },
               { decision_kind::network, "network" } } };
}

//! What becomes of the front filter and of learning from a burst's end to the next one.
enum class after_burst_kind { freeze, reset, keep };
constexpr std::array<word<after_burst_kind>, 3> words(after_burst_kind)
{
    return { { { after_burst_kind::freeze, "freeze" },
               { after_burst_kind::reset, "reset" },
               { after_burst_kind::keep, "keep" } } };
}

enum class input_kind { samples, vectors };
constexpr std::array<word<input_kind>, 2> words(input_kind)
{
    return { { { input_kind::samples, "samples" }, { input_kind::vectors, "vectors" } } };
}

//! The soft symbols of an equalizer: as received, with their noise, or posterior means.
enum class soft_symbol_kind { received, mean };
constexpr std::array<word<soft_symbol_kind>, 2> words(soft_symbol_kind)
{
    return { { { soft_symbol_kind::received, "received" },
               { soft_symbol_kind::mean, "mean" } } };
}

/* Each group of settings is the one before and some more. visit() passes all of them, one
 * after the other, to a visitor with two forms of call:
 *     (name, member, sentence)             a word, a bool or a text
 *     (name, member, low, high, sentence)  a number, or `automatic` */

//! Which loss, and its parameters (the paper's names).
struct loss_settings {
    loss_kind loss = loss_kind::aug_vat;
    pseudo_label_kind pseudo_label = pseudo_label_kind::refined;
    std::optional<float> sigma = automatic;
    std::optional<float> epsilon = automatic;
    float xi = 0.1f;
    float balance = 1;

    template <typename Self, typename Visitor>
    static void visit(Self& self, Visitor&& visit)
    {
        visit("loss", self.loss, "What the network learns from.");
        visit(
            "pseudo_label",
            self.pseudo_label,
            "Label that a symbol is trained with. refined: the decision, refined by the "
            "expected waveform; without one, or before the first refined batch, as "
            "confidence_weighted; clean: the decision from the unperturbed samples; "
            "confidence_weighted: the same, weighted by its posterior at the perturbed "
            "ones; perturbed: as the paper's Algorithm 2 is printed, which diverges.");
        visit(
            "sigma",
            self.sigma,
            0.0f,
            10.0f,
            "Deviation of the augmentation noise; automatic: scaled to the model's noise "
            "and constellation.");
        visit("epsilon",
              self.epsilon,
              0.0f,
              10.0f,
              "Length of the adversarial perturbation; automatic: scaled to the model's "
              "noise and constellation.");
        visit("xi",
              self.xi,
              1e-6f,
              10.0f,
              "Finite-difference step that the perturbation is found with.");
        visit(
            "balance",
            self.balance,
            0.0f,
            10.0f,
            "Weight of pattern balance. Set to 0 for data that is not scrambled: this also "
            "turns off the other checks that assume random data.");
    }
};

//! How a network is trained.
struct training_settings : loss_settings {
    optimizer_kind optimizer = optimizer_kind::adam;
    std::optional<float> learning_rate = automatic;
    std::uint64_t seed = 0;

    template <typename Self, typename Visitor>
    static void visit(Self& self, Visitor&& visit)
    {
        loss_settings::visit(self, visit);
        visit("optimizer", self.optimizer, "How a step follows from the gradient.");
        visit("learning_rate",
              self.learning_rate,
              0.0f,
              10.0f,
              "Learning rate; automatic: scaled to the constellation, and larger while "
              "refined labels are learnt.");
        visit("seed",
              self.seed,
              std::uint64_t{ 0 },
              std::numeric_limits<std::uint64_t>::max(),
              "Seed of the noise, and of the guard's random samples.");
    }
};

//! How an equalizer learns: see core::learner.
struct learner_settings : training_settings {
    std::size_t batch = 256;
    std::size_t average = 10000;
    bool guard = true;

    template <typename Self, typename Visitor>
    static void visit(Self& self, Visitor&& visit)
    {
        training_settings::visit(self, visit);
        visit("batch",
              self.batch,
              std::size_t{ 16 },
              std::size_t{ 1 } << 20,
              "Symbols of one adaptation step.");
        visit(
            "average",
            self.average,
            std::size_t{ 0 },
            std::size_t{ 1'000'000'000 },
            "Length, in symbols, of the exponential moving average of the trained weights, "
            "which decides.");
        visit("guard",
              self.guard,
              "Have the best of the offline, the adaptive and the last good network "
              "decide, and pause without a signal.");
    }
};

//! When an equalizer learns, and where it keeps what it has learnt: see
//! core::adaptive_equalizer.
struct adaptation_settings : learner_settings {
    adaptation_mode mode = adaptation_mode::live;
    bool front_filter = true;
    std::size_t front_filter_length = 12;
    decision_kind decisions = decision_kind::refined;
    std::string checkpoint;
    std::size_t checkpoint_interval = 60;

    template <typename Self, typename Visitor>
    static void visit(Self& self, Visitor&& visit)
    {
        visit(
            "mode",
            self.mode,
            "live: never waits, and drops batches that find the adapter busy; lockstep: "
            "waits for each step, the same for the same seed; off: frozen.");
        visit("front_filter",
              self.front_filter,
              "Follow linear changes with a filter before the network; needs samples and "
              "a model with an expected waveform.");
        visit("front_filter_length",
              self.front_filter_length,
              std::size_t{ 1 },
              std::size_t{ 64 },
              "Symbols that the front filter's taps span.");
        visit(
            "decisions",
            self.decisions,
            "refined: labels with the smallest residual from the model's expected "
            "waveform, 41 symbols and twice its reach later; while that residual is too "
            "large, the network's; network: always the network's, at once.");
        learner_settings::visit(self, visit);
        visit(
            "checkpoint",
            self.checkpoint,
            "File to which the state is written at intervals and at the end, in a folder "
            "that exists; empty for none.");
        visit("checkpoint_interval",
              self.checkpoint_interval,
              std::size_t{ 0 },
              std::size_t{ 1'000'000'000 },
              "Seconds between checkpoints; 0: after each step.");
    }
};

//! Labels that repeat, 255 where not known; their period and the first one's place in it, symbols.
using known_pattern = std::tuple<std::vector<std::uint8_t>, std::size_t, std::size_t>;

//! What an equalizer takes, and when and how it adapts.
struct equalizer_settings : adaptation_settings {
    input_kind input = input_kind::samples;
    soft_symbol_kind soft_symbol = soft_symbol_kind::received;
    std::vector<known_pattern> known_symbols;
    std::vector<std::uint8_t> training_sequence;
    std::string training_start_tag = "corr_est";
    std::string burst_end_tag;
    after_burst_kind after_burst = after_burst_kind::freeze;

    template <typename Self, typename Visitor>
    static void visit(Self& self, Visitor&& visit)
    {
        visit("input", self.input, "Samples, or the vectors of a feature windower.");
        adaptation_settings::visit(self, visit);
        visit(
            "known_symbols",
            self.known_symbols,
            "Patterns of known symbols that repeat: a list of (labels, period, offset), a label "
            "255 where one is not known. Where their frame begins is found.");
        visit("training_sequence",
              self.training_sequence,
              "Labels that each burst begins with, from which the front filter takes its "
              "taps and carrier; empty: no bursts.");
        visit("training_start_tag",
              self.training_start_tag,
              "Key of the tag at the first symbol of a training sequence, as digital's "
              "corr_est sets it.");
        visit("burst_end_tag",
              self.burst_end_tag,
              "Key of the tag at the first symbol after a burst, such as the Power "
              "Squelch's squelch_eob; empty: a burst lasts until the next one.");
        visit("after_burst",
              self.after_burst,
              "Between bursts, freeze: nothing is learnt, the front filter stays; reset: "
              "it becomes the identity; keep: learning goes on.");
        visit("soft_symbol",
              self.soft_symbol,
              "received: the decided point plus the residual from the model's expected "
              "waveform, projected on the symbol's pulse; mean: the posterior mean, as "
              "without such a waveform.");
    }
};

} // namespace gr::adann
