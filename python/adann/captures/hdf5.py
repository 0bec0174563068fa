# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples in HDF5 files, which may neither open others nor hold far more than their size.

Errors are ValueErrors without the file's name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt


def most_bytes(path: Path) -> int:
    """That samples of a file may take in memory."""
    return max(64 << 20, 64 * path.stat().st_size)


def check_size(size: int, path: Path) -> None:
    """Refuse what takes far more memory than its file: no record is compressed as well."""
    allowed = most_bytes(path)
    if size > allowed:
        raise ValueError(f"{-(-size >> 20)} MiB of samples in a file of {path.stat().st_size} bytes, "
                         f"allowed: {allowed >> 20} MiB")


def check_hdf5(group: Any, path: Path) -> None:
    """Refuse an HDF5 file that is to open others, or that holds far more than its size."""
    import h5py

    seen, todo, size = {group}, [group], 0
    while todo:
        group = todo.pop()
        for name in group:
            link, item = group.get(name, getlink=True), None
            if not isinstance(link, h5py.ExternalLink):
                item = group.get(name)  # None for a soft link to nowhere
            if item is None and isinstance(link, h5py.HardLink):
                raise ValueError(f"{name} cannot be read: damaged, or written by a newer HDF5 than "
                                 f"{h5py.version.hdf5_version}, which is here")
            if isinstance(link, h5py.ExternalLink) or isinstance(item, h5py.Dataset) and (
                    item.external or item.is_virtual):
                raise ValueError(f"{name} lies in another file, allowed: samples in this one")
            if isinstance(item, h5py.Dataset):  # one that has two names is read twice
                size += item.size * item.dtype.itemsize
                check_size(size, path)
            elif isinstance(item, h5py.Group) and isinstance(link, h5py.HardLink) and item not in seen:
                seen.add(item)
                todo.append(item)


def read_infiniium(path: Path) -> tuple[dict[str, npt.NDArray], float, str]:
    """{number: (n,)} of the channels, seconds per sample, and the instrument's model or "".

    Source: Keysight, Infiniium user's guide, "HDF5 Schema for Infiniium Oscilloscope Data".
    """
    import h5py

    with h5py.File(path) as file:
        check_hdf5(file, path)
        if "Waveforms" not in file:
            raise ValueError("no group Waveforms, as an Infiniium oscilloscope writes it; save other samples as .npy")
        channels, intervals = {}, set()
        for name, group in file["Waveforms"].items():
            if group.attrs.get("NumSegments", 1) > 1 or len(group) > 1:
                raise ValueError(f"{name} is segmented, allowed: 1 segment")
            data = next(iter(group.values()))[:]
            if data.size != group.attrs["NumPoints"]:
                raise ValueError(f"truncated: {name} has {data.size} of "
                                 f"{group.attrs['NumPoints']} samples")
            if data.dtype.kind in "iu":
                data = data * float(group.attrs["YInc"]) + float(group.attrs["YOrg"])
            channels[name.removeprefix("Channel ")] = data
            intervals.add(float(group.attrs["XInc"]))
        if not channels:
            raise ValueError("no samples: its group Waveforms is empty")
        if len(intervals) != 1:
            raise ValueError(f"{len(intervals)} different sample rates, allowed: 1")
        frame = file.get("Frame/TheFrame")
        model = frame[()]["Model"].item().decode() if frame else ""
    return channels, intervals.pop(), model
