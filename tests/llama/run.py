"""Runs the stories: makes the models, starts a server for each, prints `N passed, M failed`."""

import os
import pathlib
import sys
import tempfile
import time
import traceback

from . import gguf
from .server import TOP, Server
from .stories import STORIES, Stage

CONTEXT = 16_384
# How soon answers end, whether they are calls, the key.
SERVERS = {"talk": (3.4, False, None), "endless": (gguf.NEVER, False, None),
           "calls": (3.4, True, None), "locked": (gguf.NEVER, False, "a-key")}


def start(prefix, folder):
    text = (TOP / "protocol.md").read_text(encoding="utf-8")
    tokens = gguf.vocabulary(text)
    servers = {}
    for name, (ends, calls, key) in SERVERS.items():
        model = folder / f"{name}.gguf"
        gguf.write(model, tokens, CONTEXT, ends, calls)
        servers[name] = Server(prefix, model, CONTEXT, folder / f"{name}.log", key)
    for server in servers.values():
        server.wait()
    return servers


def main():
    prefix, binary = map(pathlib.Path, sys.argv[1:3])
    only = os.environ.get("ONLY", "").replace(" ", "_")
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="llama-") as folder:
        servers = start(prefix, pathlib.Path(folder))
        try:
            stage = Stage(binary.resolve(), servers)
            for story in STORIES:
                name = story.__name__
                if only not in name:
                    continue
                began = time.monotonic()
                try:
                    story(stage)
                    passed += 1
                    print(f"ok {name} ({time.monotonic() - began:.1f} s)", flush=True)
                except Exception:  # whatever a story meets is its failure
                    failed += 1
                    print(f"FAILED {name}\n{traceback.format_exc()}", flush=True)
        finally:
            for server in servers.values():
                server.stop()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
