"""The parts of `benchmarks/distribution.py`: one file per experiment, and what they share."""
