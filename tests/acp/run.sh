#!/bin/bash
# A whole turn with a client that is not ours: the protocol's Python SDK, fetched once below
# target/acp. INTERLINE names the binary; default: the newest build. The model is the recording
# tests/acp/turn.jsonl, so that nothing but the SDK comes from the network.
set -u
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
binary=${INTERLINE:-$(ls -t "$target"/{release,debug}/interline 2>/dev/null | head -n 1)}
python=$target/acp/bin/python
if [ ! -e "$target/acp/.whole" ]; then
  rm -rf "$target/acp"
  if ! python3 -c "import ensurepip" 2>/dev/null && [ "$(id -u)" -eq 0 ]; then
    apt-get -qq update && apt-get -qq -y install --no-install-recommends python3-venv
  fi
  python3 -m venv "$target/acp" && "$target/acp/bin/pip" install -q \
    --disable-pip-version-check agent-client-protocol==0.12.1 && touch "$target/acp/.whole"
fi
if [ ! -e "$target/acp/.whole" ]; then
  echo "the SDK could not be fetched (pip, agent-client-protocol 0.12.1)"
  exit 1
fi
binary=$(realpath "$binary")
exec timeout 120 "$python" tests/acp/turn.py "$binary" "$PWD/tests/acp/turn.jsonl"
