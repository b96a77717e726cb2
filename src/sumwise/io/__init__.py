"""What goes to disk and what comes from it: one writer, one sandbox for parsers, saved models and checkpoints.

``writer`` makes every file and folder that sumwise makes; ``sandbox`` runs ``parsers`` in a process with limits;
``persistence`` and ``checkpoint`` keep objects in files, by what ``saved`` knows of them.
"""
