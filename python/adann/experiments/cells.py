# SPDX-License-Identifier: GPL-3.0-or-later
"""An experiment is many independent cells: they run here, on the workers of a dask cluster."""

import contextlib
import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError

from gnuradio import gr


@contextlib.contextmanager
def cluster(scheduler: str | None = None, workers: int | None = None) -> Iterator[None]:
    """Where run_cells runs its cells inside of this context.

    scheduler: the address of a dask scheduler whose workers can import gnuradio.adann, for example
    tcp://host:8786, or None for processes of this machine: `workers` of them, by default one for
    each core. Raises OSError or ValueError if the scheduler is not reached or has no workers.
    """
    # For dask's import, here and in the workers; what goes wrong is raised in run_cells.
    os.environ.setdefault("DASK_LOGGING",
                          "{'distributed': 'critical', 'distributed.client': 'critical'}")
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        if scheduler is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            with _interrupts_ignored():
                # No dashboard; its server, which there is nevertheless, takes any free port.
                scheduler = stack.enter_context(LocalCluster(
                    n_workers=workers or len(os.sched_getaffinity(0)), threads_per_worker=1,
                    memory_limit=None, local_directory=folder, silence_logs=False,
                    dashboard_address=None, scheduler_kwargs={"dashboard_address": "127.0.0.1:0"}))
        client = stack.enter_context(Client(scheduler, timeout="5s"))
        if not client.scheduler_info()["workers"]:
            raise ValueError(f"the scheduler {scheduler} has no workers")
        yield


Progress = Callable[[int, int], None]  # progress(cells done, all cells)


def at_cell(progress: Progress | None, total: int,
            before: int = 0) -> Callable[[int], None] | None:
    """For run_cells: progress(cells done, total), of which `before` were done before."""
    return (lambda done: progress(before + done, total)) if progress else None


def run_cells(function: Callable, cells: Sequence[tuple],
              progress: Callable[[int], None] | None = None) -> list:
    """Call function(*cell) for each cell, and return the results in the order of the cells.

    function: of a module, not a closure; it gets all that it needs from the cell and depends on
    nothing else, so that neither their order nor the number of workers changes a result. The cell
    of a worker that dies is run again, three times at most. progress: called as
    progress(cells done so far). Raises what a cell raises.
    """
    from distributed import KilledWorker, as_completed, default_client

    futures = [default_client().submit(_call, function, *cell, pure=False) for cell in cells]
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


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Also by the processes started meanwhile, for good: Ctrl-C is their master's to answer."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
