# SPDX-License-Identifier: GPL-3.0-or-later
"""8b/10b against the properties that its makers give, and sync words against where they were put."""

import numpy as np
import pytest
from gnuradio.adann.captures.line_codes import CODE, check_8b10b, find_words

# Code groups at negative running disparity as IEEE 802.3, Tables 36-1 and 36-2, list them; bits
# abcdei fghj. D17.7 and D11.7 take the alternate end at negative and at positive disparity.
LISTED = {"D0.0": "1001110100", "D31.7": "1010110001", "D21.5": "1010101010", "D3.0": "1100011011",
          "D7.3": "1110001100", "D17.7": "1000110111", "D11.7": "1101001110", "D28.7": "0011101110",
          "K28.5": "0011111010", "K28.1": "0011111001", "K28.7": "0011111000",
          "K23.7": "1110101000", "K27.7": "1101101000", "K29.7": "1011101000", "K30.7": "0111101000"}
WRONG = ["0000000000", "1111111111", "1111110000", "0011110000", "1000111110"]


def bits_of(*groups):
    return np.array([int(bit) for bit in "".join(groups)], np.uint8)


def stream(count, seed):
    """Random groups of LISTED, negated where the running disparity is positive; D7.3 and its like,
    which keep it, are left out."""
    random = np.random.default_rng(seed)
    names = ["D0.0", "D31.7", "D3.0", "D28.7", "K28.5", "K28.7", "K23.7", "K30.7"]
    disparity, groups = -1, []
    for name in random.choice(names, count):
        group = bits_of(LISTED[name])
        if name == "D3.0" and disparity > 0:  # 110001 1011 and 110001 0100
            group = bits_of("1100010100")
        elif name == "D28.7" and disparity > 0:  # 001110 1110 and 001110 0001
            group = bits_of("0011100001")
        elif disparity > 0:
            group = 1 - group
        groups.append(group)
        disparity += 2 * int(group.sum()) - CODE
        assert abs(disparity) == 1
    return np.concatenate(groups)


@pytest.mark.parametrize("name", LISTED)
@pytest.mark.parametrize("inverted", [0, 1])
def test_listed_code_groups_are_valid(name, inverted):
    group = bits_of(LISTED[name]) ^ inverted
    _, valid = check_8b10b(group)
    assert valid.tolist() == [True]


@pytest.mark.parametrize("group", WRONG)
def test_other_words_are_not(group):
    assert check_8b10b(bits_of(group))[1].tolist() == [False]


def test_there_are_268_code_groups_at_either_disparity():
    """256 data, 12 control: and of all words of 10 bits those that are neither are refused."""
    every = [bits_of(f"{word:010b}") for word in range(1024)]
    fit = sum(bool(check_8b10b(word)[1][0]) for word in every)
    assert 268 < fit < 2 * 268
    started = [check_8b10b(np.concatenate([bits_of(LISTED["K28.5"]), word]))[1] for word in every]
    assert sum(bool(valid[1]) for valid in started) == 268


@pytest.mark.parametrize("first", [0, 3, 9])
@pytest.mark.parametrize("inverted", [0, 1])
def test_a_record_is_aligned_and_an_error_is_found(first, inverted):
    bits = np.concatenate([np.zeros(first, np.uint8), stream(500, 1)]) ^ inverted
    found, valid = check_8b10b(bits)
    assert found == first and valid.size == 500 and valid.all()
    # A flipped bit changes the disparity: the group is refused, or a later one is.
    for bit in np.random.default_rng(2).integers(first, first + 4000, 40):
        wrong = bits.copy()
        wrong[bit] ^= 1
        at = np.flatnonzero(~check_8b10b(wrong)[1])
        assert at.size and 0 <= at[0] - (bit - first) // CODE < 100


def test_words_are_found_where_they_are_and_nowhere_else():
    random = np.random.default_rng(3)
    levels = random.choice([-3, -1, 1, 3], 5000)
    words = {"first": random.choice([-3, 3], 24), "second": random.choice([-3, 3], 24)}
    wanted = [(240, "first"), (1777, "second"), (4000, "first")]
    for at, name in wanted:
        levels[at:at + 24] = words[name]
    pulse = np.hanning(2 * 8 + 1)
    spread = np.zeros(8 * levels.size)
    spread[::8] = levels
    samples = np.convolve(spread, pulse, "same") * 40 + 700
    samples += 20 * random.standard_normal(samples.size)
    assert [(round(at / 8), name) for at, name in find_words(samples, words, 8)] == wanted
    assert find_words(np.ones(4000), words, 8) == []
