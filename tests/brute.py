"""The slow, obvious versions that every kernel is checked against: enumerations, written to be read."""
