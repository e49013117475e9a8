#!/bin/bash
# run.sh: turns through llama.cpp's own server (Debian sid's package, unpacked aside below
# target/llama), with tiny models of random weights that a script makes. INTERLINE_BIN (or
# INTERLINE) names our binary; default: the newest build. ONLY="some words" runs the stories with
# these words in their name. LLAMA_PREFIX is a tree that scripts/editors/deb-prefix.sh unpacked.
# The last line is `N passed, M failed`.
set -u
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
prefix=${LLAMA_PREFIX:-$target/llama}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

if [ ! -x "$prefix/usr/bin/llama-server" ]; then
  rm -rf "$prefix"
  mkdir -p "$prefix"
  if ! scripts/editors/deb-prefix.sh sid "$prefix" llama.cpp >"$log" 2>&1; then
    tail -n 5 "$log"
    rm -rf "$prefix"
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
      echo "could not fetch llama.cpp of Debian sid"
      echo "0 passed, 1 failed"
      exit 1
    fi
    echo "skipped: llama.cpp of Debian sid could not be fetched (no root, or no apt-get)"
    echo "0 passed, 0 failed"
    exit 0
  fi
fi
echo "-- $(grep -h '^llama.cpp_' "$prefix/packages.txt"), $(grep -h '^libggml0_' "$prefix/packages.txt")"

binary=${INTERLINE_BIN:-${INTERLINE:-}}
if [ -z "$binary" ]; then
  binary=$target/release/interline
  [ "$target/debug/interline" -nt "$binary" ] && binary=$target/debug/interline
fi
PYTHONPATH=tests PYTHONDONTWRITEBYTECODE=1 python3 -m llama.run "$prefix" "$binary"
