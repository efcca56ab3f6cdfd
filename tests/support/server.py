"""Starts `weir` for a test, and ends it gently, at once, or not at all."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("WEIR_BINARY", ROOT / "build/release/weir"))
READY = re.compile(r"^weir \S+ ready in \d+ ms: Fluss clients connect to (\S+):(\d+)(?: \(with SASL\))?(?: or .*)?, data in (.*)$")


class Weir:
    """One server process on a data directory, which outlives it. `settings` is the text of a weir.toml."""

    def __init__(self, data_dir: str | Path, settings: str = "", port: int | None = 0, prefix: tuple[str, ...] = ()):
        self.data_dir = Path(data_dir)
        self.settings = settings
        self.port = port                     # 0 only until the first start, so that clients find it again; None: as settings say
        self.prefix = prefix                 # a command that runs the server, such as prlimit
        self.process: subprocess.Popen | None = None
        self.log = self.data_dir.parent / f"{self.data_dir.name}.log"
        self.config = self.data_dir.parent / f"{self.data_dir.name}.toml"
        self.started_in = 0.0
        self.ready_line = ""

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        command = [*self.prefix, str(BINARY), "serve", "--data-dir", str(self.data_dir)]
        if self.port is not None:
            command += ["--listen-fluss", self.bootstrap]
        if self.settings:
            self.config.write_text(self.settings)
            command += ["--config", str(self.config)]
        return command

    def start(self, timeout: float = 20.0) -> "Weir":
        assert self.process is None, "it runs already"
        begin = time.monotonic()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        line = self._first_line(begin + timeout)
        ready = READY.match(line)
        if ready is None:
            self.kill()
            raise AssertionError(f"the server did not become ready: {line!r}\n{self.log_tail()}")
        self.ready_line = line
        self.port = int(ready.group(2))
        self.started_in = time.monotonic() - begin
        return self

    def _first_line(self, end: float) -> str:
        out = self.process.stdout
        text = b""
        while not text.endswith(b"\n"):
            if not select.select([out], [], [], max(0, end - time.monotonic()))[0]:
                break
            byte = os.read(out.fileno(), 1)
            if not byte:
                break
            text += byte
        return text.decode(errors="replace").rstrip("\n")

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """kill -9"""
        if self.process is not None:
            self.process.kill()
            self._gone()

    def stop(self, timeout: float = 30.0) -> int:
        """SIGTERM; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server did not stop within {timeout} s\n{self.log_tail()}") from None
        return self._gone()

    def _gone(self) -> int:
        status = self.process.wait()
        self.process.stdout.close()
        self.process = None
        return status

    def start_and_kill(self, delay: float) -> None:
        """kill -9 in the middle of the start."""
        with self.log.open("ab") as log:
            starting = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        time.sleep(delay)
        starting.kill()
        starting.wait()

    def restart(self) -> "Weir":
        self.kill()
        return self.start()

    def log_tail(self, characters: int = 3000) -> str:
        try:
            return self.log.read_text(errors="replace")[-characters:]
        except FileNotFoundError:
            return ""


class Workplace:
    """A temporary folder for data directories, and the servers on them."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="weir-test-"))
        self.servers: list[Weir] = []

    def server(self, name: str = "data", **options) -> Weir:
        server = Weir(self.folder / name, **options)
        self.servers.append(server)
        return server

    def close(self) -> None:
        for server in self.servers:
            if server.process is not None:
                server.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
