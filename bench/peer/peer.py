#!/usr/bin/env python3
"""Apache Fluss 0.9.1 on this machine, to be measured beside Weir: ZooKeeper, a coordinator and a tablet server.

    peer.py DIR      fetches it if need be (Maven, JDK 17), starts it with its data in DIR, stops it at Ctrl-C or SIGTERM

Settings are the defaults of the release, with one bucket and one replica a table.
"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("WEIR_PEER_CACHE", pathlib.Path.home() / ".cache" / "weir-bench" / "fluss-0.9.1"))
ZOOKEEPER_PORT, COORDINATOR_PORT, TABLET_PORT = 21810, 19123, 19124
BOOTSTRAP = f"127.0.0.1:{COORDINATOR_PORT}"
START_SECONDS_MAX = 90
STOP_SECONDS_MAX = 20

ZOOKEEPER = "org.apache.fluss.shaded.zookeeper3.org.apache.zookeeper.server.quorum.QuorumPeerMain"
COORDINATOR = "org.apache.fluss.server.coordinator.CoordinatorServer"
TABLET = "org.apache.fluss.server.tablet.TabletServer"

LOGBACK = """<configuration>
  <appender name="file" class="ch.qos.logback.core.FileAppender">
    <file>${weir.log}</file>
    <encoder><pattern>%d [%thread] %-5level %logger - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="file"/></root>
</configuration>
"""


def fetch():
    """The folder with the jars, filled if it is not."""
    if not any(CACHE.glob("fluss-server-*.jar")):
        CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mvn", "-q", "-B", "-ntp", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies",
                        f"-DoutputDirectory={CACHE}", "-DincludeScope=runtime"], check=True)
    return CACHE


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


class Fluss:
    """Three processes. `start_seconds` is the time until all three ports answer."""

    def __init__(self, directory, settings=()):
        """`settings` are lines for server.yaml."""
        self.directory = pathlib.Path(directory)
        self.processes = []
        jars = fetch()
        shutil.rmtree(self.directory, ignore_errors=True)
        for name in ("zookeeper", "data", "remote", "conf"):
            (self.directory / name).mkdir(parents=True)
        self.classpath = f"{jars}/*"
        (self.directory / "logback.xml").write_text(LOGBACK)
        (self.directory / "zookeeper.properties").write_text(
            f"dataDir={self.directory}/zookeeper\nclientPort={ZOOKEEPER_PORT}\nclientPortAddress=127.0.0.1\n"
            "maxClientCnxns=0\nadmin.enableServer=false\n")
        (self.directory / "conf" / "server.yaml").write_text(
            f"zookeeper.address: 127.0.0.1:{ZOOKEEPER_PORT}\ntablet-server.id: 0\ninternal.listener.name: FLUSS\n"
            f"data.dir: {self.directory}/data\nremote.data.dir: {self.directory}/remote\n"
            "default.bucket.number: 1\ndefault.replication.factor: 1\n" + "".join(f"{line}\n" for line in settings))
        begin = time.monotonic()
        try:
            self._start("zookeeper", ZOOKEEPER_PORT, ZOOKEEPER, str(self.directory / "zookeeper.properties"))
            for name, port, main in (("coordinator", COORDINATOR_PORT, COORDINATOR), ("tablet", TABLET_PORT, TABLET)):
                self._start(name, port, main, "--configDir", str(self.directory / "conf"),
                            f"-Dbind.listeners=FLUSS://127.0.0.1:{port}")
        except BaseException:
            self.stop()
            raise
        self.start_seconds = time.monotonic() - begin

    def _start(self, name, port, main, *arguments):
        if answers(port):
            raise RuntimeError(f"cannot start the {name}: port {port} is in use")
        with open(self.directory / f"{name}.out", "wb") as out:
            process = subprocess.Popen(
                ["java", "--add-opens=java.base/java.nio=org.apache.arrow.memory.core,ALL-UNNAMED",
                 f"-Dweir.log={self.directory}/{name}.log",
                 f"-Dlogback.configurationFile=file:{self.directory}/logback.xml", "-cp", self.classpath, main, *arguments],
                stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        self.processes.append(process)
        end = time.monotonic() + START_SECONDS_MAX
        while not answers(port):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{name} did not start: see {self.directory}/{name}.out and {name}.log")
            time.sleep(0.02)

    @property
    def pids(self):
        return [process.pid for process in self.processes]

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(timeout=STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    fluss = Fluss(sys.argv[1])
    print(f"Apache Fluss answers on {BOOTSTRAP} after {fluss.start_seconds:.1f} s, "
          f"pids {','.join(map(str, fluss.pids))}", flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        fluss.stop()


if __name__ == "__main__":
    main()
