# SPDX-License-Identifier: GPL-3.0-or-later
"""./dev release fills a folder with an archive that builds without git, packages, and the sums of all of it."""

import hashlib
import os
import pathlib
import re
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
VERSION = re.search(r"^project\(gr-adann VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]

OWN_BUILD = {name: value for name, value in os.environ.items() if name != "ADANN_BUILD"}  # the clone's


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    if not (ROOT / ".git").exists():
        pytest.skip("no git checkout: an archive cannot be made of it")
    clone = tmp_path_factory.mktemp("clone")
    run("git", "clone", "-q", "--depth", "1", f"file://{ROOT}", str(clone))
    return clone


def summed(folder):
    """Names in SHA256SUMS, whose sums are right."""
    found = dict(reversed(line.split("  ", 1)) for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert found == {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in found}
    run("sha256sum", "-c", "SHA256SUMS", cwd=folder)
    return set(found)


def test_the_archive_is_configured_without_git(clone, tmp_path):
    folder = clone / f"build/release-{VERSION}"
    made = []
    for _ in range(2):
        said = run("./dev", "release", "--source", cwd=clone, env=OWN_BUILD)
        assert summed(folder) == {f"gr-adann-{VERSION}.tar.gz", "README.md"}
        made.append((folder / f"gr-adann-{VERSION}.tar.gz").read_bytes())
    assert made[0] == made[1]
    assert "no packages, as --source asks\n" in said
    assert run("git", "rev-parse", "HEAD", cwd=clone).strip() in said
    with tarfile.open(folder / f"gr-adann-{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path)
    tree, = tmp_path.iterdir()
    assert tree.name == f"gr-adann-{VERSION}"
    files = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
    assert files == set(run("git", "ls-files", cwd=clone).splitlines())
    run("cmake", "-G", "Ninja", "-S", str(tree), "-B", str(tmp_path / "build"), "-Wno-dev",
        env={"PATH": "/usr/bin:/bin", "GIT_DIR": "/nowhere"})
    assert f"CMAKE_PROJECT_VERSION:STATIC={VERSION}" in (tmp_path / "build/CMakeCache.txt").read_text()


# Stands for packaging/in-suite: Debian 12 gives packages, and on Debian 13 no root can be made.
SUITES = """#!/bin/sh
[ "$4" = debian12 ] || { echo "$4: skipped: no root" >&2; exit 77; }
[ "$5" != packaging/try-release ] || head -n 1 "$3/README.md" >"$3/debian12/tried"
[ "$5" != packaging/build-deb ] || touch "$3/gr-adann_1_all.deb" "$3/gr-adann-dbgsym_1_all.deb" "$3/lintian.txt"
"""


def test_packages_lie_beside_the_archive_and_what_is_skipped_is_said(clone, tmp_path):
    (clone / "packaging/in-suite").write_text(SUITES)
    run("git", "-c", "user.name=a", "-c", "user.email=a", "commit", "-qam", "suites", cwd=clone)
    query = tmp_path / "dpkg-query"  # nothing is to be installed
    query.write_text("#!/bin/sh\necho install ok installed\n")
    query.chmod(0o755)
    stale = clone / "build/packages/debian13/gr-adann_0_all.deb"
    stale.parent.mkdir(parents=True)
    stale.touch()
    done = subprocess.run(["./dev", "release"], cwd=clone, capture_output=True, text=True,
                          env=OWN_BUILD | {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    run("git", "reset", "-q", "--hard", "HEAD~", cwd=clone)
    assert done.returncode == 0
    assert set(done.stderr.splitlines()) == {"debian13: skipped: no root"}
    assert "release: no packages for debian13\n" in done.stdout
    folder = clone / f"build/release-{VERSION}"
    files = {f"gr-adann-{VERSION}.tar.gz", "README.md"}
    assert summed(folder) == files | {"debian12/gr-adann_1_all.deb"}
    assert {path.name for path in folder.iterdir()} == files | {"SHA256SUMS", "debian12"}
    # Its instructions are tried where there are packages.
    assert (folder / "debian12/tried").read_text() == f"# gr-adann {VERSION}\n"


def test_what_is_not_committed_is_not_released(clone):
    for name, undo in ("README.md", ("checkout", "-q")), ("new.txt", ("clean", "-fq")):
        (clone / name).write_text("changed")
        refused = subprocess.run(["./dev", "release"], cwd=clone, capture_output=True, text=True, env=OWN_BUILD)
        run("git", *undo, name, cwd=clone)
        assert refused.returncode == 1
        assert refused.stderr == "release: there are changes that are not committed\n"
