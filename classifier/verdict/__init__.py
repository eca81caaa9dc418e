"""Whose fault is a failure: evidence in, verdict out. Pure functions over plain data."""
