"""Loads, verifies and churns a running server with values that follow from key and version."""
