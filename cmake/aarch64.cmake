# Toolchain: arm64 by Debian's cross compiler, its programs run by qemu.
# SPDX-License-Identifier: GPL-3.0-or-later
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# GCC 12 warns of its own library's next_permutation, and notes what GCC 10 passed in another way.
set(CMAKE_CXX_FLAGS_INIT "-Wno-stringop-overflow -Wno-psabi")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu)
