"""Redis's own test suite, run against this server."""
