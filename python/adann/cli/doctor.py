# SPDX-License-Identifier: GPL-3.0-or-later
"""adann doctor: what is missing, and the command that mends it.

The program runs this file on its own when the package does not load, so that it imports nothing
of the package while it is itself imported.
"""

import importlib
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

import click

ANSWERS_IN = 10.0  # seconds: gnuradio-config-info takes milliseconds


class _Missing(Exception):
    """Carries what was found and what mends it."""


def _installed_numpy() -> str:
    """GNU Radio loads with the numpy that it was built for: pip has to keep it."""
    import numpy
    return numpy.__version__


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())


def _python() -> str:
    return f"{sys.version.split()[0]}, {sys.executable}"


def _module(name: str, mend: str) -> Callable[[], str]:
    def check() -> str:
        try:
            module = importlib.import_module(name)
        except Exception as error:  # a broken package may raise anything
            raise _Missing(_words(error), mend) from error
        return f"{getattr(module, '__version__', '')} {Path(module.__file__).parent}".strip()
    return check


def _pip(packages: str) -> str:
    """The command that installs them for this Python, into the user's folder if it is the system's,
    which takes no others (PEP 668)."""
    managed = (sys.prefix == sys.base_prefix
               and Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists())
    return (f"{sys.executable} -m pip install {'--user --break-system-packages ' * managed}"
            f"{packages} 'numpy=={_installed_numpy()}'")


def _gnuradio() -> str:
    try:
        from gnuradio import gr
    except ModuleNotFoundError as error:
        raise _Missing(_words(error), "sudo apt-get install gnuradio") from error
    except Exception as error:
        import numpy
        place = Path(numpy.__file__).parent
        raise _Missing(
            f"{_words(error)}; numpy is {numpy.__version__} from {place}",
            "sudo apt-get install --reinstall gnuradio" if "dist-packages" in place.parts else
            f"{sys.executable} -m pip uninstall numpy: it hides the one that GNU Radio was built for"
        ) from error
    return f"{gr.version()}, {gr.prefix()}"


def _near_package(*places: str) -> Path | str:
    """The folder that holds one of `places`, seen from where the package lies: below the prefix it
    was installed into, or in the source tree around the build; else PREFIX and the first."""
    from importlib.util import find_spec
    spec = find_spec("gnuradio.adann")
    for parent in Path(spec.origin).parents if spec else ():
        for place in places:
            if found := next(parent.glob(place), None):
                return str(found.parent)
    return str(Path("PREFIX", places[0]).parent)


def _pybind11_of_gnuradio() -> str:
    command = ["gnuradio-config-info", "--pybind"]
    try:
        # Into a file: a pipe's end would be waited for after the limit, too.
        with tempfile.TemporaryFile("w+") as said:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.DEVNULL,
                           check=True, timeout=ANSWERS_IN)
            said.seek(0)
            return said.read().strip()
    except subprocess.TimeoutExpired:
        return f"unknown ({' '.join(command)} did not answer in {ANSWERS_IN:g} s)"
    except (OSError, subprocess.CalledProcessError):
        return f"see {' '.join(command)}"


def _bindings() -> str:
    try:
        package = importlib.import_module("gnuradio.adann")
    except Exception as error:
        said = _words(error)
        if "unknown base type" in said:
            mend = _other_pybind11()
        elif "libgnuradio-adann" in said:
            folder = _near_package("lib/libgnuradio-adann.so*", "lib/*/libgnuradio-adann.so*")
            mend = f"sudo ldconfig, or export LD_LIBRARY_PATH={folder}"
        else:
            mend = "build and install gr-adann again for this Python and GNU Radio"
        raise _Missing(said, mend) from error
    return str(Path(package.__file__).parent)


def _internals(package: str) -> str:
    """What pybind11 calls the types that a package's modules share: others cannot use them unless
    they have the same name for it. Read from the files, as modules of another one do not load."""
    spec = importlib.util.find_spec(package)
    for module in sorted(Path(spec.origin).parent.glob("*.so")) if spec else ():
        if found := re.search(rb"__pybind11_internals_(\w+?)__\0", module.read_bytes()):
            return found[1].decode()
    raise ValueError(f"{package} has no modules of pybind11")


def _pybind11() -> str:
    ours, theirs = _internals("gnuradio.adann"), _internals("gnuradio.gr")
    if ours != theirs:
        raise _Missing(f"gr-adann's bindings are of {ours}, GNU Radio's of {theirs}", _other_pybind11())
    return f"{_pybind11_of_gnuradio()}, {ours}"


def _other_pybind11() -> str:
    return (f"build and install gr-adann again with GNU Radio's pybind11, {_pybind11_of_gnuradio()}: "
            "cmake -Dpybind11_DIR=...")


def _library() -> str:
    """The library that the bindings have loaded."""
    importlib.import_module("gnuradio.adann")
    return next(line.split(maxsplit=5)[-1]
                for line in Path("/proc/self/maps").read_text().splitlines()
                if "libgnuradio-adann" in line)


def _grc_blocks() -> str:
    from gnuradio import gr
    preferences = gr.prefs()
    folders = os.environ.get("GRC_BLOCKS_PATH", "").split(os.pathsep) + [
        folder for name in ("local_blocks_path", "global_blocks_path")
        for folder in str(preferences.get_string("grc", name, "")).split(os.pathsep)]
    block = "adann_feature_windower.block.yml"
    for folder in filter(None, folders):
        if Path(folder, block).is_file():
            return folder
    place = _near_package(f"share/gnuradio/grc/blocks/{block}", f"grc/{block}")
    raise _Missing("GRC does not search their folder", f"export GRC_BLOCKS_PATH={place}")


def _instructions() -> str:
    flags = Path("/proc/cpuinfo").read_text().split()
    return next((name for name, flag in (("AVX-512", "avx512f"), ("AVX2 and FMA", "avx2"))
                 if flag in flags), "baseline")


# What, whether the rest works without it, and how it is checked.
CHECKS = (
    ("Python", False, _python),
    ("numpy", False, _module("numpy", "sudo apt-get install python3-numpy")),
    ("GNU Radio", False, _gnuradio),
    ("pybind11", False, _pybind11),
    ("Python package", False, _bindings),
    ("library", False, _library),
    ("GRC blocks", False, _grc_blocks),
    ("scipy", False, _module("scipy", "sudo apt-get install python3-scipy")),
    ("rich", False, _module("rich", "sudo apt-get install python3-rich")),
    ("RigolWFM, for adann import", True,
     _module("RigolWFM", _pip("RigolWFM"))),
    ("h5py, for adann import", True, _module("h5py", "sudo apt-get install python3-h5py")),
    ("soundfile, for adann import", True, _module("soundfile", "sudo apt-get install python3-soundfile")),
    ("zmq, for adann equalize --monitor", True,
     _module("zmq", "sudo apt-get install python3-zmq")),
    ("torch, for adann train --backend torch", True,
     _module("torch", "sudo apt-get install python3-torch")),
    ("distributed, for adann reproduce", True,
     _module("distributed", "sudo apt-get install python3-distributed")),
    ("matplotlib, for --plot", True,
     _module("matplotlib", "sudo apt-get install python3-matplotlib")),
    ("instructions", True, _instructions),
)


@click.command()
@click.pass_context
def doctor(context: click.Context) -> None:
    """Check the installation, and give the commands that complete it."""
    healthy = True
    for what, optional, check in CHECKS:
        try:
            click.echo(f"ok       {what}: {check()}")
        except _Missing as missing:
            found, mend = missing.args
            click.echo(f"{'optional' if optional else 'missing '} {what}: {found}\n"
                       f"         mend it with: {mend}")
            healthy = healthy and optional
        except Exception as error:  # what an earlier line has said already
            click.echo(f"unknown  {what}: {_words(error)}")
            healthy = healthy and optional
    context.exit(0 if healthy else 1)


if __name__ == "__main__":
    doctor(args=[], prog_name="adann doctor")
