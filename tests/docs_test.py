"""What the documents show is run, so that it stays true.

A fenced block of README.md or docs/**/*.md whose first line ends in `run` is run, in the order of the document, from the
project's folder, against a fresh server for each document: ```sh run with bash, ```python run with .venv/bin/python.
Where a document says 127.0.0.1:9123, the server of the test is meant. A block that begins with ```text output holds what
the block before it prints. Blocks without `run` are for reading."""

import re
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```\s*$", re.S | re.M)
COMMANDS = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [str(ROOT / ".venv/bin/python"), "-c"]}


def documents():
    return [p for p in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if p.exists()]


def blocks_of(document):
    """[(line, language, text, expected output or None)]"""
    text = document.read_text()
    found = []
    for block in BLOCK.finditer(text):
        words, line = block.group(1).split(), text.count("\n", 0, block.start()) + 1
        if words[-1:] == ["run"]:
            assert words[0] in COMMANDS, f"{document.name}:{line}: only sh and python can be run"
            found.append([line, words[0], block.group(2), None])
        elif words == ["text", "output"]:
            assert found and found[-1][3] is None, f"{document.name}:{line}: the output of what?"
            found[-1][3] = block.group(2)
    return found


RUNNABLE = [d for d in documents() if blocks_of(d)]


def test_the_readme_has_a_first_session():
    assert ROOT / "README.md" in RUNNABLE


@pytest.mark.timeout(300)
@pytest.mark.parametrize("document", RUNNABLE, ids=lambda d: str(d.relative_to(ROOT)))
def test_what_a_document_shows(workplace, document):
    server = workplace.server().start()
    for line, language, text, expected in blocks_of(document):
        text = text.replace("127.0.0.1:9123", server.bootstrap).replace("demo-data", str(server.data_dir))
        ran = subprocess.run([*COMMANDS[language], text], cwd=ROOT, capture_output=True, text=True, timeout=120)
        where = f"{document.relative_to(ROOT)}:{line}"
        # The Fluss client may abort the interpreter while it ends; by then all was printed.
        done = ran.returncode == 0 or (ran.returncode == -signal.SIGABRT and expected is not None)
        assert done, f"{where}: exit status {ran.returncode}\n{ran.stdout}{ran.stderr}"
        if expected is not None:
            assert ran.stdout == expected, f"{where}: printed\n{ran.stdout}"
    assert server.stop() == 0


def test_links_between_documents_lead_somewhere():
    for document in documents():
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.relative_to(ROOT)} links to {target}"
