"""The unmodified Java client: a Maven project that is run against a server, and then judged class by class."""

import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import server as servers

HERE = Path(__file__).parent
REPORTS = HERE.parent.parent / "build/java/surefire-reports"
CLASSES = sorted(p.stem for p in (HERE / "src/test/java/weir").glob("*Test.java") if p.stem != "WeirTest")
# So often that a test which waits for a kv snapshot does not wait for long.
SETTINGS = '[kv]\nsnapshot_interval = "200ms"\n'


@pytest.fixture(scope="module")
def output():
    """What Maven said."""
    place = servers.Workplace()
    server = place.server(settings=SETTINGS).start()
    for report in REPORTS.glob("*.xml"):
        report.unlink()
    command = ["mvn", "-B", "-q", "test", f"-Dweir.bootstrap={server.bootstrap}"]
    done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    yield done.stdout
    assert server.is_running()
    place.close()


@pytest.mark.timeout(1000)
@pytest.mark.parametrize("name", CLASSES)
def test_java(output, name):
    report = REPORTS / f"TEST-weir.{name}.xml"
    assert report.exists(), output
    suite = ElementTree.parse(report).getroot()
    counts = {n: int(suite.get(n)) for n in ("tests", "failures", "errors", "skipped")}
    assert counts["tests"] > 0 and not any(counts[n] for n in ("failures", "errors", "skipped")), output
