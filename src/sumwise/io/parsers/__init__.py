"""One native parser each: a function ``parse(path, **options)`` that returns an Arrow table, run by ``io.sandbox``."""
