"""Table properties, one at a time: accepted or refused as Apache Fluss 0.9.1 does (properties.json), and 39 where an
exception of its own escapes there."""

import json
from pathlib import Path

import fluss
import pyarrow as pa
import pytest

from kit import code_of, descriptor, fields

CASES = json.loads((Path(__file__).parent / "properties.json").read_text())


@pytest.mark.parametrize("kind, key, value, code", CASES, ids=lambda part: str(part))
async def test_property(admin, db, kind, key, value, code):
    keys = {"pk": ["id"]} if kind == "primary-key" else {}
    table = descriptor(fields(id=pa.int32(), name=pa.string()), properties={key: value}, **keys)
    assert await code_of(admin.create_table(fluss.TablePath(db, "t"), table)) == code
