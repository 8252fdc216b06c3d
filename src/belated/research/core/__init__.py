"""The arithmetic of games and of published methods; built and found as ``belated.core``."""

import belated.core  # noqa: F401, which chooses between extensions and sources
