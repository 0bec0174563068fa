# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done to whole records: training, calibration, equalization, counting, reports."""
