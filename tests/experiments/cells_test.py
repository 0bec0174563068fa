# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of an experiment: any number of workers gives the same, and a killed one is made good."""

import os
import signal
import subprocess
import time

import psutil
import pytest
from distributed import LocalCluster
from gnuradio.adann import core
from gnuradio.adann.experiments.cells import cluster, run_cells
from gnuradio.adann.experiments.vcsel import DEFAULTS, Size, run_equalizer


def first_one_is_killed(folder, cell):
    """(cell, process that ran it); the first process that runs cell 0 does not come back."""
    (folder / f"{cell}.{os.getpid()}").touch()
    if cell == 0 and len(list(folder.glob("0.*"))) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return cell, os.getpid()


def test_cells_come_back_in_order_whatever_the_workers():
    cells = [(n,) for n in range(-3, 4)]
    counts = []
    with cluster(workers=3):
        assert run_cells(abs, cells, counts.append) == [3, 2, 1, 0, 1, 2, 3]
    assert counts == [1, 2, 3, 4, 5, 6, 7]
    with cluster(workers=1):
        assert run_cells(abs, cells) == [3, 2, 1, 0, 1, 2, 3]
        with pytest.raises(ValueError, match="invalid literal"):
            run_cells(int, [("3",), ("three",)])


def test_the_cell_of_a_killed_worker_is_run_again(tmp_path):
    with cluster(workers=2):
        results = run_cells(first_one_is_killed, [(tmp_path, cell) for cell in range(4)])
    assert [cell for cell, _ in results] == [0, 1, 2, 3]
    tried = {int(path.suffix[1:]) for path in tmp_path.glob("0.*")}
    assert len(tried) == 2 and results[0][1] in tried


def test_a_cell_that_kills_its_workers_is_given_up():
    with cluster(workers=1), pytest.raises(RuntimeError, match="_exit: four workers died"):
        run_cells(os._exit, [(1,)])


def test_an_equalizer_does_the_same_on_the_workers_of_another_scheduler(tmp_path):
    network = core.network([44, 10, 4])
    network.initialize(3)
    model, size = core.model(network, 4, 5, False, "pam4"), Size(symbols=32768)
    cells = [(model, dict(DEFAULTS, seed=seed), size) for seed in (0, 1)]
    here = [run_equalizer(*cell) for cell in cells]
    with LocalCluster(n_workers=1, dashboard_address=None, local_directory=tmp_path) as other, \
            cluster(other.scheduler_address):
        assert run_cells(run_equalizer, cells) == here
    assert here[0] != here[1]


def reproduce(tmp_path, scheduler):
    return subprocess.run(["adann", "reproduce", "taps", "--quick", "-o", tmp_path / "taps",
                           "--scheduler", scheduler], capture_output=True, text=True, timeout=600)


def test_a_scheduler_without_workers_is_refused(tmp_path):
    with LocalCluster(n_workers=0, dashboard_address=None, local_directory=tmp_path) as other:
        address = other.scheduler_address
        done = reproduce(tmp_path, address)
    assert (done.returncode, done.stderr) == (1, f"adann: the scheduler {address} has no workers\n")


def test_a_scheduler_that_does_not_answer_costs_one_line(tmp_path):
    done = reproduce(tmp_path, "tcp://127.0.0.1:1")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "tcp://127.0.0.1:1" in done.stderr


def test_an_interrupt_ends_all_processes_quietly(tmp_path):
    program = subprocess.Popen(
        ["adann", "reproduce", "frozen", "-o", "frozen"], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    while not (tmp_path / "frozen").exists():  # which is made when the workers are there
        assert program.poll() is None
        time.sleep(0.01)
    processes = psutil.Process(program.pid).children(recursive=True)
    assert len(processes) >= 2
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does
    _, said = program.communicate(timeout=600)
    assert (program.returncode, said) == (130, "adann: interrupted\n")
    assert not psutil.wait_procs(processes, timeout=120)[1]
    assert {path.name for path in tmp_path.iterdir()} == {"frozen"}
