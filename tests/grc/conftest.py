# SPDX-License-Identifier: GPL-3.0-or-later
"""GRC's own library of blocks, loaded once."""

import pytest
from gnuradio import gr
from gnuradio.grc.core.platform import Platform


@pytest.fixture(scope="session")
def platform():
    made = Platform(name="GRC", prefs=gr.prefs(), version=gr.version(),
                    version_parts=(gr.major_version(), gr.api_version(), gr.minor_version()))
    made.build_library()
    return made
