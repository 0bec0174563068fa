# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures and reference labels in files: SigMF pairs, raw samples, raw labels.

Whatever is wrong with a file is a ValueError of one line that names it.
"""

import contextlib
import os
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

RAW_TYPES = {".f32": np.dtype("<f4"), ".c64": np.dtype("<c8"), ".cfile": np.dtype("<c8")}
SIGMF_SUFFIXES = (".sigmf-meta", ".sigmf-data")


@dataclass
class Capture:
    """samples: float32 or complex64 (n,), memory-mapped where the file allows it; may be NaN or
    infinite. sample_rate: samples per second, None where the file does not say."""

    samples: np.ndarray
    sample_rate: float | None
    path: Path


@dataclass
class StoredCapture:
    """How a capture lies on disk. path: of the samples, which fill it; datatype: SigMF's name of
    their type, as rf32_le; size: samples; sample_rate: as in Capture."""

    path: Path
    datatype: str
    size: int
    sample_rate: float | None


def read_capture(path):
    """Open a capture.

    path: a SigMF pair (its .sigmf-meta, its .sigmf-data or their common stem; float and integer
    types, integers scaled to ±1), or raw little-endian float32 (.f32) or complex64 (.c64, .cfile).
    Raises ValueError for a file that is missing, empty, truncated or of another kind.
    """
    path = Path(path)
    if path.suffix in RAW_TYPES:
        return Capture(_map_raw(path, RAW_TYPES[path.suffix]), None, path)
    meta = _find_meta(path)
    record = _open_sigmf(meta)
    with _about_sigmf(meta):
        samples = record[:]
    samples = samples.astype("<c8" if np.iscomplexobj(samples) else "<f4", copy=False)
    return Capture(samples, record.get_global_field("core:sample_rate"), meta)


def stored_capture(path):
    """Check a capture without reading its samples into memory, for who reads them himself.

    path and errors as for read_capture.
    """
    path = Path(path)
    if path.suffix in RAW_TYPES:
        dtype = RAW_TYPES[path.suffix]
        return StoredCapture(path, "cf32_le" if dtype.kind == "c" else "rf32_le",
                             _map_raw(path, dtype).size, None)
    record = _open_sigmf(_find_meta(path))
    return StoredCapture(Path(record.data_file), record.get_global_field("core:datatype"),
                         record.sample_count, record.get_global_field("core:sample_rate"))


def _find_meta(path):
    meta = path.with_suffix(".sigmf-meta") if path.suffix in SIGMF_SUFFIXES else Path(
        f"{path}.sigmf-meta")
    if meta.is_file():
        return meta
    if path.is_file() and path.suffix not in SIGMF_SUFFIXES:
        raise ValueError(f"{path}: not a capture; allowed: .sigmf-meta, .f32, .c64, .cfile")
    raise ValueError(f"{meta if path.suffix in SIGMF_SUFFIXES else path}: no such file")


def read_reference(path, size):
    """The labels in a raw .u8 file as uint8 (n,); size: M, so that labels are 0 … M-1.

    Raises ValueError for a file that is missing or empty, and for a label out of range.
    """
    labels = _map_raw(Path(path), np.dtype(np.uint8))
    if labels.max() >= size:
        first = int(np.argmax(labels >= size))
        raise ValueError(f"{path}: label {first} is {labels[first]}, allowed: 0 to {size - 1}")
    return labels


def write_capture(meta_path, samples, sample_rate=None, description="", extra=None):
    """Write a SigMF pair, rf32_le or cf32_le; nothing half-written is ever seen under its name.

    meta_path: the .sigmf-meta or the stem; samples: (n,), written as float32 or complex64;
    extra: further fields of the metadata's global object, e.g. {"core:hw": "DSA91604A"}.
    Returns the path of the .sigmf-meta.
    """
    import sigmf

    meta_path = Path(meta_path)
    stem = meta_path.with_suffix("") if meta_path.suffix in SIGMF_SUFFIXES else meta_path
    is_complex = np.iscomplexobj(samples)
    fields = {"core:datatype": "cf32_le" if is_complex else "rf32_le", **(extra or {})}
    if sample_rate is not None:
        fields["core:sample_rate"] = float(sample_rate)
    if description:
        fields["core:description"] = description
    with tempfile.TemporaryDirectory(dir=stem.parent, prefix=".adann-") as scratch:
        data = Path(scratch, f"{stem.name}.sigmf-data")
        np.asarray(samples, "<c8" if is_complex else "<f4").tofile(data)
        record = sigmf.SigMFFile(data_file=data, global_info=fields)
        record.add_capture(0)
        record.tofile(data.with_suffix(".sigmf-meta"))
        for suffix in (".sigmf-data", ".sigmf-meta"):
            os.replace(data.with_suffix(suffix), f"{stem}{suffix}")
    return Path(f"{stem}.sigmf-meta")


@contextlib.contextmanager
def atomic_output(path):
    """Yield a temporary path next to `path` that becomes `path` if the block ends well."""
    path = Path(path)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".adann-") as scratch:
        temporary = Path(scratch, path.name)
        yield temporary
        os.replace(temporary, path)


def check_file(path):
    """Its size in bytes. Raises ValueError if it is missing, empty or not a file."""
    if not path.is_file():
        raise ValueError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
    size = path.stat().st_size
    if not size:
        raise ValueError(f"{path}: empty")
    return size


def _map_raw(path, dtype):
    size = check_file(path)
    if size % dtype.itemsize:
        raise ValueError(f"{path}: truncated: {size} bytes are not a multiple of "
                         f"{dtype.itemsize}, the size of a sample")
    return np.memmap(path, dtype, "r")


def _open_sigmf(meta):
    import sigmf

    data = meta.with_suffix(".sigmf-data")
    if not data.is_file():
        raise ValueError(f"{data}: no such file")
    if not data.stat().st_size:
        raise ValueError(f"{data}: empty")
    # sigmf only warns about data that end in the middle of a sample.
    with _about_sigmf(meta), warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        record = sigmf.fromfile(meta)
        record.validate()
    if record.num_channels != 1:
        raise ValueError(f"{meta}: {record.num_channels} channels, allowed: 1")
    return record


@contextlib.contextmanager
def _about_sigmf(meta):
    """sigmf lets the errors of json, jsonschema and numpy through."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{meta}: {error.strerror}") from error
    except Exception as error:
        raise ValueError(f"{meta}: {first_line(error)}") from error


def first_line(error):
    """What an exception says, or else is."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
