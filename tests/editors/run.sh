#!/bin/bash
# run.sh EDITOR... : the stories in tests/editors with real editors as plain LSP clients, each in
# the versions of Debian's suites, unpacked below target/editors. EDITOR is helix,
# emacs, kakoune or nvim. INTERLINE_BIN (or INTERLINE) names the server's binary; default: the
# newest build. ONLY="some words" runs the stories with these words in their name. Each story's
# last screen stays in target/editors/screens. The last line is `N passed, M failed`; exits with 1
# when something failed, or when nothing ran as root.
set -u
cd "$(dirname "$0")/../.."
top=$PWD
target=${CARGO_TARGET_DIR:-$top/target}
editors=$target/editors
mkdir -p "$editors"
passed=0 failed=0 skipped=0
python=$editors/python/bin/python
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# EDITOR: suite and Debian's packages, a version a line.
versions() {
  case $1 in
    helix) printf '%s\n' "trixie hx" "sid hx" ;;
    emacs) printf '%s\n' "bookworm emacs-nox elpa-eglot" "sid emacs-nox" ;;
    kakoune) printf '%s\n' "sid kakoune" ;;
    nvim) printf '%s\n' "trixie neovim" "sid neovim" ;;
    *) echo "unknown editor $1: helix, emacs, kakoune or nvim" >&2; return 1 ;;
  esac
}

# missing WHAT: as root on Debian everything must be there; elsewhere it is skipped with the reason.
missing() {
  tail -n 5 "$log"
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "could not fetch $1"
    failed=$((failed + 1))
  else
    echo "skipped: $1 could not be fetched (no root, or no apt-get)"
    skipped=$((skipped + 1))
  fi
}

# once FOLDER COMMAND...: runs the command that fills the folder, unless it is complete.
once() {
  local folder=$1
  shift
  [ -e "$folder/.whole" ] && return
  rm -rf "$folder"
  mkdir -p "$folder"
  "$@" >"$log" 2>&1 && touch "$folder/.whole" || { rm -rf "$folder"; return 1; }
}

terminal() {
  # Debian's Python has venv in a separate package.
  if ! python3 -c "import ensurepip" 2>/dev/null && [ "$(id -u)" -eq 0 ]; then
    apt-get -qq update && apt-get -qq -y install --no-install-recommends python3-venv
  fi
  python3 -m venv "$editors/python" && "$editors/python/bin/pip" install -q \
    --disable-pip-version-check pyte==0.8.2 wcwidth==0.2.13
}

# Without optimisation it builds within a minute or two and is fast enough.
kak_lsp() {
  CARGO_PROFILE_DEV_DEBUG=0 cargo install kak-lsp --version 22.0.0 --locked --debug \
    --root "$editors/kak-lsp" --target-dir "$editors/kak-lsp/build" &&
    rm -rf "$editors/kak-lsp/build"
}

stories() {
  local name=$1 suite=$2 prefix good bad
  shift 2
  prefix=$editors/$name-$suite
  once "$prefix" scripts/editors/deb-prefix.sh "$suite" "$prefix" "$@" ||
    { missing "$1 of Debian $suite"; return; }
  echo "-- $(grep -h "^$1_" "$prefix/packages.txt") (Debian $suite)"
  CARGO_TARGET_DIR=$target PYTHONPATH=tests PYTHONDONTWRITEBYTECODE=1 \
    "$python" -m editors.run "$prefix" | tee "$log" |
    sed -u -E 's/^([0-9]+ passed, [0-9]+ failed)$/-- \1/' # only the sum counts
  read -r good bad < <(awk '/^[0-9]+ passed, [0-9]+ failed$/ { g = $1; b = $3 }
    END { print g + 0, b + 0 }' "$log")
  [ $((good + bad)) -gt 0 ] || bad=1
  passed=$((passed + good)) failed=$((failed + bad))
}

for name in "$@"; do
  list=$(versions "$name") || { failed=$((failed + 1)); continue; }
  if ! once "$editors/python" terminal; then
    missing "the terminal emulator (pyte, of PyPI)"
    continue
  fi
  if [ "$name" = kakoune ] && ! once "$editors/kak-lsp" kak_lsp; then
    missing "kak-lsp (of crates.io)"
    continue
  fi
  began=$SECONDS
  while read -r suite packages; do
    # shellcheck disable=SC2086
    stories "$name" "$suite" $packages </dev/null
  done <<<"$list"
  awk -v name="$name" -v s=$((SECONDS - began)) 'BEGIN { printf "-- %s: %.1f min\n", name, s / 60 }'
done
[ "$skipped" -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && { [ "$passed" -gt 0 ] || [ "$skipped" -gt 0 ]; }
