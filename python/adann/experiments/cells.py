# SPDX-License-Identifier: GPL-3.0-or-later
"""An experiment is many independent cells: they run here, in processes side by side."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from gnuradio import gr


def run_cells(function, cells, progress=None, workers=None):
    """Call function(*cell) for each cell, and return the results in the order of the cells.

    function: of a module, not a closure; it gets all that it needs from the cell and depends on
    nothing else, so that neither their order nor `workers`, by default all cores, changes a
    result. progress: called as progress(cells done so far).
    """
    # Not forked: GNU Radio's threads would be left behind.
    with ProcessPoolExecutor(workers or len(os.sched_getaffinity(0)),
                             get_context("spawn"), _silence) as pool:
        results = []
        for result in pool.map(function, *zip(*cells)):
            results.append(result)
            if progress:
                progress(len(results))
        return results


def _silence():
    """An experiment reports what the guard did; its warnings would only tear the progress bar."""
    gr.logging().set_default_level(gr.log_levels.err)
