"""The logger of the library: silent until the application configures ``logging``."""

import logging

LOG = logging.getLogger("belated")
LOG.addHandler(logging.NullHandler())
