# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples in .wav and other sound files, as libsndfile reads them, whatever a recorder has made of their sizes.

Errors are ValueErrors without the file's name. Source: Microsoft, Multimedia Programming Interface and Data
Specifications 1.0; EBU Tech 3306 (RF64); Apple, Audio Interchange File Format 1.3, Core Audio Format 1.0.
"""

from __future__ import annotations

import contextlib
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from .notes import note


@dataclass(frozen=True)
class _Container:
    """How chunks follow one another: first: where; name, length: bytes of both; own: whether the length counts them;
    padding: they begin at multiples of it; before: bytes of the chunk of samples that precede these."""

    order: Literal["little", "big"]
    first: int = 12
    name: int = 4
    length: int = 4
    own: bool = False
    padding: int = 2
    before: int = 0


_WAV = {b"RIFF": _Container("little"), b"RF64": _Container("little"), b"RIFX": _Container("big")}
_CONTAINERS = {**_WAV, b"FORM": _Container("big", before=8), b"riff": _Container("little", 40, 16, 8, True, 8),
               b"caff": _Container("big", 8, 4, 8, padding=1, before=4)}
_AU: dict[bytes, Literal["little", "big"]] = {b".snd": "big", b"dns.": "little"}
_DATA = b"data", b"SSND"
#: Bytes of a sample by libsndfile's name of its coding.
_BYTES = {"PCM_S8": 1, "PCM_U8": 1, "ULAW": 1, "ALAW": 1, "PCM_16": 2, "PCM_24": 3, "PCM_32": 4, "FLOAT": 4,
          "DOUBLE": 8}
#: What is compressed without loss. ALAC of 20, 24 and 32 bits is not read as libsndfile itself has written it.
_COMPRESSED = "ALAC_16"
#: Of sound files other than .wav.
SUFFIXES = (".flac", ".w64", ".rf64", ".aif", ".aiff", ".aifc", ".au", ".snd", ".caf", ".ogg", ".oga", ".opus", ".mp3")
_RAW = "for raw numbers give their type, such as ci16, and the sample rate"
#: Bytes from which on a length, of 32 and of 64 bits, is what programs write that do not know it.
_NO_LENGTH, _NO_LONG_LENGTH = 0x7FFF0000, 1 << 62
_BLOCK = 1 << 16  # samples of each channel that are read at a time
_REST = 0.01  # of the samples: what may follow them and be nothing


def read_wav(path: Path) -> tuple[dict[str, npt.NDArray], float]:
    """As read_sound, of a file that has to be a .wav."""
    with open(path, "rb") as head:
        if head.read(4) not in (*_WAV, b"riff"):  # what else has the name .wav no radio program has written
            raise ValueError(f"not a .wav; {_RAW}")
    return read_sound(path)


def read_sound(path: Path) -> tuple[dict[str, npt.NDArray], float]:
    """{number: float32 (n,)} of the channels, integers scaled to ±1, and the sample rate.

    Where the header gives fewer samples than there are, as of a recorder that was killed, of a stream, and of a size
    above 4 GiB that wrapped round, all up to the file's end are taken. That, and a truncated file, are noted.
    """
    import soundfile

    with contextlib.ExitStack() as opened:
        try:
            file = opened.enter_context(soundfile.SoundFile(path))
            _check_coding(file)
            _check_width(path)
            start, told, is_wrong = _samples_told(path) if file.subtype in _BYTES else (0, 0, False)
            there = path.stat().st_size - start
            if is_wrong:
                file = opened.enter_context(soundfile.SoundFile(
                    opened.enter_context(_Tail(path, start)), format="RAW", subtype=file.subtype, endian=_endian(file),
                    channels=file.channels, samplerate=file.samplerate))
            samples = _read(file, path)
            if start and not is_wrong:  # of a .w64 libsndfile reads the chunks after them, too
                samples = samples[:told // (_BYTES[file.subtype] * file.channels)]
        except soundfile.LibsndfileError as error:
            raise _refused(error) from error
    if is_wrong:
        known = 0 < told < _NO_LENGTH or 0xFFFFFFFF < told < _NO_LONG_LENGTH
        note(path, f"its header gives {f'{told} bytes' if known else 'no length'} of samples, all {there} up to its "
                   f"end are taken, {len(samples)} samples{' of each channel' if samples.shape[1] > 1 else ''}")
    return _channels(samples), float(file.samplerate)


def _channels(samples):
    return {str(number): channel for number, channel in enumerate(samples.T, 1)}


def _check_coding(file):
    if file.format == "RAW":  # what libsndfile takes an .au for that has no header
        raise ValueError(f"no header; {_RAW}")
    if file.subtype not in (*_BYTES, _COMPRESSED):
        raise ValueError(f"sound coded as {file.subtype}, allowed: samples, as PCM and floats are, and {_COMPRESSED}")


def _endian(file):
    """"LITTLE" or "BIG"; libsndfile says so only of files that differ from their format's order."""
    by_format = "BIG" if file.format in ("AIFF", "AU", "CAF") else "LITTLE"
    return by_format if file.endian == "FILE" else file.endian


def _read(file, path):
    """(n, channels). A FLAC may have no length, or end before it, which is noted."""
    import soundfile

    if file.format != "FLAC":
        return file.read(dtype="float32", always_2d=True)
    parts, count = [], _BLOCK
    while count == _BLOCK:
        part = np.full((_BLOCK, file.channels), np.nan, np.float32)
        with contextlib.suppress(soundfile.LibsndfileError):  # after what it has read
            file.read(out=part)
        count = int(np.isfinite(part[:, 0]).sum())
        parts.append(part[:count])
    samples = np.concatenate(parts)
    if 0 < len(samples) != file.frames:
        told = "no length" if file.frames > _NO_LONG_LENGTH else f"{file.frames} samples"
        note(path, f"its header gives {told}, all {len(samples)} up to its end or to damage are taken")
    return samples


def _refused(error):
    return ValueError(f"{error.error_string.rstrip('.') or 'damaged'}; {_RAW}")


class _Tail(io.FileIO):
    """A file from some byte on."""

    def __init__(self, path, start):
        super().__init__(path)
        self._start = start
        self.seek(0)

    def seek(self, offset, whence=os.SEEK_SET):
        return super().seek(offset + (self._start if whence == os.SEEK_SET else 0), whence) - self._start

    def tell(self):
        return super().tell() - self._start


def _chunks(file, container, at):
    """Name, first byte and stated length of each chunk from byte `at` on, and where the next one begins."""
    head, end = container.name + container.length, os.fstat(file.fileno()).st_size
    while at + head <= end:
        text = _at(file, at, head)
        length = int.from_bytes(text[container.name:], container.order)
        length = max(0, length - head) if container.own else length
        following = at + head + length
        yield text[:4], at + head, length, following + -following % container.padding
        at = following + -following % container.padding


def _check_width(path):
    """Raises ValueError for samples that take more bytes than they need, of which libsndfile reads all."""
    with open(path, "rb") as file:
        container = _CONTAINERS.get(_at(file, 0, 4))
        for name, begin, _, _ in _chunks(file, container, container.first) if container else ():
            if name == b"fmt ":
                channels, block, bits = (int.from_bytes(_at(file, begin + place, 2), container.order)
                                         for place in (2, 12, 14))
                if block != channels * -(-bits // 8):
                    raise ValueError(f"{channels} channels of {bits} bits in {block} bytes, allowed: "
                                     f"{channels * -(-bits // 8)}; {_RAW}")
                return


def _samples_told(path):
    """Where the samples begin, 0: not known; how many bytes of them the header gives; whether there are less, or more
    than a rest that is no chunks."""
    end = path.stat().st_size
    with open(path, "rb") as file:
        magic, long = _at(file, 0, 4), None
        if magic in _AU:
            start, told = (int.from_bytes(_at(file, place, 4), _AU[magic]) for place in (4, 8))
            return start, told, told > end - start or end - start - told > _REST * told
        container = _CONTAINERS.get(magic)
        for name, begin, length, following in _chunks(file, container, container.first) if container else ():
            if name == b"ds64":
                long = int.from_bytes(_at(file, begin + 8, 8), container.order)
            if name in _DATA:
                told = long if long is not None and length == 0xFFFFFFFF else length
                start, told = begin + container.before, max(0, told - container.before)
                return start, told, told > end - start or (
                    end - start - told > _REST * told and not _are_chunks(file, container, following, end))
    return 0, 0, False


def _are_chunks(file, container, at, end):
    """Whether chunks fill a file from byte `at` to its end."""
    for name, _, _, following in _chunks(file, container, at):
        if container.name == len(name) and not (name.isascii() and name.decode().isprintable()):
            return False
        at = following
        if at >= end:
            break
    return end <= at <= end + container.padding - 1


def _at(file, place, size):
    file.seek(place)
    return file.read(size)
