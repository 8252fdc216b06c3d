"""The documentation as a site: pages, the reference made from docstrings, and checks of both."""
