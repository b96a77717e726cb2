"""Names and levels that hurt: quotes, keywords, unicode, spaces, and an injection."""

NASTY_LEVELS = [
    "it's",
    'a "b"',
    "ünïcode ✓",
    "select",
    "'; DROP TABLE rows; --",
    " two  spaces ",
    "",
    "a\nb",
    "%s{}\\n\\",
    "NULL",
]
NASTY_NAMES = {
    "text": "'; DROP TABLE source; --",
    "number": 'say "n"',
    "flag": "select * from",
    "upper": "A",
    "lower": "a",
    "dots": "x.y `z` ß",
    "label": "la'bel",
    "kind": "group by",
    "weight": "we\\ight",
}
