"""The mathematics of ecological inference: plain functions on arrays."""

BLOCK = 4096  # units that are worked on at a time; with more of them, fits begin with a part and threads share the work
LEAST = 1e-6  # a share that is as good as none: at 0, a logarithm or a tilt would be infinite
ROUNDING = 1e-8  # of the largest: singular and eigenvalues that are 0 up to rounding
