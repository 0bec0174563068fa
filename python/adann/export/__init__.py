# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks for other programs and machines, and networks from them."""
