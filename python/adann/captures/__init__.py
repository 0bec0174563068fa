# SPDX-License-Identifier: GPL-3.0-or-later
"""Records in files: reading, writing, importing, normalising, aligning."""
