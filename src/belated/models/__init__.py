"""The models, and what they share."""
