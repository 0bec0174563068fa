# SPDX-License-Identifier: GPL-3.0-or-later
"""Sound files as recorders, streams and interrupted programs leave them: all samples, or a sentence says why not."""

import io
import struct
import warnings

import numpy as np
import pytest
import soundfile
from click.testing import CliRunner
from gnuradio.adann.captures.notes import CaptureWarning
from gnuradio.adann.captures.oscilloscopes import read_scope_files
from gnuradio.adann.cli import main

CODES = np.random.default_rng(4).integers(-2**15, 2**15, (1001, 2))  # an odd number, which chunks are padded after
UNSET, WHOLE = 0xFFFFFFFF, 4 * len(CODES)
LIST = b"LIST" + struct.pack("<I", 26) + b"INFOISFT\x0d\0\0\0a recorder 1\0\0"


def kind(tag=1, bits=16, channels=2, rate=48000, order="<", extra=b""):
    """The body of a fmt chunk."""
    frame = channels * bits // 8
    return struct.pack(f"{order}HHIIHH", tag, channels, rate, rate * frame, frame, bits) + extra


def extensible(tag, bits):
    return kind(0xFFFE, bits, extra=struct.pack("<HHIH", 22, bits, 3, tag)
                + bytes.fromhex("000000001000800000AA00389B71"))


def stored(form):
    """The bytes of CODES / 2**15."""
    if form == "i24":
        return (CODES << 8).astype("<i4").reshape(-1, 1).view(np.uint8)[:, :3].tobytes()
    if form == "u8":
        return ((CODES >> 8) + 128).astype("u1").tobytes()
    return (CODES / 2**15 if form[1] == "f" else CODES << 16 if form[-1] == "4" else CODES).astype(form).tobytes()


def riff(data, size=None, fmt=None, magic=b"RIFF", between=b"", behind=b"", order="<"):
    """size: told of the data, None: the right one."""
    told = len(data) if size is None else size
    fmt = kind() if fmt is None else fmt
    body = b"WAVE" + between + b"fmt " + struct.pack(f"{order}I", len(fmt)) + fmt
    body += b"data" + struct.pack(f"{order}I", told) + data + b"\0" * (len(data) % 2) + behind
    whole = len(body) if told == len(data) else min(told + 36, UNSET)
    return magic + struct.pack(f"{order}I", whole) + body


def ds64(size):
    return b"ds64" + struct.pack("<IQQQI", 28, size + 72, size, size // 4, 0)


I16 = stored("<i2")
READ = {
    "RF64": riff(I16, UNSET, magic=b"RF64", between=ds64(WHOLE)),
    "room for RF64": riff(I16, between=b"JUNK" + struct.pack("<I", 28) + bytes(28)),
    "big-endian": riff(stored(">i2"), magic=b"RIFX", order=">", fmt=kind(order=">")),
    "float64": riff(stored("<f8"), fmt=kind(3, 64)),
    "32 bits": riff(stored("<i4"), fmt=kind(1, 32)),
    "24 bits, extensible": riff(stored("i24"), fmt=extensible(1, 24)),
    "chunks around": riff(I16, between=LIST, behind=LIST + b"id3 " + struct.pack("<I", 10) + b"ID3\3\0\0\0\0\0\0"),
    "a few zeros behind": riff(I16) + bytes(32),
}
NO_LENGTH = "its header gives no length of samples"
NOTED = {
    "killed": (riff(I16, 0), NO_LENGTH),
    "killed, a chunk before": (riff(I16, 0, between=LIST), NO_LENGTH),
    "killed, 24 bits, extensible": (riff(stored("i24"), 0, extensible(1, 24)), NO_LENGTH),
    "killed, float64": (riff(stored("<f8"), 0, kind(3, 64)), NO_LENGTH),
    "killed, big-endian": (riff(stored(">i2"), 0, magic=b"RIFX", order=">", fmt=kind(order=">")), NO_LENGTH),
    "killed, RF64": (riff(I16, UNSET, magic=b"RF64", between=ds64(0)), NO_LENGTH),
    "killed behind a save": (riff(I16, WHOLE // 4), f"its header gives {WHOLE // 4} bytes of samples, all {WHOLE}"),
    "a stream": (riff(I16, UNSET), NO_LENGTH),
    "a stream of SoX": (riff(I16, 0x7FFFF000), NO_LENGTH),
    "a stream with a chunk": (riff(I16, UNSET, between=LIST), NO_LENGTH),
    "a stream of floats": (riff(stored("<f4"), UNSET, kind(3, 32)), NO_LENGTH),
}


def read(folder, content):
    (folder / "a.wav").write_bytes(content)
    return read_scope_files([folder / "a.wav"])


def right(file, frames=len(CODES), step=2.0**-15):
    assert file.sample_rate == 48000 and list(file.channels) == ["1", "2"]
    for samples, codes in zip(file.channels.values(), CODES[:frames].T):
        assert samples.dtype == np.float32
        np.testing.assert_allclose(samples, codes / 2**15, rtol=0, atol=1.01 * step if step > 2**-15 else 0)


@pytest.mark.parametrize("case", READ)
def test_all_samples_are_read(tmp_path, case):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right(read(tmp_path, READ[case]))


@pytest.mark.parametrize("case", NOTED)
def test_samples_that_the_header_does_not_tell_are_read_and_noted(tmp_path, case):
    content, said = NOTED[case]
    with pytest.warns(CaptureWarning, match=f"a.wav: {said}.* up to its end are taken, 1001 samples of each channel"):
        right(read(tmp_path, content))


def test_eight_bits_of_a_killed_recorder_are_read(tmp_path):
    with pytest.warns(CaptureWarning, match=NO_LENGTH):
        right(read(tmp_path, riff(stored("u8"), 0, kind(1, 8))), step=2.0**-7)


def test_a_truncated_file_is_read_to_its_last_whole_sample_and_noted(tmp_path):
    with pytest.warns(CaptureWarning, match="its header gives 4004 bytes of samples, all 1999 up to its end are taken, "
                                            "499 samples of each channel"):
        right(read(tmp_path, riff(I16)[:44 + 1999]), 499)


@pytest.mark.parametrize("content, said", [
    (riff(b""), "no samples"), (b"RIFFabcd" + bytes(40), "give their type, such as ci16, and the sample rate"),
    (riff(I16)[:40], "give their type, such as ci16"), (riff(I16, fmt=kind(7777)), "give their type, such as ci16"),
    (b"ID3\3" + bytes(200), "not a .wav; for raw numbers give their type"), (b"OggS" + bytes(200), "not a .wav")])
def test_what_is_no_samples_is_refused(tmp_path, content, said):
    with pytest.raises(ValueError, match=f"a.wav: .*{said}") as error:
        read(tmp_path, content)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("bits, frame", [(24, 8), (16, 8), (12, 2)])
def test_samples_between_bytes_that_are_none_are_refused(tmp_path, bits, frame):
    """libsndfile reads every byte: 24 bits in four bytes become a third more samples, none of them right."""
    fmt = struct.pack("<HHIIHH", 1, 2, 48000, 48000 * frame, frame, bits)
    with pytest.raises(ValueError, match=f"a.wav: 2 channels of {bits} bits in {frame} bytes, allowed: "):
        read(tmp_path, riff(stored("<i4"), fmt=fmt))


def test_sound_that_is_coded_is_refused(tmp_path):
    soundfile.write(tmp_path / "a.wav", CODES / 2**15, 48000, subtype="IMA_ADPCM")
    with pytest.raises(ValueError, match="a.wav: sound coded as IMA_ADPCM, allowed: samples"):
        read_scope_files([tmp_path / "a.wav"])


def test_the_command_line_tells_a_note_in_a_line(tmp_path):
    (tmp_path / "a.wav").write_bytes(riff(I16, 0))
    result = CliRunner(mix_stderr=False).invoke(main, [
        "import", str(tmp_path / "a.wav"), "--channel", "1,2", "-o", str(tmp_path / "a")])
    assert result.exit_code == 0 and "1001 complex samples at 48000 per second" in result.stdout
    assert result.stderr == (f"adann: note: {tmp_path}/a.wav: its header gives no length of samples, all {WHOLE} up to "
                             "its end are taken, 1001 samples of each channel\n")


@pytest.mark.parametrize("suffix, form, subtype", [
    ("flac", "FLAC", "PCM_16"), ("flac", "FLAC", "PCM_24"), ("w64", "W64", "PCM_32"), ("rf64", "RF64", "PCM_16"),
    ("aiff", "AIFF", "PCM_24"), ("aif", "AIFF", "FLOAT"), ("au", "AU", "PCM_16"), ("caf", "CAF", "DOUBLE")])
def test_other_sound_files_are_read(tmp_path, suffix, form, subtype):
    path = tmp_path / f"a.{suffix}"
    soundfile.write(path, CODES / 2**15, 48000, subtype, format=form)
    right(read_scope_files([path]))
    path.write_bytes(b"something else" * 20)
    with pytest.raises(ValueError, match=f"a.{suffix}: .*for raw numbers give their type, such as ci16"):
        read_scope_files([path])


def test_sound_that_is_compressed_with_loss_is_refused(tmp_path):
    soundfile.write(tmp_path / "a.ogg", np.zeros((1000, 1)), 48000)
    with pytest.raises(ValueError, match="a.ogg: sound coded as VORBIS, allowed: samples"):
        read_scope_files([tmp_path / "a.ogg"])


def sound(form, subtype, codes=CODES, **options):
    """A whole file's bytes, by libsndfile."""
    file = io.BytesIO()
    soundfile.write(file, codes / 2**15, 48000, subtype, format=form, **options)
    return bytearray(file.getvalue())


def placed(content, at, form, number):
    struct.pack_into(form, content, at, number)
    return content


def stale(form, content, size):
    """The same, whose header tells `size` bytes of samples."""
    if form == "AU":
        return placed(content, 8, "<I" if content.startswith(b"dns.") else ">I", size)
    if form == "AIFF":
        return placed(content, content.index(b"SSND") + 4, ">I", size + 8 if size else 0)
    if form == "W64":
        return placed(content, content.index(b"data") + 16, "<Q", size + 24 if size else 0)
    return placed(content, content.index(b"data") + 4, ">q", size + 4)  # CAF


HEADERS = [("AIFF", "PCM_16", {}), ("AIFF", "PCM_24", {"endian": "LITTLE"}), ("AIFF", "FLOAT", {}),
           ("AU", "PCM_16", {}), ("AU", "DOUBLE", {"endian": "LITTLE"}), ("W64", "PCM_16", {}), ("W64", "PCM_24", {}),
           ("CAF", "PCM_16", {}), ("CAF", "FLOAT", {"endian": "LITTLE"})]


def sound_of(folder, form, content):
    path = folder / f"a.{form.lower()}"
    path.write_bytes(content)
    return read_scope_files([path])


@pytest.mark.parametrize("form, subtype, options", HEADERS)
def test_headers_of_all_formats_may_be_wrong_which_is_noted(tmp_path, form, subtype, options):
    whole = sound(form, subtype, **options)
    sample = {"16": 2, "24": 3, "AT": 4, "LE": 8}[subtype[-2:]]
    size = 2 * len(CODES) * sample
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right(sound_of(tmp_path, form, whole))
    left = size - 101
    with pytest.warns(CaptureWarning, match=f"a.{form.lower()}: its header gives {size} bytes of samples, all {left} "
                                            f"up to its end are taken, {left // (2 * sample)} samples of each channel"):
        right(sound_of(tmp_path, form, whole[:-101]), left // (2 * sample))
    told = stale(form, bytearray(whole), 20 * sample)
    with pytest.warns(CaptureWarning, match=f"its header gives {20 * sample} bytes of samples, all {size} up to its "
                                            "end are taken, 1001 samples of each channel"):
        right(sound_of(tmp_path, form, told))
    with pytest.warns(CaptureWarning, match=NO_LENGTH):
        right(sound_of(tmp_path, form, stale(form, bytearray(whole), 0)))


@pytest.mark.parametrize("size", [16, 2400])
@pytest.mark.parametrize("form", ["AIFF", "W64", "CAF", "AU"])
def test_what_stands_behind_the_samples_is_none_of_them(tmp_path, form, size):
    """Of a .w64 libsndfile reads the markers as samples."""
    content = sound(form, "PCM_16")
    if form == "W64":
        marker = bytes.fromhex("5662F7AB2D39D21186C700C04F8EDB8A")
        content += bytes(-len(content) % 8) + marker + struct.pack("<Q", 24 + size) + bytes([7]) * size
        placed(content, 16, "<Q", len(content))
    elif form == "AU":
        content += bytes(16)
    else:
        content += b"ANNO" + struct.pack(">I" if form == "AIFF" else ">Q", size) + b"x" * size
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right(sound_of(tmp_path, form, content))


LONG = np.random.default_rng(5).integers(-2**15, 2**15, (150_000, 2))
FRAME = 4096  # samples, after which libsndfile begins another frame of FLAC


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("size", [1001, 65_536, 150_000])
def test_a_flac_without_a_length_is_read_to_its_end(tmp_path, size, channels):
    """As an encoder leaves it that writes into a pipe: STREAMINFO has 36 bits of the number of samples."""
    codes = LONG[:size, :channels]
    content = sound("FLAC", "PCM_16", codes)
    content[21] &= 0xF0
    content[22:26] = bytes(4)
    with pytest.warns(CaptureWarning, match=f"a.flac: its header gives no length, all {size} up to its end"):
        file = sound_of(tmp_path, "FLAC", content)
    assert file.sample_rate == 48000
    np.testing.assert_array_equal(np.stack(list(file.channels.values()), axis=1), codes / 2**15)


def test_a_flac_is_read_up_to_where_it_is_truncated(tmp_path):
    content = sound("FLAC", "PCM_16", LONG)
    with pytest.warns(CaptureWarning, match=r"its header gives 150000 samples, all (\d+) up to its end or to damage"):
        samples = sound_of(tmp_path, "FLAC", content[:len(content) // 2]).channels["2"]
    assert 75_000 - 2 * FRAME < samples.size < 75_000
    np.testing.assert_array_equal(samples, LONG[:samples.size, 1] / 2**15)
    with pytest.raises(ValueError, match="a.flac: no samples"):
        sound_of(tmp_path, "FLAC", content[:5000])


@pytest.mark.parametrize("codes", [CODES, CODES // 64, np.cumsum(CODES % 9 - 4, axis=0)])
def test_alac_of_16_bits_is_read_as_nothing_of_it_is_lost(tmp_path, codes):
    channels = sound_of(tmp_path, "CAF", sound("CAF", "ALAC_16", codes)).channels
    np.testing.assert_array_equal(np.stack(list(channels.values()), axis=1), codes / 2**15)


@pytest.mark.parametrize("bits", [20, 24, 32])
def test_alac_of_more_bits_is_refused(tmp_path, bits):
    """What libsndfile 1.2.0 writes itself it reads with other values: 20 bits always, more of them where samples
    cannot be compressed."""
    with pytest.raises(ValueError, match=f"a.caf: sound coded as ALAC_{bits}, allowed: samples, .* and ALAC_16"):
        sound_of(tmp_path, "CAF", sound("CAF", f"ALAC_{bits}"))


def test_a_truncated_alac_is_refused(tmp_path):
    with pytest.raises(ValueError, match="a.caf: .*") as error:
        sound_of(tmp_path, "CAF", sound("CAF", "ALAC_16")[:3000])
    assert "\n" not in str(error.value)
