"""How raw columns became levels: the encoding, its rules, how they are learned or declared, and how values compare."""

from sumwise.encoding.declaration import Declaration
from sumwise.encoding.encoding import Encoding
from sumwise.encoding.learning import held_out_rows

__all__ = ["Declaration", "Encoding", "held_out_rows"]
