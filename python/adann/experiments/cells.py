# SPDX-License-Identifier: GPL-3.0-or-later
"""An experiment is many independent cells: they run here, on the workers of a dask cluster or in this process."""

import contextlib
import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any

from gnuradio import gr

LONGEST_START = 120  # s, for workers to come; 3 s on two cores that are idle, 30 s on two that are not


@contextlib.contextmanager
def cluster(scheduler: str | None = None, workers: int | None = None) -> Iterator[str | None]:
    """Where run_cells runs its cells inside of this context.

    scheduler: the address of a dask scheduler whose workers can import gnuradio.adann, for example
    tcp://host:8786, or None for processes of this machine: `workers` of them, by default one for
    each core. Of one there is none: cells run in this process, with the same results, and so they do where processes
    cannot share memory. Yields that reason, or None.
    Raises OSError or ValueError if the scheduler is not reached or has no workers, RuntimeError if processes do not
    come within LONGEST_START.
    """
    workers = workers or len(os.sched_getaffinity(0))
    if scheduler is None and (workers == 1 or (reason := _why_alone())):
        yield None if workers == 1 else reason
        return
    # For dask's import, here and in the workers; what goes wrong is raised in run_cells.
    os.environ.setdefault("DASK_LOGGING",
                          "{'distributed': 'critical', 'distributed.client': 'critical', 'asyncio': 'critical', "
                          "'tornado.application': 'critical'}")
    import dask
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        if scheduler is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            stack.enter_context(dask.config.set({"temporary-directory": folder}))
            with _interrupts_held():
                # No dashboard; its server, which there is nevertheless, takes any free port.
                scheduler = stack.enter_context(_closing(LocalCluster(
                    n_workers=0, threads_per_worker=1, memory_limit=None, local_directory=folder, silence_logs=False,
                    dashboard_address=None, scheduler_kwargs={"dashboard_address": "127.0.0.1:0"})))
                _start_workers(scheduler, workers)
        client = stack.enter_context(Client(scheduler, timeout="5s"))
        if not client.scheduler_info()["workers"]:
            raise ValueError(f"the scheduler {scheduler} has no workers")
        yield None


@contextlib.contextmanager
def _closing(local: Any) -> Iterator[Any]:
    """Close a LocalCluster at the end."""
    try:
        yield local
    finally:
        _close(local)


def _close(local: Any) -> None:
    """Close a LocalCluster, also where workers fail or come just then: dask says so and does not close it."""
    from distributed.core import Status

    for _ in range(3):
        with contextlib.suppress(AssertionError):
            local.close()
        if local.status == Status.closed:
            return
        for each in local, *local._created:
            if each.status != Status.closed:
                each.status = Status.failed  # else the next call waits for this one, or asserts


Progress = Callable[[int, int], None]  # progress(cells done, all cells)


def at_cell(progress: Progress | None, total: int,
            before: int = 0) -> Callable[[int], None] | None:
    """For run_cells: progress(cells done, total), of which `before` were done before."""
    return (lambda done: progress(before + done, total)) if progress else None


def run_cells(function: Callable, cells: Sequence[tuple],
              progress: Callable[[int], None] | None = None) -> list:
    """Call function(*cell) for each cell, on the workers of the cluster() around or in this process, and return the
    results in the order of the cells.

    function: of a module, not a closure; it gets all that it needs from the cell and depends on
    nothing else, so that neither their order nor the number of workers changes a result. The cell
    of a worker that dies is run again, three times at most. progress: called as
    progress(cells done so far). Raises what a cell raises.
    """
    from distributed import KilledWorker, as_completed, default_client

    try:
        client = default_client()
    except ValueError:  # there is none
        client = None
    if client is None:
        here = []
        for cell in cells:
            here.append(_call(function, *cell))
            if progress:
                progress(len(here))
        return here
    futures = [client.submit(_call, function, *cell, pure=False) for cell in cells]
    results = {}
    try:
        for future in as_completed(futures):
            results[future.key] = future.result()
            if progress:
                progress(len(results))
    except KilledWorker as error:
        raise RuntimeError(f"{function.__name__}: four workers died of one cell") from error
    except CancelledError as error:
        raise ConnectionError("the connection to the scheduler was lost") from error
    return [results[future.key] for future in futures]


def _call(function: Callable, *cell: object) -> object:
    """An experiment reports what the guard did; its warnings would only tear the progress bar."""
    gr.logging().set_default_level(gr.log_levels.err)
    return function(*cell)


def _why_alone() -> str | None:
    """Why processes cannot hand each other anything here; None: they can."""
    try:
        multiprocessing.get_context("spawn").Semaphore()
    except (OSError, ImportError) as error:
        reason = getattr(error, "strerror", None) or error
        return f"no workers: {reason}; cells run in this process, one after the other (is /dev/shm there?)"
    return None


def _start_workers(local: Any, count: int) -> None:
    """Raises RuntimeError, one sentence that says what to do, if they do not come; no process is left then.

    local: a LocalCluster.
    """
    async def come() -> None:
        local.scale(count)
        await local

    try:
        local.sync(come, callback_timeout=LONGEST_START)
    except Exception as error:
        with _workers_given_up():
            _close(local)
        reason: BaseException = error
        while reason.__cause__ and not isinstance(reason, TimeoutError):
            reason = reason.__cause__
        said = f" within {LONGEST_START} s" if isinstance(reason, TimeoutError) else f": {reason}"
        raise RuntimeError(f"workers did not come{said}; --scheduler takes those of a dask scheduler") from error


@contextlib.contextmanager
def _workers_given_up() -> Iterator[None]:
    """Inside, no worker lives on, nor one that only now comes to be started.

    Else dask starts workers that die again and again, and cannot close a cluster while one is starting.
    """
    from distributed import Nanny
    from distributed.core import Status

    closing = Status.closing, Status.closed, Status.closing_gracefully
    ended = threading.Event()

    def kill() -> None:
        while not ended.wait(0.05):
            for nanny in list(Nanny._instances):
                if nanny.process and nanny.status not in closing:
                    nanny.status = Status.failed
            kill_all()

    def kill_all() -> list:
        processes = [each for each in multiprocessing.active_children()
                     if each.name.startswith("Dask Worker process")]
        for each in processes:
            each.kill()
        return processes

    killing = threading.Thread(target=kill)
    killing.start()
    try:
        yield
    finally:
        ended.set()
        killing.join()
        for each in kill_all():
            each.join()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """A SIGINT that comes inside is answered at the end. It is blocked for good in threads and processes that start
    meanwhile, and in those that they start: Ctrl-C is their master's to answer."""
    come = []
    before = signal.signal(signal.SIGINT, lambda *_: come.append(True))  # of threads in which it is not blocked
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, before)
        if come:
            signal.raise_signal(signal.SIGINT)
