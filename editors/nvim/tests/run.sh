#!/bin/sh
# run.sh NVIM [ARGS...]: the plugin's stories in a real Neovim, with the real server and recorded
# models. INTERLINE_BIN (or INTERLINE) names the server's binary; default: the newest build.
# Prints `N passed, N failed`; exits with 1 when something failed or nothing ran.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
[ $# -gt 0 ] || set -- nvim
bin=${INTERLINE_BIN:-$INTERLINE}
if [ -z "$bin" ]; then
  top=$(cd "$here/../../.." && pwd)
  bin=$(ls -t "$top/target/debug/interline" "$top/target/release/interline" 2>/dev/null | head -n 1)
fi
if [ ! -x "$bin" ]; then
  echo "no server to test with: set INTERLINE_BIN, or run cargo build" >&2
  exit 1
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
for story in "$here"/*_spec.lua; do
  name=$(basename "$story" _spec.lua)
  case " ${ONLY:-$name} " in *" $name "*) ;; *) continue ;; esac
  home=$work/$name
  mkdir -p "$home/project" "$home/tmp" "$home/config/interline"
  # What a command does depends on the machine's sandbox: one story turns it on.
  echo 'sandbox.mode = "off"' >"$home/config/interline/config.toml"
  # -i NONE -n: neither shada nor swap files. Nothing of the user's own set-up is read.
  (cd "$home/project" && env -u ANTHROPIC_API_KEY -u OPENAI_API_KEY -u GEMINI_API_KEY \
    REAL_HOME="$HOME" HOME="$home" TMPDIR="$home/tmp" XDG_CONFIG_HOME="$home/config" XDG_DATA_HOME="$home/data" \
    XDG_STATE_HOME="$home/state" XDG_CACHE_HOME="$home/cache" XDG_RUNTIME_DIR="$home/tmp" \
    INTERLINE_BIN="$bin" INTERLINE_PLUGIN="$here/.." NVIM_COMMAND="$*" \
    "$@" --clean -i NONE -n --headless -l "$here/runner.lua" "$story") >"$work/out" 2>"$work/err"
  code=$?
  sed "s/^/[$name] /" "$work/out" | grep -av '\] COUNT '
  counts=$(sed -n 's/^COUNT //p' "$work/out")
  if [ -z "$counts" ] || { [ $code -ne 0 ] && [ "${counts#* }" = 0 ]; }; then
    echo "[$name] FAIL: Neovim ended with $code"
    tail -n 20 "$work/err"
    counts="${counts:-0 0}"
    counts="${counts% *} $((${counts#* } + 1))"
  elif [ "${counts#* }" != 0 ]; then
    tail -n 20 "$work/err"
  fi
  passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
