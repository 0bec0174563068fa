# SPDX-License-Identifier: GPL-3.0-or-later
"""Records whose symbols are known: around a carrier in wide noise, behind a discriminator, of an idling line code."""

import numpy as np
import scipy.signal

FS = 48_000
POINTS = {"pam2": np.array([-1.0, 1]), "pam4": np.array([-3.0, -1, 3, 1]) / np.sqrt(5),
          "qpsk": np.array([-1 - 1j, -1 + 1j, 1 - 1j, 1 + 1j]) / np.sqrt(2)}


def root_raised_cosine(t, roll_off=0.4):
    t = t + 1e-9
    return (np.sin(np.pi * t * (1 - roll_off)) + 4 * roll_off * t * np.cos(np.pi * t * (1 + roll_off))) / (
        np.pi * t * (1 - (4 * roll_off * t) ** 2))


def at_carrier(name, symbols, share, snr, carrier, baud, packets=1, seed=0):
    """Real samples at FS, and each packet's labels: white noise over the whole band, `snr` dB below the signal in a
    band as wide as the symbol rate; packets fill `share` of the record."""
    random = np.random.default_rng(seed)
    parts, labels = [], []
    for _ in range(packets):
        labels.append(random.integers(0, POINTS[name].size, symbols).astype(np.uint8))
        sent = np.zeros((symbols + 16) * 20, np.complex128)
        sent[160:160 + 20 * symbols:20] = POINTS[name][labels[-1]]
        shaped = scipy.signal.fftconvolve(sent, root_raised_cosine(np.arange(-160, 161) / 20), "same")
        at = np.arange(int((symbols + 16) * FS / baud)) * baud / FS * 20
        shaped = np.interp(at, np.arange(shaped.size), shaped.real) + 1j * np.interp(
            at, np.arange(shaped.size), shaped.imag)
        shaped /= np.sqrt(np.mean(abs(shaped) ** 2))
        pause = np.zeros(int(at.size * (1 / share - 1) / 2))
        turning = np.exp(2j * np.pi * carrier / FS * np.arange(at.size) + 1j * random.uniform(0, 6))
        parts += [pause, np.sqrt(2) * (shaped * turning).real, pause]
    samples = np.concatenate(parts)
    samples += 10 ** (-snr / 20) * np.sqrt(FS / 2 / baud) * random.standard_normal(samples.size)
    return (samples / samples.std()).astype(np.float32), labels


def behind_discriminator(name, symbols, packets, louder, baud, noise="parabolic", pause=15_000, seed=0):
    """Real samples at FS, each packet's labels, and their first samples: pauses `louder` dB louder than the packets, of
    noise that rises with the frequency as an FM discriminator's, or white, or no wider than the signal."""
    random = np.random.default_rng(seed)
    sps = FS / baud

    def pauses(count):
        white = random.standard_normal(count + 400)
        if noise == "parabolic":
            white = scipy.signal.sosfilt(scipy.signal.butter(4, 0.8, output="sos"), np.diff(white, prepend=0))
        elif noise == "narrow":
            white = scipy.signal.sosfilt(scipy.signal.butter(6, 1.3 * baud / FS, output="sos"), white)
        return white[400:] / white.std() * 10 ** (louder / 20)

    gaussian = np.exp(-np.arange(-40, 41) ** 2 / (2 * (0.42 * sps / 2) ** 2))
    parts, labels, starts = [], [], []
    for _ in range(packets):
        labels.append(random.integers(0, POINTS[name].size, symbols).astype(np.uint8))
        levels = POINTS[name][labels[-1]][(np.arange(int(symbols * sps)) / sps).astype(int)]
        packet = np.convolve(levels, gaussian / gaussian.sum(), "same")
        parts.append(pauses(int(pause * random.uniform(0.75, 1.25))))
        starts.append(sum(part.size for part in parts))
        parts.append(packet / packet.std() + 0.1 * random.standard_normal(packet.size))
    samples = np.concatenate([*parts, pauses(pause)])
    return samples.astype(np.float32), labels, starts


def idling(word, frames, symbols=3000, idle=18_000, noise=0.03, seed=0):
    """Samples, 4 a symbol, and labels: `word` again and again, now and then a frame of random data; the eye is open."""
    random = np.random.default_rng(seed)
    bits = [np.resize([int(bit) for bit in word], idle)]
    for _ in range(frames):
        bits += [random.integers(0, 2, symbols), np.resize([int(bit) for bit in word], idle)]
    labels = np.concatenate(bits).astype(np.uint8)
    samples = np.convolve(np.repeat(2.0 * labels - 1, 4), [0.1, 0.2, 0.4, 0.2, 0.1], "same")
    return (samples + noise * random.standard_normal(samples.size)).astype(np.float32), labels
