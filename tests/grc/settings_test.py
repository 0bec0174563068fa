# SPDX-License-Identifier: GPL-3.0-or-later
"""What GRC's descriptions and the command line say of settings is what their one definition says."""

import inspect

import click
import pytest
from gnuradio import adann
from gnuradio.adann import core
from gnuradio.adann.cli.equalize import OPTIONS, OWN_DEFAULTS, equalize
from gnuradio.adann.cli.mlse import mlse

BLOCKS = {"adann_equalizer": core.equalizer_settings(), "adann_mlse": core.mlse_settings()}
# What the MLSE checks against the memory or the constellation.
OTHER_LIMITS = {"traceback_depth", "guard"}


def described(platform, name):
    flowgraph = platform.make_flow_graph()
    block = flowgraph.new_block(name)
    block.import_data("block", {}, {"model": "'m'"})
    flowgraph.rewrite()
    return block


@pytest.mark.parametrize("name, setting", [
    pytest.param(block, setting, id=f"{block}-{setting.name}")
    for block, settings in BLOCKS.items() for setting in settings.values()])
def test_grc_has_the_settings_default_choices_and_range(platform, name, setting):
    block = described(platform, name)
    parameter = block.params[setting.name]
    default = parameter.get_evaluated()
    assert default == setting.default and isinstance(default, type(setting.default))
    assert sorted(parameter.options or []) == sorted(setting.choices)
    assert setting.name + "=" in block.templates.render("make")
    if setting.low is None or setting.name in OTHER_LIMITS:
        return
    expression, = (text for text in block.asserts if f"<= {setting.name} <=" in text)
    condition = eval(f"lambda {setting.name}: {expression.strip('${} ')}")
    assert condition(setting.low) and condition(setting.high)
    step = (lambda number: 1) if isinstance(setting.default, int) else abs
    assert not condition(setting.low - (step(setting.low) / 2 or 1e-9))
    assert not condition(setting.high + step(setting.high) / 2)
    if setting.automatic:
        assert condition(None)


def test_grc_shows_what_the_chosen_loss_needs(platform):
    for loss, takes in core.losses.items():
        for mode in core.equalizer_settings()["mode"].choices:
            block = described(platform, "adann_equalizer")
            block.import_data("block", {}, {"model": "'m'", "loss": loss, "mode": mode})
            block.parent.rewrite()
            on = mode != "off"
            for name, shown in {"sigma": takes.augments, "epsilon": takes.adversarial,
                                "xi": takes.adversarial, "balance": not takes.supervised,
                                "guard": not takes.supervised,
                                "pseudo_label": not takes.supervised}.items():
                assert (block.params[name].hide != "all") == (on and shown), (loss, mode, name)


def options(command):
    return {parameter.name: parameter for parameter in command.params
            if isinstance(parameter, click.Option)}


def test_the_command_line_has_every_setting_and_tells_its_default():
    settings = core.equalizer_settings()
    of_streams = {"input", "soft_symbol", "known_symbols", "training_sequence", "training_start_tag", "burst_end_tag",
                  "after_burst"}
    assert set(OPTIONS) == set(settings) - of_streams  # a file has no tags
    for name in OPTIONS:
        option = options(equalize)[name]
        default = OWN_DEFAULTS.get(name, settings[name].default)
        assert settings[name].meaning in option.help
        assert default == "" or f"[default: {'automatic' if default is None else default}]" in option.help
    for name in "adaptation", "update_interval", "step":
        assert f"[default: {core.mlse_settings()[name].default}]" in options(mlse)[name].help


def test_grc_and_the_command_line_agree_about_the_mlses_memory(platform):
    assert described(platform, "adann_mlse").params["memory"].get_evaluated() == options(
        mlse)["memory"].default


@pytest.mark.parametrize("name, largest", [("adann_equalizer", 256), ("adann_ber_counter", 256),
                                          ("adann_receiver", 256), ("adann_mlse", 64)])
def test_grc_offers_every_named_constellation(platform, name, largest):
    offered = described(platform, name).params["constellation"].options
    named = [each for each in core.constellation.names() if core.constellation(each).size <= largest
             and not (name == "adann_mlse" and core.constellation(each).is_offset)]
    assert [each for each in offered if each != "given" and not each.startswith("gr:")] == named
    assert all(core.constellation(each).size for each in offered if each.startswith("gr:"))


@pytest.mark.parametrize("name", ["adann_resampler", "adann_receiver", "adann_normalizer",
                                  "adann_ber_counter", "adann_soft_bits", "adann_capture_source",
                                  "adann_status_monitor"])
def test_grcs_other_defaults_are_pythons(platform, name):
    made = getattr(adann, name.removeprefix("adann_"))
    block = described(platform, name)
    try:
        defaults = {key: one.default for key, one in inspect.signature(made).parameters.items()
                    if one.default is not one.empty}
    except ValueError:  # pybind11 tells it in the documentation only
        text = made.__init__.__doc__.split("(", 1)[1].split(") ->")[0]
        pairs = (part.split(" = ") for part in text.split(", ") if " = " in part)
        defaults = {key.split(":")[0]: eval(value) for key, value in pairs}
    for key, default in defaults.items():
        if key in block.params and default is not None:  # None: as the model has it
            assert block.params[key].get_evaluated() == default, key
