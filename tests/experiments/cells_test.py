# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of an experiment: any number of workers gives the same, and a killed one is made good."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing import resource_tracker

import dask
import distributed
import psutil
import pytest
from distributed import LocalCluster
from gnuradio.adann import core
from gnuradio.adann.experiments import cells
from gnuradio.adann.experiments.cells import cluster, run_cells
from gnuradio.adann.experiments.vcsel import DEFAULTS, Size, run_equalizer

#: Elsewhere cells run in this process, and what kills a worker would kill it.
with_workers = pytest.mark.skipif(cells._why_alone() is not None, reason="processes cannot share memory here")


def this_process(_):
    return os.getpid()


def blocked_signals(_):
    return signal.pthread_sigmask(signal.SIG_BLOCK, set())


def waits_on(folder):
    (folder / "begun").touch()
    time.sleep(3600)


def first_one_is_killed(folder, cell):
    """(cell, process that ran it); the first process that runs cell 0 does not come back."""
    (folder / f"{cell}.{os.getpid()}").touch()
    if cell == 0 and len(list(folder.glob("0.*"))) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return cell, os.getpid()


@with_workers
def test_cells_come_back_in_order_whatever_the_workers():
    numbers = [(n,) for n in range(-3, 4)]
    counts = []
    with cluster(workers=3):
        assert run_cells(abs, numbers, counts.append) == [3, 2, 1, 0, 1, 2, 3]
    assert counts == [1, 2, 3, 4, 5, 6, 7]
    counts.clear()
    with cluster(workers=1) as alone:
        assert alone is None
        assert run_cells(abs, numbers, counts.append) == [3, 2, 1, 0, 1, 2, 3]
        assert run_cells(this_process, [(0,)]) == [os.getpid()]
        with pytest.raises(ValueError, match="invalid literal"):
            run_cells(int, [("3",), ("three",)])
    assert counts == [1, 2, 3, 4, 5, 6, 7]


@with_workers
def test_the_cell_of_a_killed_worker_is_run_again(tmp_path):
    with cluster(workers=2):
        results = run_cells(first_one_is_killed, [(tmp_path, cell) for cell in range(4)])
    assert [cell for cell, _ in results] == [0, 1, 2, 3]
    tried = {int(path.suffix[1:]) for path in tmp_path.glob("0.*")}
    assert len(tried) == 2 and results[0][1] in tried


@with_workers
def test_a_cell_that_kills_its_workers_is_given_up():
    with cluster(workers=2), pytest.raises(RuntimeError, match="_exit: four workers died"):
        run_cells(os._exit, [(1,)])


@pytest.fixture
def leaves_nothing(tmp_path, monkeypatch):
    """No process, and no file where temporary ones are."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    resource_tracker.ensure_running()  # which stays, for the next cluster
    before = psutil.Process().children(recursive=True)
    yield
    left = [each for each in psutil.Process().children(recursive=True) if each not in before]
    assert not psutil.wait_procs(left, timeout=600)[1]
    assert not list(tmp_path.iterdir())


def while_workers_start(tmp_path_factory, code):
    """Have dask's workers run it."""
    path = tmp_path_factory.mktemp("preload") / "preload.py"
    path.write_text(code)
    return dask.config.set({"distributed.worker.preload": [str(path)]})


@with_workers
@pytest.mark.parametrize("limit", [0, 0.3, 1, 4])
@pytest.mark.parametrize("code", ["import os; os._exit(3)", "import signal; signal.pause()"], ids=["die", "hang"])
def test_workers_that_do_not_come_are_not_waited_for(
        monkeypatch, tmp_path_factory, leaves_nothing, code, limit):
    """However far dask has come in starting them: on a busy machine not even their processes are there."""
    monkeypatch.setattr(cells, "LONGEST_START", limit)
    with while_workers_start(tmp_path_factory, code), pytest.raises(RuntimeError) as error:
        with cluster(workers=2):
            pass
    assert str(error.value).startswith("workers did not come")  # of those that die dask may say more


@with_workers
def test_workers_that_tell_what_is_wrong_are_heard(tmp_path_factory, leaves_nothing):
    with while_workers_start(tmp_path_factory, "raise ImportError('nothing here')"), \
            pytest.raises(RuntimeError, match="^workers did not come: nothing here; --scheduler takes"):
        with cluster(workers=2):
            pass


@with_workers
def test_workers_that_come_late_are_waited_for(tmp_path_factory, leaves_nothing):
    with while_workers_start(tmp_path_factory, "import time; time.sleep(5)"), cluster(workers=2):
        assert run_cells(abs, [(-3,)]) == [3]


@with_workers
def test_a_scheduler_that_is_lost_is_told(tmp_path):
    there = subprocess.Popen([sys.executable, "-c", """if True:
        from distributed import LocalCluster
        with LocalCluster(n_workers=1, dashboard_address=None) as cluster:
            print(cluster.scheduler_address, flush=True)
            input()
        """], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})

    def kill():
        while not (tmp_path / "begun").exists():
            time.sleep(0.1)
        there.kill()

    address = there.stdout.readline().strip()
    threading.Thread(target=kill, daemon=True).start()
    with pytest.raises(ConnectionError, match="the connection to the scheduler was lost"), cluster(address):
        run_cells(waits_on, [(tmp_path,)])
    there.communicate()


def test_without_shared_memory_cells_run_here(monkeypatch):
    """As where /dev/shm is missing or may not be written."""
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("multiprocessing.synchronize.SemLock.__init__", refused)
    with cluster(workers=2) as alone:
        assert alone.startswith("no workers: Permission denied; cells run in this process")
        assert run_cells(this_process, [(0,), (1,)]) == 2 * [os.getpid()]


@with_workers
def test_an_interrupt_while_workers_start_is_answered_when_they_have_come(monkeypatch, leaves_nothing):
    """And is never their own to answer, nor of those that come in the place of one that was killed."""
    begin = distributed.LocalCluster.__init__

    def interrupted(self, *arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)
        begin(self, *arguments, **options)

    with cluster(workers=2):
        before = run_cells(blocked_signals, [(0,), (1,)])
        pytest.raises(RuntimeError, run_cells, os._exit, [(1,)])
        assert all(signal.SIGINT in blocked for blocked in before + run_cells(blocked_signals, [(0,), (1,)]))
    assert signal.SIGINT not in blocked_signals(0)
    monkeypatch.setattr(distributed.LocalCluster, "__init__", interrupted)
    with pytest.raises(KeyboardInterrupt), cluster(workers=2):
        pytest.fail("it was lost")


@with_workers
def test_an_equalizer_does_the_same_on_the_workers_of_another_scheduler(tmp_path):
    network = core.network([44, 10, 4])
    network.initialize(3)
    model, size = core.model(network, 4, 5, False, "pam4"), Size(symbols=32768)
    runs = [(model, dict(DEFAULTS, seed=seed), size) for seed in (0, 1)]
    with cluster(workers=1):
        here = run_cells(run_equalizer, runs)
    with LocalCluster(n_workers=1, dashboard_address=None, local_directory=tmp_path) as other, \
            cluster(other.scheduler_address):
        assert run_cells(run_equalizer, runs) == here
    assert here[0] != here[1]


def reproduce(tmp_path, scheduler):
    return subprocess.run(["adann", "reproduce", "taps", "--quick", "-o", tmp_path / "taps",
                           "--scheduler", scheduler], capture_output=True, text=True, timeout=600)


@with_workers
def test_a_scheduler_without_workers_is_refused(tmp_path):
    with LocalCluster(n_workers=0, dashboard_address=None, local_directory=tmp_path) as other:
        address = other.scheduler_address
        done = reproduce(tmp_path, address)
    assert (done.returncode, done.stderr) == (1, f"adann: the scheduler {address} has no workers\n")


def test_a_scheduler_that_does_not_answer_costs_one_line(tmp_path):
    done = reproduce(tmp_path, "tcp://127.0.0.1:1")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "tcp://127.0.0.1:1" in done.stderr


@with_workers
def test_an_interrupt_ends_all_processes_quietly(tmp_path):
    program = subprocess.Popen(
        ["adann", "reproduce", "frozen", "-o", "frozen"], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    while not (tmp_path / "frozen").exists():  # which is made when the workers are there
        assert program.poll() is None
        time.sleep(0.01)
    processes = psutil.Process(program.pid).children(recursive=True)
    assert len(processes) >= 2 or len(os.sched_getaffinity(0)) == 1
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does
    _, said = program.communicate(timeout=600)
    assert (program.returncode, said) == (130, "adann: interrupted\n")
    assert not psutil.wait_procs(processes, timeout=600)[1]
    assert {path.name for path in tmp_path.iterdir()} == {"frozen"}
