"""How raw columns became levels: the encoding, its rules, how they are learned, and how values compare."""

from sumwise.encoding.encoding import Encoding
from sumwise.encoding.learning import held_out_rows

__all__ = ["Encoding", "held_out_rows"]
