"""The benchmarks: `python -m bench` runs all, `python -m bench NAME` one. Each prints one JSON line."""
