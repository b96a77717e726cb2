"""Reading: one file per kind of container."""
