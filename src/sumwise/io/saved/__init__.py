"""How objects become one JSON tree and plain arrays in one file, and come back without running any code.

``json_tree`` goes through an object; ``plain``, ``arrays``, ``randomness``, ``sparse``, ``frames``, ``classes``,
``scikit`` and ``trees`` each know one sort of value; ``archive`` is the file. Users call
:func:`sumwise.io.persistence.save` and :class:`sumwise.io.checkpoint.Checkpoint`.
"""
