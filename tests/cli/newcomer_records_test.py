# SPDX-License-Identifier: GPL-3.0-or-later
"""A newcomer with a file of their own: what docs/usage.md says, typed as it stands there, on measured records.

Their symbols prove themselves: PCI Express by 8b/10b, DMR by its sync words.
"""

import pathlib
import re
import subprocess

import numpy as np
import pytest
import scipy.io
from gnuradio.adann import core
from gnuradio.adann.captures.line_codes import check_8b10b
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.offline.blind import blind_labels
from gnuradio.adann.offline.doubts import doubts
from gnuradio.adann.offline.training import feature_view
from records import record

USAGE = pathlib.Path(__file__).parents[2] / "docs/usage.md"
SYNC = "755FD7DF75F7", "DFF57D75DF5D"  # 24 symbols each; dibits 01 and 11 are +3 and -3


def follow(name, folder):
    """Run the listing of docs/usage.md that names the record, in a folder that holds it."""
    path = record(name)
    listing, = (each for each in re.findall(r"```sh\n(.*?)```", USAGE.read_text(), re.DOTALL) if path.name in each)
    (folder / path.name).symlink_to(path)
    done = subprocess.run(["bash", "-e", "-c", listing], cwd=folder, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_pci_express_from_an_oscilloscopes_floats(tmp_path):
    follow("pcie_gen1_8b10b/pcie_c1.bin", tmp_path)
    bits = np.fromfile(tmp_path / "pcie.u8", np.uint8)
    assert bits.size == pytest.approx(49_997, abs=20)
    _, valid = check_8b10b(bits[200:-200])
    assert np.count_nonzero(~valid) <= 2


def test_16qam_over_fibre_starts_blindly_but_for_what_only_labels_tell():
    """I and Q come through filters of their own. In the labels that were sent with the record, I is a symbol later than
    the Q that arrives with it: no blind start can know, nor the signs."""
    received, sent = scipy.io.loadmat(record("arof_mmwave_16qam/10km_16QAM_28_3.mat"))["dataToSave"].T
    samples, constellation = normalized(received.astype(np.complex64)), core.constellation("16qam")
    assert any("I and Q were filtered separately" in each for each in doubts(samples, constellation, 1, 5))
    labels, ratio = blind_labels(feature_view(samples, 1, 5), constellation, True, 25_000)
    decided, paired = constellation.points[labels], np.roll(sent.real, -1) + 1j * sent.imag
    paired *= np.sqrt(np.mean(abs(constellation.points) ** 2) / np.mean(abs(sent) ** 2))
    apart = [np.mean(abs(turn * decided - paired) > 0.1 * abs(paired).max()) for turn in (1, 1j, -1, -1j)]
    assert min(apart) < 2e-3 and ratio > 18  # 1.2e-3, and 18.7 dB; by complex taps alone 8.1e-2


def test_dmr_from_a_radios_audio(tmp_path):
    follow("dmr_4fsk/dmr_it_8.dis", tmp_path)
    decided = np.fromfile(tmp_path / "dmr.u8", np.uint8)
    assert decided.size == pytest.approx(95_897, abs=20)
    # 0 is -3, 2 is +3; blind labels may be inverted, which makes one word the other.
    words = [np.array([{"01": 2, "11": 0}[f"{int(word, 16):048b}"[k:k + 2]] for k in range(0, 48, 2)]) for word in SYNC]
    windows = np.lib.stride_tricks.sliding_window_view(decided, 24)
    wrong = np.array([(windows != word).sum(axis=1) for word in words]).min(axis=0)
    near = np.flatnonzero(wrong <= 6)
    assert near.size == 389
    assert wrong[near].sum() <= 2  # 0 of 9336 symbols
