"""The crash test: load, kill -9, verdict."""
