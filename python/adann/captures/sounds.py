# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples in .wav and other sound files, as libsndfile reads them, whatever a recorder has made of a .wav's sizes.

Errors are ValueErrors without the file's name. Source: Microsoft, Multimedia Programming Interface and Data
Specifications 1.0; EBU Tech 3306 (RF64).
"""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

import numpy.typing as npt

from .notes import note

_ORDERS = {b"RIFF": "little", b"RF64": "little", b"RIFX": "big"}
_SAMPLES = ("PCM", "FLOAT", "DOUBLE", "ULAW", "ALAW")  # how libsndfile's names of them begin
#: Of sound files that have whole headers.
SUFFIXES = (".flac", ".w64", ".rf64", ".aif", ".aiff", ".aifc", ".au", ".snd", ".caf", ".ogg", ".oga", ".opus", ".mp3")
_RAW = "for raw numbers give their type, such as ci16, and the sample rate"
_NO_LENGTH = 0x7FFF0000  # bytes from which on a length is what programs write that do not know it
_REST = 0.01  # of the samples: what may follow them and be nothing


def read_wav(path: Path) -> tuple[dict[str, npt.NDArray], float]:
    """{number: float32 (n,)} of the channels, integers scaled to ±1, and the sample rate.

    Where the header gives fewer samples than there are, as of a recorder that was killed, of a stream, and of a size
    above 4 GiB that wrapped round, all up to the file's end are taken. That, and a truncated file, are noted.
    """
    import soundfile

    with open(path, "rb") as head:
        if head.read(4) not in (*_ORDERS, b"riff"):  # what else has the name .wav no radio program has written
            raise ValueError(f"not a .wav; {_RAW}")
    with contextlib.ExitStack() as opened:
        try:
            file = opened.enter_context(soundfile.SoundFile(path))
            _check_coding(file)
            _check_width(path)
            start, told = _samples_told(path)
            there = path.stat().st_size - start
            if start and _lost(path, start, told, there):
                file = opened.enter_context(soundfile.SoundFile(
                    opened.enter_context(_Tail(path, start)), format="RAW", subtype=file.subtype, endian=file.endian,
                    channels=file.channels, samplerate=file.samplerate))
            samples = file.read(dtype="float32", always_2d=True)
        except soundfile.LibsndfileError as error:
            raise _refused(error) from error
    if start and told != there and (told > there or _lost(path, start, told, there)):
        known = 0 < told < _NO_LENGTH or told > 0xFFFFFFFF
        note(path, f"its header gives {f'{told} bytes' if known else 'no length'} of samples, all {there} up to its "
                   f"end are taken, {len(samples)} samples{' of each channel' if samples.shape[1] > 1 else ''}")
    return _channels(samples), float(file.samplerate)


def read_sound(path: Path) -> tuple[dict[str, npt.NDArray], float]:
    """As read_wav, of a file of SUFFIXES."""
    import soundfile

    if path.suffix.lower() == ".rf64":
        return read_wav(path)
    try:
        with soundfile.SoundFile(path) as file:
            _check_coding(file)
            return _channels(file.read(dtype="float32", always_2d=True)), float(file.samplerate)
    except soundfile.LibsndfileError as error:
        raise _refused(error) from error


def _channels(samples):
    return {str(number): channel for number, channel in enumerate(samples.T, 1)}


def _check_coding(file):
    if file.format == "RAW":  # what libsndfile takes an .au for that has no header
        raise ValueError(f"no header; {_RAW}")
    if not file.subtype.startswith(_SAMPLES):
        raise ValueError(f"sound coded as {file.subtype}, allowed: samples, as PCM and floats are")


def _refused(error):
    return ValueError(f"{error.error_string.rstrip('.')}; {_RAW}")


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


def _chunks(file):
    """Name, first byte and stated length of each, by its byte order; none where the file is no RIFF."""
    order = _ORDERS.get(_at(file, 0, 4))
    at = 12
    while order and len(head := _at(file, at, 8)) == 8:
        length = int.from_bytes(head[4:], order)
        yield head[:4], at + 8, length, order
        at += 8 + length + length % 2


def _check_width(path):
    """Raises ValueError for samples that take more bytes than they need, of which libsndfile reads all."""
    with open(path, "rb") as file:
        for name, begin, _, order in _chunks(file):
            if name == b"fmt ":
                channels, block, bits = (int.from_bytes(_at(file, begin + place, 2), order) for place in (2, 12, 14))
                if block != channels * -(-bits // 8):
                    raise ValueError(f"{channels} channels of {bits} bits in {block} bytes, allowed: "
                                     f"{channels * -(-bits // 8)}; {_RAW}")
                return


def _samples_told(path):
    """Where the samples begin, 0: not known, and how many bytes of them the header gives."""
    with open(path, "rb") as file:
        long = None
        for name, begin, length, order in _chunks(file):
            if name == b"ds64":
                long = int.from_bytes(_at(file, begin + 8, 8), order)
            if name == b"data":
                return begin, long if long is not None and length == 0xFFFFFFFF else length
    return 0, 0


def _lost(path, start, told, there):
    """Whether more than a rest follows the stated samples, and is no chunks."""
    if there - told <= _REST * told:
        return False
    with open(path, "rb") as file:
        order, at, end = _ORDERS[file.read(4)], start + told + told % 2, start + there
        while at < end and (head := _at(file, at, 8))[:4].isascii() and head[:4].decode().isprintable():
            at += 8 + int.from_bytes(head[4:], order)
            at += at % 2
    return not end <= at <= end + 1


def _at(file, place, size):
    file.seek(place)
    return file.read(size)
