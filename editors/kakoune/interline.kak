# Interline through kak-lsp, beside the servers that a filetype has anyway.

eval %sh{kak-lsp}

# Registered before `lsp-enable` registers its own, so that servers start with the whole list.
hook -group interline global BufSetOption filetype=(.+) %{
    lsp-block-in-buffer
    lsp-if-no-servers trigger-user-hook "LSPDefaultConfig=%val{hook_param_capture_1}"
    evaluate-commands %sh{
        # kak-lsp gives a buffer up when one of its servers is not installed.
        for server in $(printf '%s\n' "$kak_opt_lsp_servers" | sed -n 's/^ *\[\([^].]*\)\] *$/\1/p'); do
            command -v "$server" >/dev/null || { echo "set-option buffer lsp_servers ''"; break; }
        done
    }
    lsp-unblock-in-buffer
    set-option -add buffer lsp_servers %{
        [interline]
        args = ["lsp"]
        root_globs = [".git", ".hg"]
    }
}

lsp-enable

# Messages have several lines (an answer, a change to allow): boxes show them, the status line not.
define-command -override -hidden lsp-show-message-warning -params 2 %{
    echo -debug "LSP: warning from server %arg{1}: %arg{2}"
    info -title %arg{1} %arg{2}
}
define-command -override -hidden lsp-show-message-info -params 2 %{
    echo -debug "LSP: info from server %arg{1}: %arg{2}"
    info -title %arg{1} %arg{2}
}

define-command -hidden interline-run -params 2 -docstring %{
    interline-run <command> <text>: run a command of the server about the main selection
} %{
    evaluate-commands %sh{
        quoted() { printf %s "$1" | sed 's/\\/\\\\/g; s/"/\\"/g; s/	/\\t/g'; }
        uri=file://$(printf %s "$kak_buffile" | sed 's/%/%25/g; s/ /%20/g; s/#/%23/g; s/?/%3F/g; s/"/%22/g')
        # anchor and cursor, 1-based and inclusive; columns are bytes, as negotiated
        range=$(printf %s "$kak_selection_desc" | awk -F'[.,]' '{
            first = $1 < $3 || ($1 == $3 && $2 <= $4)
            l = first ? $1 : $3; c = first ? $2 : $4; m = first ? $3 : $1; d = first ? $4 : $2
            if (l == m && c == d) d--
            printf "{\"start\":{\"line\":%d,\"character\":%d},\"end\":{\"line\":%d,\"character\":%d}}", l-1, c-1, m-1, d
        }')
        arguments=$(printf '[{"text":"%s","uri":"%s","range":%s}]' "$(quoted "$2")" "$uri" "$range")
        printf "lsp-execute-command interline.%s '%s'" "$1" "$(printf %s "$arguments" | sed "s/'/''/g")"
    }
}

define-command interline-ask -docstring 'ask Interline, about the main selection' %{
    prompt 'Ask Interline: ' %{ interline-run ask %val{text} }
}
define-command interline-explain -docstring 'let Interline explain the main selection' %{
    interline-run explain ''
}
define-command interline-do-comment -docstring 'do what the comment at the cursor says' %{
    interline-run doComment ''
}
define-command interline-chat -docstring 'show the transcript, with the main selection quoted' %{
    interline-run chat ''
}
define-command interline-send -docstring 'send what stands last in the transcript' %{
    lsp-execute-command interline.send '[]'
}
define-command interline-revert -docstring 'revert the last turn' %{
    lsp-execute-command interline.revert '[]'
}
define-command interline-sessions -docstring 'show the stored sessions' %{
    lsp-execute-command interline.sessions '[]'
}
define-command interline-approve -docstring 'allow what waits' %{
    lsp-execute-command interline.approve '[]'
}
define-command interline-reject -docstring 'reject what waits' %{
    lsp-execute-command interline.reject '[]'
}
define-command interline-cancel -docstring 'stop all turns' %{
    lsp-execute-command interline.cancel '[]'
}
define-command interline-new-session -docstring 'start a new session' %{
    lsp-execute-command interline.newSession '[]'
}
define-command interline-mode -params 1 -docstring 'interline-mode agent|ask|plan' %{
    lsp-execute-command interline.mode "[""%arg{1}""]"
} -shell-script-candidates %{ printf '%s\n' agent ask plan }

declare-user-mode interline
map global interline i ':interline-ask<ret>' -docstring 'ask'
map global interline e ':interline-explain<ret>' -docstring 'explain'
map global interline y ':interline-approve<ret>' -docstring 'allow'
map global interline n ':interline-reject<ret>' -docstring 'reject'
map global interline c ':interline-cancel<ret>' -docstring 'cancel'
map global interline d ':interline-do-comment<ret>' -docstring 'do the comment'
map global interline t ':interline-chat<ret>' -docstring 'transcript'
map global interline <ret> ':interline-send<ret>' -docstring 'send'
map global interline u ':interline-revert<ret>' -docstring 'revert the last turn'
map global interline l ':interline-sessions<ret>' -docstring 'sessions'
map global user i ':enter-user-mode interline<ret>' -docstring 'Interline'
