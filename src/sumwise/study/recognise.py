"""The old place of `sumwise.recognise`."""

from sumwise.deprecated import renamed

__getattr__ = renamed("sumwise.study.recognise", {n: n for n in ("Guess", "recognise")}, "sumwise.recognise")
