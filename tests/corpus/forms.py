"""Mutations of how a file is written: encodings, separators, titles, hostile headers, file formats; other forms."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd

from corpus.made import Case, Refused, csv, mutation
from corpus.totals import flawed_flocks, write_padded
from study_cases import flocks, people


def text(e) -> str:
    return e.frame.to_csv(index=False)


@mutation
def semicolons(e):
    return csv(e.frame, sep=";"), e.right()


@mutation
def tabs(e):
    return csv(e.frame, "votes.tsv", sep="\t"), e.right()


@mutation
def bars(e):
    return csv(e.frame, "votes.txt", sep="|"), e.right()


@mutation
def windows_line_ends(e):
    return text(e).replace("\n", "\r\n").encode(), e.right()


@mutation
def utf16(e):
    return text(e).replace(e.unit, "precinct é").encode("utf-16"), e.right()


@mutation
def latin1(e):
    return text(e).replace("\n" + e.frame.iloc[2, 0], "\nZürich").encode("latin-1"), e.right()


@mutation
def byte_order_mark(e):
    return text(e).encode("utf-8-sig"), e.right()


@mutation
def gzipped(e):
    return csv(gzip.compress(text(e).encode()), "votes.csv.gz"), e.right()


@mutation
def english_thousands(e):
    frame = e.frame.copy()
    for c in [*e.groups, *e.outcomes]:
        frame[c] = [f"{1000 * x:,}" for x in frame[c]]
    right = e.right()
    return frame, type(right)([(1000 * r, 1000 * c) for r, c in right.sides])


@mutation
def german_thousands(e):
    frame = e.frame.copy()
    for c in [*e.groups, *e.outcomes]:
        frame[c] = [f"{1000 * x:,}".replace(",", ".") for x in frame[c]]
    right = e.right()
    return csv(frame, sep=";"), type(right)([(1000 * r, 1000 * c) for r, c in right.sides])


@mutation
def spaces_as_thousands(e):
    frame = e.frame.copy()
    for c in [*e.groups, *e.outcomes]:
        frame[c] = [f"{1000 * x:,}".replace(",", "\u00a0") for x in frame[c]]
    right = e.right()
    return csv(frame, sep=";"), type(right)([(1000 * r, 1000 * c) for r, c in right.sides])


@mutation
def decimal_commas(e):
    frame = e.frame.assign(total=e.total)
    for c in [*e.groups, *e.outcomes]:
        frame[c] = (frame[c] / e.total).round(6)
    return csv(frame, sep=";", decimal=","), e.right(off=1e-4)


@mutation
def blank_rows_and_columns(e):
    lines = [line + ",,," for line in text(e).splitlines()]
    return "\n".join([*lines, *["," * (len(e.frame.columns) + 2)] * 3]) + "\n", e.right()


@mutation
def german_words(e):
    words = ["Weiße", "Schwarze", "Andere"][: len(e.groups)], ["Müller", "Schmidt", "Nichtwähler"]
    names = dict(zip(e.groups, words[0])) | dict(zip(e.outcomes, words[1][-len(e.outcomes) :]))
    frame = e.frame.rename(columns={**names, e.unit: "Wahlbezirk"}).assign(Wahlberechtigte=e.total)
    return csv(frame, sep=";"), e.right()


@mutation
def excel_with_merged_heads(e):
    def write(folder: Path) -> list[Path]:
        import openpyxl

        e.frame.to_excel(folder / "votes.xlsx", index=False, startrow=1, sheet_name="Votes")
        book = openpyxl.load_workbook(folder / "votes.xlsx")
        page, last = book["Votes"], 1 + len(e.groups)
        page.cell(1, 2, "Race")
        page.merge_cells(start_row=1, start_column=2, end_row=1, end_column=last)
        page.cell(1, last + 1, "Votes")
        page.merge_cells(start_row=1, start_column=last + 1, end_row=1, end_column=last + len(e.outcomes))
        book.save(folder / "votes.xlsx")
        return [folder / "votes.xlsx"]

    return write, e.right()


@mutation
def points_and_zeros(e):
    return e.frame.astype(dict.fromkeys([*e.groups, *e.outcomes], float)), e.right()


@mutation
def title_row(e):
    return f"Results of the election\n{text(e)}", e.right()


@mutation
def padded_title_rows(e):
    commas = "," * (len(e.frame.columns) - 1)
    return f"Results{commas}\nas of 3 November{commas}\n\n{text(e)}", e.right()


@mutation
def two_header_rows(e):
    top = ["", "Who", *[""] * (len(e.groups) - 1), "What", *[""] * (len(e.outcomes) - 1)]
    return ",".join(top) + "\n" + text(e), e.right()


@mutation
def no_header(e):
    if e.name == "adults":
        return None
    return csv(e.frame, header=False), e.right(asks="sides")


@mutation
def hostile_headers(e):
    unit = 'precinct "x"; DROP TABLE votes; --'
    return e.frame.rename(columns={e.unit: unit, e.groups[0]: f"{e.groups[0]}, <b>&'\n"}), e.right(asks="sides")


@mutation
def names_like_formulas(e):
    return e.frame.assign(**{e.unit: [f"=1+{k}" for k in range(24)]}), e.right()


@mutation
def twin_headers(e):
    head, _, rest = text(e).partition("\n")
    return head.replace(e.outcomes[0], e.groups[0]) + "\n" + rest, Refused("two columns called")


@mutation
def ragged_row(e):
    lines = text(e).splitlines()
    lines[5] = lines[5].rpartition(",")[0]
    return "\n".join(lines) + "\n", e.right(np.arange(24) != 4, asks="ragged")


@mutation
def codes_with_zeros(e):
    return e.frame.assign(**{e.unit: [f"{k:03d}" for k in range(24)]}), e.right()


@mutation
def numbered_units(e):
    return e.frame.assign(**{e.unit: np.arange(24) + 1}), e.right()


@mutation
def dates_and_flags(e):
    more = {"day": "2020-11-03", "checked": [True, False] * 12, "zip": [f"0{k}234" for k in range(24)]}
    return e.frame.assign(**more), e.right()


@mutation
def excel(e):
    return _excel(e, 0), e.right()


@mutation
def excel_with_titles(e):
    return _excel(e, 3), e.right()


def _excel(e, titles):
    def write(folder: Path) -> list[Path]:
        e.frame.to_excel(folder / "votes.xlsx", index=False, startrow=titles, sheet_name="Votes")
        if titles:
            import openpyxl

            book = openpyxl.load_workbook(folder / "votes.xlsx")
            book["Votes"]["A1"] = "Results"
            book.save(folder / "votes.xlsx")
        return [folder / "votes.xlsx"]

    return write


@mutation
def stata(e):
    def write(folder: Path) -> list[Path]:
        import pyreadstat

        frame = e.frame.rename(columns={"O'Neil": "O_Neil"})
        pyreadstat.write_dta(frame, str(folder / "votes.dta"))
        return [folder / "votes.dta"]

    return write, e.right()


@mutation
def spss(e):
    def write(folder: Path) -> list[Path]:
        import pyreadstat

        pyreadstat.write_sav(e.frame.rename(columns={"O'Neil": "O_Neil"}), str(folder / "votes.sav"))
        return [folder / "votes.sav"]

    return write, e.right()


@mutation
def geojson(e):
    features = [
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": [0, 0]}, "properties": row}
        for row in json.loads(e.frame.to_json(orient="records"))
    ]
    return csv(json.dumps({"type": "FeatureCollection", "features": features}), "votes.geojson"), e.right()


@mutation
def geopackage(e):
    def write(folder: Path) -> list[Path]:
        path = folder / "votes.gpkg"
        con = sqlite3.connect(path)
        e.frame.to_sql("votes", con, index=False)
        con.execute("CREATE TABLE gpkg_contents (table_name TEXT, data_type TEXT)")
        con.execute("CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT)")
        con.execute("INSERT INTO gpkg_contents VALUES ('votes', 'features')")
        con.commit()
        con.close()
        return [path]

    return write, e.right()


@mutation
def parquet(e):
    def write(folder: Path) -> list[Path]:
        e.frame.to_parquet(folder / "votes.parquet")
        return [folder / "votes.parquet"]

    return write, e.right()


@mutation
def arrow(e):
    def write(folder: Path) -> list[Path]:
        e.frame.to_feather(folder / "votes.feather")
        return [folder / "votes.feather"]

    return write, e.right()


def other_cases() -> list[Case]:
    """Files that are no margins, and must not be taken for any."""
    rng = np.random.default_rng(0)
    prices = pd.DataFrame({"day": range(9), "open": rng.normal(50, 9, 9), "close": rng.normal(50, 9, 9)})
    only_groups = pd.DataFrame({"precinct": list("abcdef"), "white": range(6), "black": range(6, 12)})
    refused = {
        "empty": ("", "is empty"),
        "header_only": ("precinct,young,old,yes,no\n", "no rows"),
        "words": ("name,remark\nAnn,hello\nBob,bye\n", "no form that is known"),
        "prices": (prices, "no form that is known"),
        "groups_alone": (only_groups, "no form that is known"),
        "binary": (bytes(range(128, 160)) * 20, "neither UTF-8 nor Latin-1|mixes encodings|no form|can't be read"),
    }
    birds = flocks(3, 2)
    cells = pd.DataFrame({"age": ["y", "y", "o", "o"], "sex": ["f", "m"] * 2, "count": [90, 80, 70, 60], "clicks": 9})
    refused |= {
        "withheld_count": (birds.assign(birds=["*", *birds["birds"][1:]]), "is withheld in 1 of 12 rows"),
        "negative_clicks": (cells.assign(clicks=[-1, 2, 3, 4]), "'clicks' is negative in 1 of 4 rows. First: row 2"),
    }
    refused |= flawed_flocks(flocks(5, 3))
    found = [Case(name, csv(content), Refused(pattern)) for name, (content, pattern) in refused.items()]
    individuals = people(12, 20)
    results = pd.crosstab(individuals["area"], individuals["vote"]).reset_index()

    def write(folder: Path) -> list[Path]:
        results.loc[0, "no"] = -3
        return [
            *csv(individuals.drop(columns="vote"), "people.csv")(folder),
            *csv(results, "results.csv")(folder),
        ]

    negative = Refused("'no' is negative in 1 of 12 rows. First: row 2")
    zeros = Refused("write 10 of 12 bags with other zeros in front: '00' in 'area' and '0' in 'area'")
    return [
        *found,
        Case("negative_result_of_a_bag", write, negative),
        Case("bags_with_zeros_in_front", write_padded(individuals), zeros),
    ]
