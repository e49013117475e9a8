--- The `<Plug>` maps, and the default maps under a prefix of the user's choice.
local M = {}

--- Name, modes, key after the prefix, command, description.
local MAPS = {
  { "ask", "n", "a", "<Cmd>Interline ask<CR>", "write a prompt" },
  { "ask", "x", "a", ":Interline ask<CR>", "write a prompt about these lines" },
  { "steer", "n", "+", "<Cmd>Interline steer<CR>", "add to the running turn" },
  { "open", "n", "o", "<Cmd>Interline open<CR>", "open the chat" },
  { "cancel", "n", "c", "<Cmd>Interline cancel<CR>", "stop the turn" },
  { "approvals", "n", "y", "<Cmd>Interline approvals<CR>", "go to the approval" },
  { "answer", "n", "q", "<Cmd>Interline answer<CR>", "answer the question" },
  { "keep", "n", "k", "<Cmd>Interline keep<CR>", "keep the change" },
  { "keep", "x", "k", ":Interline keep<CR>", "keep the changes" },
  { "undo", "n", "u", "<Cmd>Interline undo<CR>", "undo the change" },
  { "undo", "x", "u", ":Interline undo<CR>", "undo the changes" },
  { "review", "n", "r", "<Cmd>Interline review<CR>", "list the changes to review" },
  { "changes", "n", "d", "<Cmd>Interline changes<CR>", "list the last turn's changes" },
  { "revert", "n", "R", "<Cmd>Interline revert<CR>", "revert the last turn" },
  { "new", "n", "n", "<Cmd>Interline new<CR>", "new session" },
  { "sessions", "n", "s", "<Cmd>Interline sessions<CR>", "choose a session" },
  { "fork", "n", "f", "<Cmd>Interline fork<CR>", "copy the session" },
  { "queue", "n", "w", "<Cmd>Interline queue<CR>", "queued prompts" },
  { "model", "n", "m", "<Cmd>Interline model<CR>", "choose the model" },
  { "mode", "n", "M", "<Cmd>Interline mode<CR>", "choose the mode" },
  { "image", "n", "i", "<Cmd>Interline image<CR>", "image from the clipboard" },
}

--- Defines the `<Plug>` maps.
function M.plugs()
  for _, map in ipairs(MAPS) do
    vim.keymap.set(map[2], "<Plug>(interline-" .. map[1] .. ")", map[4], { desc = "Interline: " .. map[5] })
  end
end

--- Maps the keys under the prefix; a key that the user mapped stays.
--- @param prefix string
function M.set(prefix)
  for _, map in ipairs(MAPS) do
    local key = prefix .. map[3]
    if vim.fn.maparg(key, map[2]) == "" then
      vim.keymap.set(map[2], key, "<Plug>(interline-" .. map[1] .. ")", { desc = "Interline: " .. map[5] })
    end
  end
end

return M
