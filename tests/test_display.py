from sumwise.display import facts_html, facts_text, shortened


def test_shortened_counts_what_it_hides():
    assert shortened([1, 2]) == "1, 2"
    assert shortened(range(100), 2) == "0, 1, ... (100 in all)"


def test_facts_are_readable():
    assert (
        facts_text("Fit", {"gap": None, "n": 1234567, "x": 0.25, "ok": True})
        == "Fit(gap=None, n=1,234,567, x=0.25, ok=True)"
    )


def test_html_escapes_names_from_files():
    page = facts_html("<Margins>", {"<script>": ["<b>", "'\""]})
    assert "<script>" not in page
    assert "[<b>" not in page
    assert "&lt;script&gt;" in page
