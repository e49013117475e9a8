--- Reverts the last turn, or the last revert, after a look at what will change.
local client = require("interline.client")
local float = require("interline.float")
local review = require("interline.review")
local say = require("interline.say")
local visible = require("interline.visible")

local M = {}

--- The item of the last revert, or of the last rejection, by session.
--- @type table<string, string>
local last = {}

function M.remember(session, item)
  last[session] = item
end

local GROUPS = { ["+"] = "InterlineAdded", ["-"] = "InterlineRemoved", ["@"] = "InterlineHunk" }

local function heading(file, root)
  local name = visible.path(file.uri, root)
  if file.deleted == true then
    return name .. " (deleted)"
  end
  return ("%s (+%d −%d)"):format(name, file.added, file.removed)
end

--- @param files interline.RevertedFile[]
--- @return string[] lines, table<integer, string> groups
function M.page(files, root)
  local lines, colours = {}, {}
  local function put(text, group)
    for _, line in ipairs(visible.lines(text)) do
      table.insert(lines, line)
      colours[#lines] = group or GROUPS[line:sub(1, 1)]
    end
  end
  for _, file in ipairs(files) do
    put(heading(file, root), "InterlineExact")
    for _, conflict in ipairs(file.conflicts) do
      put("stays, " .. conflict, "InterlineReason")
    end
    if file.diff ~= "" then
      put((file.diff:gsub("\n$", "")))
    end
  end
  return lines, colours
end

local function stays(files)
  local all = {}
  for _, file in ipairs(files) do
    vim.list_extend(all, file.conflicts)
  end
  return all
end

local function report(server, words, files)
  local changed = vim.tbl_filter(function(file)
    return file.added + file.removed > 0 or file.deleted == true
  end, files)
  local summary = ("%s %d %s"):format(words, #changed, #changed == 1 and "file" or "files")
  local conflicts = stays(files)
  if #conflicts > 0 then
    local stay = #conflicts == 1 and "change stays" or "changes stay"
    return say.warn(("%s; %d %s, %s"):format(summary, #conflicts, stay, conflicts[1]), server)
  end
  say.info(summary .. "; :Interline revert! undoes that", server)
end

local function carry_out(server, params, words)
  client.request(server, "interline/turn/revert", params, function(result)
    M.remember(params.sessionId, result.itemId)
    report(server, words, result.files)
  end)
end

--- Shows what would change; a key does it.
local function preview(server, params, title, words)
  local ask = vim.tbl_extend("force", params, { preview = true })
  client.request(server, "interline/turn/revert", ask, function(result)
    local lines, colours = M.page(result.files, server.root)
    if #lines == 0 then
      return say.info("nothing to revert", server)
    end
    local opened, reason = float.open({
      title = title,
      lines = lines,
      groups = colours,
      footer = "<CR> revert · q cancel",
      enter = true,
    })
    if not opened then
      return say.error("the preview cannot be shown: " .. reason, server)
    end
    local function map(key, run)
      vim.keymap.set("n", key, run, { buffer = opened.buffer, nowait = true })
    end
    map("<CR>", function()
      float.close(opened)
      carry_out(server, params, words)
    end)
    map("q", "<Cmd>close<CR>")
    map("<Esc>", "<Cmd>close<CR>")
  end)
end

--- Reverts the last turn that changed files.
--- @param file? string only in the file of this URI
--- @param turn? string this one instead
function M.turn(file, turn)
  local server = review.present()
  if server then
    local params = { sessionId = server.session, turnId = turn, uris = file and { file } or nil }
    local title = (turn and "Revert the turn" or "Revert the last turn") .. (file and " in this file" or "")
    preview(server, params, title, "reverted")
  end
end

--- Reverts the changes of one tool call.
function M.call(item)
  local server = review.present()
  if server then
    preview(server, { sessionId = server.session, itemId = item }, "Revert this call", "reverted")
  end
end

--- Reverts the last revert, or the last undo of changes.
function M.redo()
  local server = review.present()
  local item = server and last[server.session]
  if item then
    preview(server, { sessionId = server.session, itemId = item }, "Revert the last revert", "restored")
  elseif server then
    say.info("no revert to undo since Neovim started", server)
  end
end

return M
