"""Advertising logs that users fetch themselves: the Criteo Attribution log and the AdKDD 2021 challenge."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

import pandas as pd

from sumwise import checks
from sumwise.errors import DataError, UnknownName

ATTRIBUTION = (
    *("timestamp", "uid", "campaign", "conversion", "conversion_timestamp", "conversion_id", "attribution"),
    *("click", "click_pos", "click_nb", "cost", "cpo", "time_since_last_click", *(f"cat{i}" for i in range(1, 10))),
)
HASHES = tuple(f"hash_{i}" for i in range(19))
SINGLES = ("feature_value", "feature_id", "count", "click", "sale")
PAIRS = ("feature_1_value", "feature_2_value", "feature_1_id", "feature_2_id", "count", "click", "sale")

_ATTRIBUTION_SOURCE = (
    "E. Diemert, J. Meynet, P. Galland and D. Lefortier 2017, Attribution Modeling Increases Efficiency of "
    "Bidding in Display Advertising, file criteo_attribution_dataset.tsv.gz, from the Criteo AI Lab "
    "(CC BY-NC-SA 4.0)"
)
_ADKDD_SOURCE = (
    "E. Diemert et al. 2022, Lessons from the AdKDD'21 Privacy-Preserving ML Challenge (arXiv:2201.13123), "
    "from the criteo-privacy-preserving-ml-competition repository of Criteo Research"
)


def criteo_attribution(
    path: str | PathLike, columns: Sequence[str] | None = None, chunk_rows: int = 1_000_000
) -> Iterator[pd.DataFrame]:
    """Stream the Criteo Attribution log: 16.5 million impressions over 30 days.

    Parameters
    ----------
    path : str or path
        ``criteo_attribution_dataset.tsv`` or ``.tsv.gz`` on your machine.
    columns : sequence of str, optional
        Only these of the 22 columns (default: all). ``cat1`` to ``cat9`` and ``campaign`` are the features;
        ``click``, ``conversion`` and ``attribution`` the labels.
    chunk_rows : int, default 1_000_000
        Rows of one frame.

    Yields
    ------
    pandas.DataFrame
        At most ``chunk_rows`` rows, in the order of the file.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.criteo_attribution("criteo_attribution_dataset.tsv.gz")
    Traceback (most recent call last):
        ...
    sumwise.errors.DataError: There is no file 'criteo_attribution_dataset.tsv.gz'. ...
    """
    return _stream(path, "\t", [ATTRIBUTION], columns, chunk_rows, _ATTRIBUTION_SOURCE)


def adkdd_rows(
    path: str | PathLike, columns: Sequence[str] | None = None, chunk_rows: int = 1_000_000
) -> Iterator[pd.DataFrame]:
    """Stream individual rows of the AdKDD 2021 challenge: small train, large train or test.

    Parameters
    ----------
    path : str or path
        A CSV file (plain or gzip) with ``hash_0`` ... ``hash_18`` and, except in the blind test part,
        ``click`` and ``sale``.
    columns : sequence of str, optional
        Only these columns.
    chunk_rows : int, default 1_000_000
        Rows of one frame.

    Yields
    ------
    pandas.DataFrame
        At most ``chunk_rows`` rows, in the order of the file.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.adkdd_rows("small_train.csv")
    Traceback (most recent call last):
        ...
    sumwise.errors.DataError: There is no file 'small_train.csv'. ...
    """
    return _stream(path, ",", [(*HASHES, "click", "sale"), HASHES], columns, chunk_rows, _ADKDD_SOURCE)


def adkdd_aggregates(path: str | PathLike, chunk_rows: int = 1_000_000) -> Iterator[pd.DataFrame]:
    """Stream the noisy aggregates of the AdKDD 2021 challenge: singles or pairs of features.

    Counts, clicks and sales carry Gaussian noise of standard deviation 17; cells below the threshold are
    left out.

    Parameters
    ----------
    path : str or path
        ``aggregated_noisy_data_singles.csv`` or ``aggregated_noisy_data_pairs.csv`` (plain or gzip).
    chunk_rows : int, default 1_000_000
        Rows of one frame.

    Yields
    ------
    pandas.DataFrame
        ``feature_value, feature_id, count, click, sale``, or for pairs ``feature_1_value, feature_2_value,
        feature_1_id, feature_2_id, count, click, sale``.

    Examples
    --------
    >>> from sumwise import datasets
    >>> datasets.adkdd_aggregates("aggregated_noisy_data_singles.csv.gz")
    Traceback (most recent call last):
        ...
    sumwise.errors.DataError: There is no file 'aggregated_noisy_data_singles.csv.gz'. ...
    """
    return _stream(path, ",", [SINGLES, PAIRS], None, chunk_rows, _ADKDD_SOURCE)


def _stream(
    path: str | PathLike,
    separator: str,
    layouts: Sequence[tuple[str, ...]],
    columns: Sequence[str] | None,
    chunk_rows: int,
    source: str,
) -> Iterator[pd.DataFrame]:
    """Check the header now, read the rows later: a wrong path fails at the call, not at the first chunk."""
    if not isinstance(path, (str, PathLike)):
        raise DataError(f"The path is {path!r}.", hint="give the name of a file.")
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}. The public original: {source}.", hint="give its path.")
    checks.at_least(chunk_rows, "chunk_rows", 1)
    header = tuple(_read(path, separator, nrows=0).columns)
    if not any(set(layout) <= set(header) for layout in layouts):
        wanted = " or ".join(", ".join(layout) for layout in layouts)
        raise DataError(
            f"The file {str(path)!r} has the columns {', '.join(map(str, header))}; expected {wanted}.",
            hint=f"the public original: {source}.",
        )
    for name in columns or ():
        if name not in header:
            raise UnknownName(f"The file {str(path)!r} has no column {name!r}.", hint=f"it has {', '.join(header)}.")
    return _chunks(path, separator, columns, chunk_rows)


def _chunks(path: Path, separator: str, columns: Sequence[str] | None, rows: int) -> Iterator[pd.DataFrame]:
    reader = _read(path, separator, chunksize=rows, usecols=None if columns is None else list(columns))
    with reader:
        while True:
            try:
                chunk = next(reader)
            except StopIteration:
                return
            except (ValueError, EOFError, OSError, zlib.error) as error:
                raise DataError(f"The file {str(path)!r} breaks off or isn't what its name says: {error}.") from error
            yield chunk if columns is None else chunk[list(columns)]


def _read(path: Path, separator: str, **options):
    try:
        return pd.read_csv(path, sep=separator, low_memory=False, **options)
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"The file {str(path)!r} can't be read: {error}.") from error
