# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the command line, made from the definitions of settings."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from .. import core
from .terminal import Finite

AUTOMATIC = "automatic"
_SHORT = {"learning_rate": "--lr"}


class _FiniteOrAutomatic(Finite):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == AUTOMATIC else super().convert(value, param, ctx)


def setting_options(*names: str, of: Mapping[str, core.setting],
                    **own_defaults: object) -> Callable:
    """Give a command an option for each of these settings; what is not given is None.

    of: {name: setting}. own_defaults: those that the command has instead, for the help.
    """
    def decorate(command: Callable) -> Callable:
        for name in reversed(names):
            command = _option(of[name], own_defaults.get(name, of[name].default))(command)
        return command
    return decorate


def _option(setting: core.setting, default: object) -> Callable:
    flag = f"--{setting.name.replace('_', '-')}"
    names = [*filter(None, [_SHORT.get(setting.name)]), flag, setting.name]
    keywords: dict = {"default": None, "help": setting.meaning}
    if isinstance(default, bool):
        names = [f"{flag}/--no-{flag[2:]}", setting.name]
    elif setting.choices:
        keywords["type"] = click.Choice(setting.choices)
    elif setting.low is None:
        keywords["metavar"] = "FILE"
    else:
        kind = _FiniteOrAutomatic if setting.automatic else click.IntRange if isinstance(default, int) else Finite
        keywords["type"] = kind(setting.low, setting.high)
    if default != "":
        keywords["help"] += f"  [default: {AUTOMATIC if default is None else default}]"
    return click.option(*names, **keywords)
