"""The unmodified Rust client: a cargo package that is run against a server, and then judged test by test."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import server as servers

HERE = Path(__file__).parent
TARGET = HERE.parent.parent / "build/rust"
TESTS = sorted(name for source in (HERE / "tests").glob("*.rs")
               for name in re.findall(r"#\[tokio::test\]\nasync fn (\w+)", source.read_text()))


@pytest.fixture(scope="module")
def output():
    """What cargo said. It compiles the client, which takes minutes the first time."""
    place = servers.Workplace()
    server = place.server().start()
    done = subprocess.run(["cargo", "test", "--locked", "--tests"], cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env={**os.environ, "CARGO_TARGET_DIR": str(TARGET), "WEIR_BOOTSTRAP": server.bootstrap})
    yield done.stdout
    assert server.is_running()
    place.close()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", TESTS)
def test_rust(output, name):
    assert re.search(rf"^test {name} \.\.\. ok$", output, re.MULTILINE), output
