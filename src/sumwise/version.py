"""The version, kept in one place: the package, its files and its wheel read it here."""

__all__ = ["__version__"]

__version__ = "0.1.0"
