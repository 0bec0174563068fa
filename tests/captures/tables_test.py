# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables as the oscilloscopes and programs of many countries write them: rate and values right, or refused."""

import warnings

import numpy as np
import pytest
import scipy.io
from gnuradio.adann.captures.notes import CaptureWarning
from gnuradio.adann.captures.oscilloscopes import read_scope_files

RANDOM = np.random.default_rng(3)
RATE = 2e9
VOLTS = np.round(RANDOM.standard_normal((2, 300)), 6)
TIMES = np.round((np.arange(300) - 150) / RATE, 13)


def rows(*columns, between=",", form="{:.9f}", quoted=False):
    """Lines of numbers; form: of each, or of each column."""
    forms = [form] * len(columns) if isinstance(form, str) else form
    texts = [[one.format(value) for one, value in zip(forms, row)] for row in zip(*columns)]
    return "".join(between.join(f'"{each}"' if quoted else each for each in row) + "\n" for row in texts)


def comma(text):
    return text.replace(".", ",")


def grouped(value, divided=",", mark="."):
    return f"{value:,.3f}".translate(str.maketrans({",": divided, ".": mark}))


def table(title, *columns, between=",", form="{:.9f}", **options):
    return title + rows(*columns, between=between, form=form, **options)


NARROW = "\u202f"  # a blank that French puts between thousands
ONE, INDEX = VOLTS[0], np.arange(300)
# Content, its encoding; the rate and the channels that it tells.
READ = {
    "PicoScope, ns and mV": (table("Time,Channel A\n(ns),(mV)\n\n", TIMES * 1e9, ONE * 1e3, form="{:.5f}"), {"1": ONE}),
    "PicoScope, ms and V": (table("Time,Channel A\n(ms),(V)\n\n", TIMES * 1e3, ONE, form="{:.12f}"), {"1": ONE}),
    "PicoScope, overrange": (table("Time,Channel A\n(ns),(V)\n\n", TIMES * 1e9, np.where(INDEX == 7, np.inf, ONE))
                             .replace("inf", "∞"), {"1": np.where(INDEX == 7, np.inf, ONE)}),
    "PicoScope, German": (comma(table("Zeit;Kanal A;Kanal B\n(us);(mV);(V)\n\n", TIMES * 1e6, ONE * 1e3, VOLTS[1],
                                      between=";")), {"1": ONE, "2": VOLTS[1]}),
    "tabs and decimal commas": (comma(table("Zeit\tKanal A\n(ms)\t(V)\n\n", TIMES * 1e3, ONE, between="\t",
                                            form="{:.12f}")), {"1": ONE}),
    "exponents with commas": (comma(table("Temps (s);Voie 1 (V)\n", TIMES, ONE, between=";", form="{:.9E}")),
                              {"1": ONE}),
    "quoted decimal commas": (comma(rows(TIMES * 1e9, ONE, between="@", quoted=True)).replace("@", ",")
                              .join(["Time (ns),CH1 (V)\n", ""]), {"1": ONE}),
    "quoted thousands": ("Time (ns),CH1 (uV)\n" + "".join(
        f'{time:.1f},"{grouped(value)}"\n' for time, value in zip(TIMES * 1e9, ONE * 1e6)), {"1": ONE}),
    "French thousands": ("Temps (ns);Voie 1 (µV)\n" + "".join(
        f"{comma(str(time))};{grouped(value, NARROW, ',')}\n" for time, value in zip(
            np.round(TIMES * 1e9, 1), ONE * 1e6)), {"1": ONE}),
    "Swiss thousands": ("Zeit (ns);Kanal 1 (uV)\n" + "".join(
        f"{time:.1f};{grouped(value, '’')}\n" for time, value in zip(TIMES * 1e9, ONE * 1e6)), {"1": ONE}),
    "German thousands": ("Zeit (ns);Kanal 1 (uV)\n" + "".join(
        f"{comma(f'{time:.1f}')};{grouped(value, '.', ',')}\n" for time, value in zip(TIMES * 1e9, ONE * 1e6)),
        {"1": ONE}),
    "a minus of typography": (table("Tid (µs);Kanal 1 (V)\n", TIMES * 1e6, ONE, between=";").replace("-", "−"),
                              {"1": ONE}),
    "Greek instead of micro": (table("Time (μs),CH1 (V)\n", TIMES * 1e6, ONE), {"1": ONE}),
    "an index, ms, mV": (table("No.;Time (ms);CH2 (mV)\n", INDEX, TIMES * 1e3, ONE * 1e3, between=";",
                               form=("{}", "{:.12f}", "{:.6f}")), {"2": ONE}),
    "an index and a rate": (table("Sample Rate: 2 GSa/s\nIndex,CH1 (V)\n", INDEX, ONE, form=("{}", "{:.6f}")),
                            {"1": ONE}),
    "an index from 1, and an interval in the title": (
        table("Sampling Interval (ns);0.5\nPoint;Volt\n", INDEX + 1, ONE, between=";", form=("{}", "{:.6f}")),
        {"1": ONE}),
    "OWON": (table("Waveform,CH1\nPoints,300\nTime interval:,0.5nS\n\n#,Voltage(mV)\n", INDEX, ONE * 1e3,
                   form=("{}", "{:.6f}")), {"1": ONE}),
    "an increment": (table("Horizontal Increment;500 ps\nIndex;Volt\n", INDEX, ONE, between=";", form=("{}", "{:.6f}")),
                     {"1": ONE}),
    "a time step in words": (table("# time step = 0.5 ns\n", ONE), {"1": ONE}),
    "times whose step is told with its unit": (table("#timebase=0.0005us\n#size=300\n", TIMES * 1e6, ONE), {"1": ONE}),
    "a rate alone": (table("; CSV by some logger\n; Samplerate: 2000 MHz\n; Channels (1/1): A1\n", ONE), {"1": ONE}),
    "a sample interval that times without a unit lack": (
        table("Sample Interval,5e-10\nTime,CH1\n", TIMES * 1e9, ONE), {"1": ONE}),
    "times of each channel": (table("TIME,CH1,TIME,CH2\n", TIMES, ONE, TIMES, VOLTS[1], form="{:.12e}"),
                              {"1": ONE, "2": VOLTS[1]}),
    "numpy.savetxt, blanks": (table("# time [ns] voltage [mV]\n", TIMES * 1e9, ONE * 1e3, between=" "), {"1": ONE}),
    "numpy.savetxt, a title with commas": (table("# time (ns), v (mV)\n", TIMES * 1e9, ONE * 1e3, between=" "),
                                           {"1": ONE}),
    "aligned by blanks": (rows(TIMES, ONE, between="   ", form="{:+.12e}"), {"1": ONE}),
    "capitals": (table("TIME(US),CH1(MV)\n", TIMES * 1e6, ONE * 1e3), {"1": ONE}),
    "Rohde & Schwarz, mV": (table("in s,CH1 in mV,CH2 in V\n", TIMES, ONE * 1e3, VOLTS[1], form="{:.12e}"),
                            {"1": ONE, "2": VOLTS[1]}),
    "Excel's sep=": (comma(table("sep=;\nt/ns;U/mV\n", TIMES * 1e9, ONE * 1e3, between=";")), {"1": ONE}),
    "picoseconds by name": (table("picoseconds,volts\n", TIMES * 1e12, ONE), {"1": ONE}),
    "units in lines of their own": (table("Horizontal Units,us,\nVertical Units,mV,\nTIME,CH1\n", TIMES * 1e6,
                                          ONE * 1e3), {"1": ONE}),
    "Rigol's tInc": (table("CH1V,CH2V,t0 = -7.5e-08, tInc = 5e-10,\n", ONE, VOLTS[1]).replace("\n", ",,\n"),
                     {"1": ONE, "2": VOLTS[1]}),
    "a date beside the times": ("Date,Time (us),CH1 (V)\n" + "".join(
        f"2026-01-02 03:04:05,{time:.9f},{value}\n" for time, value in zip(TIMES * 1e6, ONE)), {"1": ONE}),
    "the only column below a date": (table("Vertical Units,V\nSampling Period,5.0E-10\nTime,26-Nov-26 20:00:00\n"
                                           "Waveform Data,\n", ONE).replace("\n", ",\n"), {"1": ONE}),
    "a unit that is all of a line": (table("#UNITS:mV\nTime (ns),CH1\n", TIMES * 1e9, ONE * 1e3), {"1": ONE}),
    "Yokogawa": ('"Header Size",9,,\n"TraceName","CH1","CH2",\n"VUnit","V","V",\n"HResolution",5.0E-10,5.0E-10,\n'
                 '"HUnit","s","s",\n"Date","2026/01/02","2026/01/02",\n"Time","10:11:12.13","10:11:12.13",\n\n'
                 + rows(*VOLTS, form=" {:.6E}").replace("\n", ",\n"), {"1": ONE, "2": VOLTS[1]}),
    "Yokogawa in ns": ('"TraceName","CH1","CH2",\n"VUnit","mV","mV",\n"HResolution",0.5,0.5,\n"HUnit","ns","ns",\n\n'
                       + rows(ONE * 1e3, VOLTS[1] * 1e3, form=" {:.6E}").replace("\n", ",\n"),
                       {"1": ONE, "2": VOLTS[1]}),
    "a unit of times in a line of its own": ("X Units;ns\nY Units;V\nDelta X;0.5\n\n"
                                             + rows(INDEX, ONE, between=";", form=("{}", "{:.6f}")), {"1": ONE}),
    "Infiniium without times": ("Revision:,0\nType:,raw\nPoints:,300\nXInc:,5.0E-10\nXOrg:,-7.5E-08\nXUnits:,Second\n"
                                "YUnits:,Volt\nData:\n" + rows(ONE), {"1": ONE}),
    "an interval called Delta X": ("Title;Input A\nX Units;ns\nY Units;V\nDelta X;0.5 ns\n\n"
                                   + rows(INDEX, ONE, between=";", form=("{}", "{:.6f}")), {"1": ONE}),
    "times that are repeated without a title": (rows(TIMES, ONE, TIMES, VOLTS[1], between="  ", form="{:.12e}"),
                                                {"1": ONE, "2": VOLTS[1]}),
    "quotes around all": (table('"Time (ms)","CH1 (V)"\n', TIMES * 1e3, ONE, form="{:.12f}", quoted=True), {"1": ONE}),
}
ENCODINGS = {"utf-16": "utf-16", "utf-16 without a mark": "utf-16-le", "utf-16 be without a mark": "utf-16-be",
             "utf-32": "utf-32", "utf-8 with a mark": "utf-8-sig", "Windows": "cp1252"}


def written(folder, content, encoding="utf-8"):
    path = folder / "a.csv"
    path.write_bytes(content.encode(encoding))
    return path


def right(file, expected, rate):
    assert file.sample_rate == (rate and pytest.approx(rate, rel=1e-9))
    assert file.channels.keys() == expected.keys()
    for name, volts in expected.items():
        np.testing.assert_allclose(file.channels[name], volts, rtol=0, atol=2e-8)


@pytest.mark.parametrize("case", READ)
def test_rate_and_values_are_right(tmp_path, case):
    content, expected = READ[case]
    right(read_scope_files([written(tmp_path, content)]), expected, RATE)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings_are_told_apart(tmp_path, encoding):
    content = table("Zeit (µs);Kanal 1 (V)\r\n", TIMES * 1e6, ONE, between=";").replace("\n", "\r\n")
    right(read_scope_files([written(tmp_path, content, ENCODINGS[encoding])]), {"1": ONE}, RATE)


@pytest.mark.parametrize("title", [
    "Time ms", "Time, ms", "Time:ms", "time.ms", "Time|ms", "Time<ms>", "Time = ms", "TimeMs", "Time1 ms", "Time (ms)*",
    "Time [msec.]", "elapsed ms", "ms since start", "millis", "Relative time, milliseconds"])
def test_a_unit_of_times_is_seen_wherever_a_title_has_it(tmp_path, title):
    """At 2 MHz: taken for seconds, these would be 2000 a second, which no note would say."""
    content = table(f"{title};U (V)\n", TIMES * RATE / 2e3, ONE, between=";", form="{:.12f}")
    right(read_scope_files([written(tmp_path, content)]), {"1": ONE}, 2e6)


@pytest.mark.parametrize("unit, form", [("ns", "{:.0f}"), ("s", "{:.9f}")])
def test_times_since_1970_tell_the_rate(tmp_path, unit, form):
    """In double precision they are rounded to a quarter of the interval, 240 ns, which a line through all of them
    averages: its slope is wrong by sqrt(12 / n) / n of that at most, as uniform errors of one sign would have it."""
    count, interval = 3000, 1e-6
    times = [f"1767312000{k:06d}000" if unit == "ns" else f"1767312000.{k:06d}" for k in range(count)]
    volts = RANDOM.standard_normal(count).round(6)
    path = written(tmp_path, f"Time ({unit}),U (V)\n" + "".join(f"{t},{v}\n" for t, v in zip(times, volts)))
    file = read_scope_files([path])
    np.testing.assert_array_equal(file.channels["1"], volts)
    assert file.sample_rate * interval == pytest.approx(1, abs=np.sqrt(12 / count) / count / 4)


@pytest.mark.parametrize("place", [0, 1500, 2999])
def test_thousands_are_seen_wherever_they_are(tmp_path, place):
    """1.234 among decimal commas, and 1,234 among decimal points."""
    volts = np.full(3000, 0.5)
    volts[place] = 1234
    for mark, divided in (",", "1.234"), (".", "1,234"):
        lines = [f"0{mark}5" if k != place else divided for k in range(3000)]
        content = "Zeit (ms);U (V)\n" + "".join(f"{k};{text}\n" for k, text in enumerate(lines))
        right(read_scope_files([written(tmp_path, content)]), {"1": volts}, 1000)


def test_lines_may_end_as_on_an_old_macintosh(tmp_path):
    content = table("Time (us),CH1 (V)\n", TIMES * 1e6, ONE).replace("\n", "\r")
    right(read_scope_files([written(tmp_path, content)]), {"1": ONE}, RATE)


@pytest.mark.parametrize("title, first", [
    ("Index,CH1 (V)\n", INDEX), ("Time,CH1 (V)\n", INDEX), ("t,U\n", INDEX + 1),
    ("#,U (V)\nTime base,x\n", INDEX), ("", INDEX), ("Time (min),CH1 (V)\n", TIMES * 1e9),
    ("Time (div),CH1\n", TIMES * 1e9), ("Time (s) x 1e-3,CH1\n", TIMES * 1e3), ("Time s*10^-3,CH1\n", TIMES * 1e3),
    ("Time (5 ms/div),CH1\n", TIMES * 1e9),
    ("# all times in the first column (ns)\n", TIMES * 1e9)])
def test_a_rate_that_is_not_told_is_not_guessed(tmp_path, title, first):
    right(read_scope_files([written(tmp_path, table(title, first, ONE))]), {"1": ONE}, None)


@pytest.mark.parametrize("title", ["t,CH1,CH2\n,mV,mV\n", "TIME,CH1,CH2\n", ""])
def test_times_without_a_unit_that_may_not_be_seconds_are_noted(tmp_path, title):
    """In nanoseconds, which nothing tells: pandas.DataFrame.to_csv writes as much."""
    path = written(tmp_path, table(title, TIMES * 1e9, ONE, VOLTS[1]))
    with pytest.warns(CaptureWarning, match="a.csv: its times, whose unit is not given, are taken for seconds: 2 sam"):
        read_scope_files([path])


@pytest.mark.parametrize("title", ["TIME,CH1,TIME,CH2\n", ""])
@pytest.mark.parametrize("skew, said", [(0.3, "0.3"), (-2, "2"), (0.001, None)])
def test_a_skew_between_columns_of_times_is_noted(tmp_path, title, skew, said):
    path = written(tmp_path, table(title, TIMES, ONE, TIMES + skew / RATE, VOLTS[1], form="{:.15e}"))
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        right(read_scope_files([path]), {"1": ONE, "2": VOLTS[1]}, RATE)
    assert [str(each.message) for each in noted] == ([] if said is None else [
        f"{path}: its columns of times differ by up to {said} samples: each channel is read from its first sample on, "
        "as if they were sampled together"])


@pytest.mark.parametrize("suffix", ["npy", "mat"])
def test_a_skew_is_noted_of_arrays_too(tmp_path, suffix):
    columns = {"t1": TIMES, "a": ONE, "t2": TIMES + 0.25 / RATE, "b": VOLTS[1]}
    path = tmp_path / f"a.{suffix}"
    if suffix == "npy":
        np.save(path, np.stack(list(columns.values())))
    else:
        scipy.io.savemat(path, columns)
    with pytest.warns(CaptureWarning, match="its columns of times differ by up to 0.25 samples"):
        assert len(read_scope_files([path]).channels) == 2


def test_a_column_x_may_not_be_times_in_seconds_at_any_rate(tmp_path):
    """In milliseconds at 2 MHz: 2000 samples per second, which of a column of that name means nothing."""
    path = written(tmp_path, table("x,CH1\n", TIMES * RATE / 2e3, ONE, form="{:.12f}"))
    with pytest.warns(CaptureWarning, match="a.csv: its times, whose unit is not given, .*: 2000 samples per second"):
        read_scope_files([path])


def test_a_table_that_lies_on_its_side_is_refused(tmp_path):
    for columns in 1, 2:
        path = written(tmp_path, rows(*VOLTS[:columns].T))
        with pytest.raises(ValueError, match=f"300 numbers in each of {columns} rows?, allowed: one row for "
                                             "each sample; transpose it"):
            read_scope_files([path])


WHOLE = RANDOM.integers(1100, 9800, 300)
REFUSED = {
    "decimal commas between commas": (comma(table("Time (s),CH1 (V)\n", TIMES * 1e9, ONE)),
                                      "its commas are decimal and between columns"),
    "the same without a title": (comma(table("", TIMES * 1e9, ONE)), "its commas are decimal and between columns"),
    "the same, one column": (comma(table("CH1 (V)\n", ONE)), "its commas are decimal and between columns"),
    "commas that may be either": ("t;U (mV)\n" + "".join(f"{k};{value:,}\n" for k, value in enumerate(WHOLE)),
                                  "its commas may be decimal or divide thousands"),
    "points and commas": (table("Time (s);CH1 (V)\n", TIMES * 1e9, ONE, between=";").replace(".", ",", 200),
                          "some of its numbers have decimal points and some decimal commas"),
    "thousands that are none": ("Time (ns);CH1 (uV)\n" + "".join(
        f'{k / 2};"{grouped(value)}"\n' for k, value in enumerate(ONE * 1e6)).replace(",", ",0", 1),
        "truncated or segmented: below the header, row 0 has"),
    "a spectrum": (table("Frequency (kHz),Magnitude (dB)\n", INDEX * 10., ONE), r"a spectrum, over Frequency \(kHz\)"),
    "two rates": (table("TIME,CH1,TIME,CH2\n", TIMES, ONE, 2 * TIMES, VOLTS[1], form="{:.12e}"),
                  "two different sample rates"),
    "times with a gap": (table("Zeit (µs);Kanal 1 (V)\n", np.where(INDEX > 100, TIMES + 1e-7, TIMES) * 1e6, ONE,
                               between=";"), "segmented: its times do not rise evenly"),
    "segments below a list of them": (
        "Segments,2,SegmentSize,150\nSegment,TrigTime,TimeSinceSegment1\n#1,26-Nov-2026 20:00:00,0\n"
        "#2,26-Nov-2026 20:00:01,1.0\n" + table("Time,Ampl\n", np.tile(TIMES[:150], 2), ONE, form="{:.12e}"),
        "segmented: its times do not rise evenly"),
    "complex numbers, as pandas writes them": ("".join(f"{k},{value}\n" for k, value in enumerate(VOLTS[0] + 1j)),
                                               "complex numbers in one column"),
    "complex numbers, as numpy.savetxt writes them": ("".join(f" ({value:.6e}{-value:+.6e}j)\n" for value in ONE),
                                                      "complex numbers in one column"),
    "sums below": (table("Time (s),CH1 (V)\n", TIMES, ONE, form="{:.12e}") + "\nmean,0.1\nstd,0.9\n",
                   r"its last rows, as 'mean,0.1', have no number in column 1"),
    "a channel that ends before the others": (
        table("Time (s);CH1 (V);CH2 (V)\n", TIMES, ONE, ONE, between=";", form="{:.12e}")
        + "".join(f"{time:.12e};0.5;\n" for time in TIMES[-1] + (1 + np.arange(100)) / RATE),
        "its last rows, .* have no number in column 3"),
    "values behind a unit": ("Time,CH1\n" + "".join(f"{k} ns,{value} V\n" for k, value in enumerate(ONE)),
                             "no table of numbers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_may_be_read_in_two_ways_is_refused(tmp_path, case):
    content, said = REFUSED[case]
    with pytest.raises(ValueError, match=f"a.csv: {said}") as error:
        read_scope_files([written(tmp_path, content)])
    assert "\n" not in str(error.value)


UNITS = {"fs": 1e-15, "ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1}
VALUES = {"V": 1, "mV": 1e-3, "uV": 1e-6, "kV": 1e3}


def drawn_table(dice):
    """The content of a table in a random dialect, its rate, its channels, and how finely each is written."""
    between = dice.choice([",", ";", "\t", " "])
    mark = dice.choice([".", ","])
    digits, scientific = int(dice.integers(2, 9)), dice.random() < 0.3
    quoted = bool(between == "," and mark == "," or dice.random() < 0.2) and between != " "
    divided = dice.choice(["", "", "", "'" if between != " " or quoted else "", "," if mark == "." else "."])
    if divided == between and not quoted or scientific:
        divided = ""
    unit, volts = dice.choice(list(UNITS)), [dice.choice(list(VALUES)) for _ in range(dice.integers(1, 4))]
    rate = float(f"{10 ** dice.uniform(0, 4):.3g}") / UNITS[unit]
    channels = dice.standard_normal((len(volts), 60)) * 10.0 ** dice.integers(-1, 5)

    def number(value, exact=False):
        text = f"{value:.{12 if exact else digits}e}" if scientific else f"{value:,.{9 if exact else digits}f}"
        text = text.translate(str.maketrans({",": divided, ".": mark}))
        return f'"{text}"' if quoted else text

    columns = [(np.arange(60) + int(dice.integers(-50, 50))) / rate / UNITS[unit], *channels]
    names = ["Time", *(f"CH{k}" for k in range(1, len(volts) + 1))]
    index, style = dice.random() < 0.3, dice.choice(["{} ({})", "{} [{}]", "{} in {}", "{}/{}", "{}_{}", "lines"])
    if style == "lines" and between != " ":
        titles = [["No", *names], ["", *(f"({each})" for each in (unit, *volts))]]
    else:
        style = "{} ({})" if style == "lines" else style
        titles = [["Index", *(style.format(name, each) for name, each in zip(names, (unit, *volts)))]]
    head = "\n".join(between.join(line[not index:]) for line in titles)
    lines = [between.join([*([str(k)] if index else []), number(row[0], True), *map(number, row[1:])])
             for k, row in enumerate(zip(*columns))]
    content = dice.choice(["", "A recorder\n", "Model,X1\nSerial,7\n"]) + "\n".join([head, *lines, ""])
    scales = [VALUES[each] for each in volts]
    steps = [(10.0 ** -digits * (1 + abs(each) * scientific)).max() * scale for each, scale in zip(channels, scales)]
    return content, rate, [each * scale for each, scale in zip(channels, scales)], steps


@pytest.mark.parametrize("seed", range(100))
def test_tables_of_random_dialects_are_right_or_refused(tmp_path, seed):
    for number in range(3):
        dice = np.random.default_rng([seed, number])
        content, rate, channels, steps = drawn_table(dice)
        path = written(tmp_path, content, dice.choice(["utf-8", "utf-16", "utf-8-sig"]))
        try:
            file = read_scope_files([path])
        except ValueError as error:
            assert "\n" not in str(error)
            continue
        assert file.sample_rate == pytest.approx(rate, rel=1e-4), content[:300]
        assert len(file.channels) == len(channels), content[:300]
        for found, expected, wrong in zip(file.channels.values(), channels, steps):
            assert abs(found - expected).max() <= wrong, content[:300]


def test_channels_in_different_units_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text('"TraceName","CH1","CH2",\n"VUnit","V","mV",\n"HResolution",5.0E-10,5.0E-10,\n\n'
                                    + rows(*VOLTS, form=" {:.6E}").replace("\n", ",\n"))
    with pytest.raises(ValueError, match="channels in different units, V, mV, allowed: one unit"):
        read_scope_files([tmp_path / "a.csv"])
