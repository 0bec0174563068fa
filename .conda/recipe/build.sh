#!/usr/bin/env bash
# What conda build runs in the source tree, with PREFIX, PYTHON, SP_DIR, CMAKE_ARGS and CPU_COUNT set.
# SPDX-License-Identifier: GPL-3.0-or-later
set -euxo pipefail
read -ra machine <<<"${CMAKE_ARGS:-}"
cmake -G Ninja -S . -B buildconda "${machine[@]}" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib \
    -DPYTHON_EXECUTABLE="$PYTHON" -DGR_PYTHON_DIR="$SP_DIR" -DBUILD_TESTING=OFF -Wno-dev
cmake --build buildconda -- -j"${CPU_COUNT:-1}"
cmake --install buildconda
