"""Continuous settings from late values: features, evidence, members, plays."""
