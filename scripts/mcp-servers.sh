#!/bin/sh
# mcp-servers.sh DIR: reference servers of the Model Context Protocol out of npm and PyPI into DIR,
# at the versions and hashes that tests/foreign names. Existing files are kept.
set -eu
from=$(cd "$(dirname "$0")/../tests/foreign" && pwd)
dir=$1
mkdir -p "$dir"
wanted=$(cat "$from/package-lock.json" "$from/requirements.txt" | cksum)
[ "$(cat "$dir/ok" 2>/dev/null)" != "$wanted" ] || exit 0
rm -rf "$dir/node_modules" "$dir/python" "$dir/ok"
cp "$from/package.json" "$from/package-lock.json" "$dir"
(cd "$dir" && npm ci --silent --ignore-scripts --no-audit --no-fund)
python3 -m venv "$dir/python"
"$dir/python/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
  --require-hashes --requirement "$from/requirements.txt"
echo "$wanted" > "$dir/ok"
