#!/bin/sh
# pictures.sh: takes screenshots of the states of the chat view, in the light and the dark theme, at
# 340 and 600 pixels, and of the other pages: target/editors/vscode-pictures/.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
PICTURES=1 ONLY=${ONLY-"walk chat approvals composer start flood pages sessions editor review"} exec "$here/run.sh"
