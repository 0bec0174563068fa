#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the screenshots of this folder: ./dev docs --pictures."""

import importlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DOCS = Path(__file__).resolve().parent
EXAMPLES = DOCS.parent / "examples"
BLOCKS = DOCS / "blocks"  # a picture of each, and of its dialog

# Seconds before and after the sliders are moved, and where to.
SCENES = {
    "vcsel_live": (7, 3, dict(power_first=0.14, power_main=0.46, power_late=0.40)),
    "coded_live": (8, 8, dict(power_first=0.14, power_main=0.46, power_late=0.40)),
    "coherent_live": (7, 3, dict(dispersion=145)),
    "own_block_live": (5, 5, dict(power_late=0.5)),
    "qpsk_live": (8, 8, dict(echo=0.6)),
    "burst_live": (12, 12, dict(doppler=30)),
    "burst_equalizer_live": (15, 0, {}),
    "television_live": (15, 15, dict(turns=20)),
    "sdr_live": (8, 0, {}),
}


def draw_flowgraph(name, folder, picture):
    """Run a compiled flowgraph, move its sliders, and save what its window shows."""
    from PyQt5 import Qt
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    application = Qt.QApplication([])
    before, after, sliders = SCENES[name]
    module = importlib.import_module(name)
    top = getattr(module, name)()
    module.snippets_main_after_init(top)  # gives it its size
    top.show()
    top.start()

    def show(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            application.processEvents()
            time.sleep(0.01)

    show(before)
    for variable, value in sliders.items():
        getattr(top, f"_{variable}_win").d_widget.counter.setValue(value)
    show(after)
    top.grab().save(str(picture))
    os._exit(0)  # past the flowgraph's own threads


def companion(flowgraph):
    """GNU Radio Companion with a flowgraph in it, not yet run."""
    import gi
    gi.require_version("Gdk", "3.0")
    gi.require_version("Gtk", "3.0")
    gi.require_version("PangoCairo", "1.0")
    from gnuradio import gr
    # First: the two import each other.
    Platform = importlib.import_module("gnuradio.grc.gui.Platform").Platform
    from gnuradio.grc.gui.Application import Application
    platform = Platform(version=gr.version(), prefs=gr.prefs(), install_prefix=gr.prefix(),
                        version_parts=(gr.major_version(), gr.api_version(), gr.minor_version()))
    platform.build_library()
    return Application([str(flowgraph)], platform)


def save_window(window, picture):
    from gi.repository import Gdk
    Gdk.pixbuf_get_from_window(window, 0, 0, window.get_width(), window.get_height()).savev(
        str(picture), "png", [], [])


def draw_companion(flowgraph, picture):
    """Save GNU Radio Companion's window with a flowgraph in it."""
    application = companion(flowgraph)
    from gi.repository import GLib, Gtk

    def arrange():
        window = application.main_window
        window.resize(1500, 640)
        for panel in window.CONSOLE, window.VARIABLES:
            window.update_panel_visibility(panel, False)
        window.btwin.treeview.expand_row(Gtk.TreePath.new_first(), True)  # AdaNN's blocks
        GLib.timeout_add(2000, save)

    def save():
        save_window(application.main_window.get_window(), picture)
        os._exit(0)

    GLib.timeout_add(2000, arrange)
    application.run([])


def draw_block(name, picture):
    """Save a block as it lies on the canvas, and its dialog as NAME_dialog.png."""
    application = companion(EXAMPLES / "qpsk_start.grc")
    from gi.repository import GLib
    dialogs = []

    def show():
        from gnuradio.grc.gui import Utils
        from gnuradio.grc.gui.PropsDialog import PropsDialog
        graph = application.main_window.current_page.flow_graph
        for connection in list(graph.connections):
            graph.remove_element(connection)
        block = graph.new_block(name)
        graph.blocks[:] = [block]
        block.params["id"].set_value(name.removeprefix("adann_"))
        graph.update()
        Utils.make_screenshot(graph, str(picture))
        dialogs.append(PropsDialog(application.main_window, block))
        dialogs[0].resize(640, 520)
        dialogs[0]._error_box.hide()  # says that nothing is connected
        GLib.timeout_add(6000, save)

    def save():
        save_window(dialogs[0].get_window(), picture.with_stem(f"{name}_dialog"))
        os._exit(0)

    GLib.timeout_add(2000, show)
    application.run([])


def main():
    reader, writer = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-screen", "0", "1600x1200x24"],
                              pass_fds=[writer], stderr=subprocess.DEVNULL)
    os.close(writer)  # a server that does not start is noticed, not waited for
    try:
        os.environ.update(DISPLAY=f":{os.read(reader, 16).decode().strip()}",
                          QT_QPA_PLATFORM="xcb")
        with tempfile.TemporaryDirectory() as folder:
            os.environ["HOME"] = os.environ["XDG_RUNTIME_DIR"] = folder  # fresh settings
            draw_all(Path(folder))
    finally:
        server.terminate()
        server.wait()


def draw_all(folder):
    from PIL import Image
    (folder / "models").symlink_to(EXAMPLES / "models")
    subprocess.run(["grcc", "-o", folder, *(EXAMPLES / f"{name}.grc" for name in SCENES)],
                   check=True)
    scenes = [(draw_companion, EXAMPLES / "own_block_live.grc", DOCS / "companion.png")]
    scenes += [(draw_companion, EXAMPLES / "qpsk_start.grc", DOCS / "qpsk_start.png")]
    names = sorted(path.name.removesuffix(".block.yml") for path in (DOCS.parent / "grc").glob("*.block.yml"))
    scenes += [(draw_block, name, BLOCKS / f"{name}.png") for name in names]
    scenes += [(draw_flowgraph, name, folder, DOCS / f"{name}.png") for name in SCENES]
    for draw, *arguments in scenes:
        process = multiprocessing.get_context("spawn").Process(target=draw, args=arguments)
        process.start()
        process.join(300)  # of a busy machine
        if process.exitcode != 0:
            process.kill()
            sys.exit(f"screenshots: {draw.__name__} of {arguments[0]} failed")
        for picture in arguments[-1].parent.glob(f"{arguments[-1].stem}*.png"):
            Image.open(picture).convert("RGB").quantize(64).save(picture, optimize=True)
            print(f"{picture}: {picture.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
