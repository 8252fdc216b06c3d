"""The arithmetic of games and of published methods; built and found as ``belated.core``."""
