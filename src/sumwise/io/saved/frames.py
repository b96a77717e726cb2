"""pandas frames, series and indexes, column by column, with their dtypes and names."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.io.saved.json_tree import Decoder, Encoder, refuse

MASKED = ("IntegerArray", "FloatingArray", "BooleanArray")
"""pandas' arrays of nullable numbers: values and a mask."""


def encode(encoder: Encoder, value: Any, where: str) -> Any:
    """Encode a DataFrame, Series, Index or missing value; None for anything else."""
    import pandas as pd

    if value is pd.NA or value is pd.NaT:
        return {"missing": "NA" if value is pd.NA else "NaT"}
    if isinstance(value, pd.Index):
        return {"index": _encode_index(encoder, value, where)}
    if isinstance(value, pd.api.extensions.ExtensionArray):
        return _encode_values(encoder, value, where)
    if type(value) is pd.Series:
        parts = {"name": value.name, "index": value.index, "values": value.array, "attrs": dict(value.attrs)}
        return {"series": {name: _encode_part(encoder, part, where) for name, part in parts.items()}}
    if type(value) is pd.DataFrame:
        body = encoder.named({"columns": value.columns, "index": value.index, "attrs": dict(value.attrs)}, where)
        names = [f"{where}[{name!r}]" for name in value.columns]
        body["values"] = [_encode_values(encoder, value.iloc[:, i].array, n) for i, n in enumerate(names)]
        return {"frame": body}
    return None


def _encode_part(encoder: Encoder, part: Any, where: str) -> Any:
    import pandas as pd

    if isinstance(part, pd.api.extensions.ExtensionArray):
        return _encode_values(encoder, part, where)
    return encoder.encode(part, where)


def _encode_values(encoder: Encoder, values: Any, where: str) -> Any:
    """Encode the array behind a column: NumPy's own as it is, pandas' own by their parts."""
    import pandas as pd

    dtype = values.dtype
    if isinstance(dtype, pd.StringDtype):  # before NumPy's: pandas 2.2 derives it from there
        missing = np.asarray(values.isna())
        text = np.array(values.to_numpy(dtype=object), dtype=object)
        text[missing] = None
        body = {"storage": dtype.storage, "na": "NA" if dtype.na_value is pd.NA else "nan", "text": text}
        return {"values": {"sort": "string", **encoder.named(body, where)}}
    if isinstance(dtype, np.dtype) or isinstance(values, pd.arrays.NumpyExtensionArray):
        return encoder.encode(np.asarray(values), where)
    if isinstance(dtype, pd.CategoricalDtype):
        body = {"categories": dtype.categories, "codes": values.codes, "ordered": bool(dtype.ordered)}
        return {"values": {"sort": "category", **encoder.named(body, where)}}
    if isinstance(dtype, pd.DatetimeTZDtype) and _zone_is_kept(dtype):
        body = {"utc": values.asi8.view(f"M8[{dtype.unit}]"), "zone": str(dtype.tz)}
        return {"values": {"sort": "zoned", **encoder.named(body, where)}}
    if type(values).__name__ in MASKED and type(values) is getattr(pd.arrays, type(values).__name__):
        name = type(values).__name__
        missing = np.asarray(values.isna())
        plain: Any = dtype.numpy_dtype  # type: ignore[attr-defined]
        data = values.to_numpy(dtype=plain, na_value=False if name == "BooleanArray" else 0)
        body = {"class": name, "data": data, "missing": missing}
        return {"values": {"sort": "masked", **encoder.named(body, where)}}
    raise DataError(f"{where}: a pandas column of dtype {dtype} can't be saved.", hint="convert it with astype.")


def _zone_is_kept(dtype: Any) -> bool:
    import pandas as pd

    try:
        return pd.DatetimeTZDtype(dtype.unit, str(dtype.tz)) == dtype
    except (ValueError, TypeError, KeyError):
        return False


def _encode_index(encoder: Encoder, index: Any, where: str) -> dict:
    import pandas as pd

    if type(index) is pd.RangeIndex:
        return encoder.named({"range": [index.start, index.stop, index.step], "name": index.name}, where)
    if type(index) is pd.MultiIndex:
        levels = [_encode_index(encoder, level, f"{where}.levels[{i}]") for i, level in enumerate(index.levels)]
        parts = {"codes": [np.asarray(c) for c in index.codes], "names": list(index.names)}
        return {"levels": levels, **encoder.named(parts, where)}
    if type(index) not in (pd.Index, pd.DatetimeIndex, pd.TimedeltaIndex, pd.CategoricalIndex):
        refuse(index, where, hint="use a plain index: frame.reset_index().")
    body = encoder.named({"name": index.name, "freq": getattr(index, "freqstr", None)}, where)
    return {"values": _encode_values(encoder, index.array, where), **body}


def decode(decoder: Decoder, tag: str, body: Any, where: str) -> Any:
    """Decode a DataFrame, Series, Index, array of values or missing value."""
    import pandas as pd

    if tag == "missing":
        return {"NA": pd.NA, "NaT": pd.NaT}[body]
    if tag == "values":
        return _decode_values(decoder, body, where)
    if tag == "index":
        return _decode_index(decoder, body, where)
    index, attrs = decoder.decode(body["index"], where), decoder.decode(body["attrs"], where)
    if tag == "series":
        result = _series(decoder.decode(body["values"], where), index)
        result.name = decoder.decode(body["name"], where)
    else:
        columns = decoder.decode(body["columns"], where)
        values = decoder.each(body["values"], where)
        result = pd.DataFrame({i: _series(v, index) for i, v in enumerate(values)}, index=index)
        result.columns = columns
    result.attrs = attrs
    return result


def _series(values: Any, index: Any) -> Any:
    import pandas as pd

    return pd.Series(values, index=index, dtype=values.dtype, copy=False)


def _decode_values(decoder: Decoder, body: dict, where: str) -> Any:
    import pandas as pd

    parts = decoder.named({name: node for name, node in body.items() if name != "sort"}, where)
    if body["sort"] == "category":
        dtype = pd.CategoricalDtype(parts["categories"], ordered=parts["ordered"])
        return pd.Categorical.from_codes(parts["codes"], dtype=dtype)
    if body["sort"] == "string":
        if any(type(x) not in (str, type(None)) for x in parts["text"]):
            raise DataError(f"{where}: the file contains a text column with values that are not text.")
        return pd.array(parts["text"], dtype=_string_dtype(parts["storage"], parts["na"]))
    if body["sort"] == "zoned":
        if parts["zone"].startswith("dateutil"):  # would read a file of that name
            raise DataError(f"{where}: the file names the unknown time zone {parts['zone']!r}.")
        return pd.DatetimeIndex(parts["utc"]).tz_localize("UTC").tz_convert(parts["zone"]).array
    if parts["class"] not in MASKED:
        raise DataError(f"{where}: the file contains a column of the unknown class {parts['class']!r}.")
    return getattr(pd.arrays, parts["class"])(parts["data"], parts["missing"])


def _string_dtype(storage: Any, na: Any) -> Any:
    import pandas as pd

    if na == "NA":
        return pd.StringDtype(storage)
    return pd.StringDtype(storage, na_value=np.nan)


def _decode_index(decoder: Decoder, body: dict, where: str) -> Any:
    import pandas as pd

    if "range" in body:
        result = pd.RangeIndex(*decoder.each(body["range"], where), name=decoder.decode(body["name"], where))
        decoder.spend((len(result),), 8, where)
        return result
    if "levels" in body:
        levels = [_decode_index(decoder, level, where) for level in body["levels"]]
        codes, names = decoder.decode(body["codes"], where), decoder.decode(body["names"], where)
        return pd.MultiIndex(levels=levels, codes=codes, names=names, verify_integrity=True)
    values = decoder.decode(body["values"], where)
    result = pd.Index(values, dtype=values.dtype, name=decoder.decode(body["name"], where))
    freq = decoder.decode(body["freq"], where)
    if freq is not None and isinstance(result, pd.DatetimeIndex | pd.TimedeltaIndex):
        result.freq = freq
    return result
