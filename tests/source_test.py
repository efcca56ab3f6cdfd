#!/usr/bin/env python3
"""The source test: reads src/weir and names what the compiler cannot forbid.

    tests/source_test.py        prints file:line: rule for each finding; exit status 1 if there are any

Nothing outside of `runtime` reads a clock, draws chance, opens a file or starts a thread, so that all that decides can
run in a simulated world. `app`, which makes the real world, may touch the process that it is in. Each rule below carries
a line that it must find and one that it must not, which are tried first.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEST_SUFFIXES = ("_test.cc", "_bench.cc", "_fuzz.cc")


class Rule:
    def __init__(self, what, pattern, finds, leaves, layers=(), tests=False):
        self.what, self.finds, self.leaves = what, finds, leaves
        self.pattern = re.compile(pattern)
        self.layers = layers          # where it is allowed
        self.tests = tests            # whether tests and benches are held to it

    def holds_for(self, layer, is_test):
        return layer not in self.layers and (self.tests or not is_test)


RULES = [
    Rule("clocks are read in runtime only (take a Clock or a Timestamp)",
         r"\b(system|steady|high_resolution|utc|file)_clock::now\b|\b(clock_gettime|gettimeofday)\s*\(|\bstd::time\s*\(|<sys/time\.h>",
         "auto now = std::chrono::system_clock::now();", "Timestamp Now() const;", layers=("runtime",)),
    Rule("threads are started in runtime only (take an EventLoop or the BlockingPool)",
         r"\bstd::(jthread\b|thread\b(?!::hardware_concurrency)|async\b|this_thread\b)|\bpthread_\w+\s*\(",
         "std::thread worker(Run);", "std::thread::hardware_concurrency()", layers=("runtime",)),
    Rule("no locks outside of runtime (what is shared belongs to one loop)",
         r"\bstd::(\w*mutex|condition_variable\w*|lock_guard|unique_lock|scoped_lock|shared_lock|counting_semaphore|latch"
         r"|barrier|call_once)\b|<(mutex|shared_mutex|condition_variable|semaphore|latch|barrier)>",
         "std::mutex mutex_;", "AsyncMutex turn_;", layers=("runtime",)),
    Rule("nothing sleeps (wait on the loop or for an event)", r"\bsleep_(for|until)\b|\bu?sleep\s*\(",
         "std::this_thread::sleep_for(1s);", "co_await loop.Sleep(interval);", layers=("runtime",), tests=True),
    Rule("chance is drawn in runtime only (take a Random)",
         r"\bstd::(random_device|mt19937\w*|default_random_engine|minstd_rand0?)\b|\b(s?rand|random|getrandom)\s*\(|<random>",
         "std::mt19937 generator(7);", "Random& random_;", layers=("runtime",)),
    Rule("files are touched in runtime only (take a FileSystem)",
         r"<(fstream|filesystem|fcntl\.h|unistd\.h|dirent\.h|sys/(stat|file|mman|uio|statvfs)\.h)>|\bstd::(i|o)?fstream\b"
         r"|\bstd::filesystem\b|\bf?open(at|dir)?(64)?\s*\(|\bf(data)?sync\s*\(|\bmmap\s*\(|\bstd::(rename|remove)\s*\(\"",
         "const int file = ::open(path, O_RDONLY);", "WEIR_CO_ASSIGN(auto file, co_await files.OpenFile(path));",
         layers=("runtime",)),
    Rule("sockets are touched in runtime only (take a Network)", r"<(sys/socket|netinet/\w+|arpa/inet|netdb)\.h>",
         "#include <sys/socket.h>", '#include "weir/runtime/network.h"', layers=("runtime",)),
    Rule("no container is ordered by address (its order differs from run to run)",
         r"\bstd::(multi)?(map|set)<\s*(const\s+)?[\w:]+(\s+const)?\s*\*",
         "std::set<Bucket*> buckets_;", "std::map<BucketId, Bucket*> buckets_;", tests=True),
    Rule("includes are written from the root", r'#include\s+"(\.|(?!\w+_generated\.h)[^"/]+")', '#include "../log/journal.h"',
         '#include "weir/log/journal.h"', tests=True),
    Rule("what is left to do is an issue, not a comment", r"\b(TODO|FIXME|XXX|HACK)\b", "// TODO: retry",
         "// Retries twice.", tests=True),
    Rule("exceptions are converted in the home of the library that throws them; ours are Results", r"\bthrow\b(?!\()",
         'throw std::runtime_error("no");', "// does not throw: it returns", tests=True),
    Rule("log lines go through base (LogInfo and its like)", r"\bstd::(cout|cerr|clog)\b|<iostream>|\bspdlog::",
         'std::cerr << "failed";', 'LogWarn("log", "failed");', layers=("base",), tests=True),
]

# Foreign libraries, each with its home (docs/architecture.md). What a library generates counts as the library.
HOMES = {
    r"boost/": ("runtime",),
    r"google/protobuf/|weir/\S*\.pb\.h": ("gateway/fluss",),
    r"flatbuffers/|\w+_generated\.h": ("record",),
    r"zstd\.h|lz4\w*\.h": ("record",),
    r"date/": ("catalog",),
    r"rocksdb/": ("kv",),
    r"spdlog/": ("base",),
    r"toml\+\+/|CLI/": ("app",),
    r"arrow/": (),                    # in tests only, to read what Weir writes
}

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def code_of(line, in_comment):
    """The line without comments and what strings say; and whether a block comment goes on."""
    if in_comment:
        end = line.find("*/")
        if end < 0:
            return "", True
        line = line[end + 2:]
    if not line.lstrip().startswith("#include"):
        line = STRING.sub('""', line)
    line = re.sub(r"/\*.*?\*/", "", line)
    begin = line.find("/*")
    if begin >= 0 and "//" not in line[:begin]:
        return line[:begin], True
    return line.split("//")[0], False


def layer_of(path):
    parts = path.relative_to(ROOT / "src/weir").parts
    return "/".join(parts[:2]) if parts[0] == "gateway" else parts[0]


def check_rules():
    for rule in RULES:
        assert rule.pattern.search(rule.finds), f"does not find {rule.finds!r}: {rule.what}"
        left = rule.leaves if "TODO" in rule.finds else code_of(rule.leaves, False)[0]
        assert not rule.pattern.search(left), f"finds {rule.leaves!r}: {rule.what}"


def tests_of(files):
    """Tests, benches and fuzzers, and the headers that only they include."""
    includers = {}
    for path in files:
        for name in re.findall(r'#include "(weir/[^"]+)"', path.read_text()):
            includers.setdefault(ROOT / "src" / name, set()).add(path)
    tests = {p for p in files if p.name.endswith(TEST_SUFFIXES)}
    while more := {p for p in files if p.suffix == ".h" and p not in tests and includers.get(p, set()) and includers[p] <= tests}:
        tests |= more
    return tests


def findings(path, is_test):
    layer = layer_of(path)
    rules = [r for r in RULES if r.holds_for(layer, is_test)]
    lines = path.read_text().splitlines()
    if not (lines and lines[0].startswith("//")) and path.suffix == ".h":
        yield 1, "a file begins with one to five lines that say what it is for"
    if path.suffix == ".h" and "#pragma once" not in lines[:12]:
        yield 1, "a header has #pragma once"
    in_comment = False
    for number, line in enumerate(lines, 1):
        code, in_comment = code_of(line, in_comment)
        for rule in rules:
            if rule.pattern.search(line if "TODO" in rule.finds else code):
                yield number, rule.what
        include = re.match(r'#include\s+[<"](\S+)[>"]', code)
        if include and not is_test:
            for library, homes in HOMES.items():
                if re.match(library, include.group(1)) and layer not in homes:
                    yield number, f"{include.group(1)} has its home in {' and '.join(homes) or 'tests'}"


def main():
    check_rules()
    files = sorted(p for p in (ROOT / "src/weir").rglob("*") if p.suffix in (".h", ".cc"))
    assert files, "src/weir is empty"
    failed = 0
    tests = tests_of(files)
    for path in files:
        for number, what in findings(path, path in tests):
            print(f"{path.relative_to(ROOT)}:{number}: {what}")
            failed += 1
    print(f"source test: {len(files)} files, {failed} findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
