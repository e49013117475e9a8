--- What an approval is about, in lines for display: exactly what will be done, where, and why it
--- is asked. Another kind than those known is shown whole, as JSON.
local visible = require("interline.visible")

local M = {}

--- @class interline.Page
--- @field lines string[]
--- @field groups table<integer, string> highlight group of a line, by its number from 1
--- @field root string

local function put(page, text, group)
  for _, line in ipairs(vim.split(visible.content(text), "\n", { plain = true })) do
    table.insert(page.lines, line)
    page.groups[#page.lines] = group
  end
end

--- JSON with a key a line and sorted keys.
local function pretty(value, indent)
  indent = indent or ""
  if type(value) ~= "table" or next(value) == nil then
    return vim.json.encode(value)
  end
  local inner, parts = indent .. "  ", {}
  if vim.islist(value) then
    for _, each in ipairs(value) do
      table.insert(parts, inner .. pretty(each, inner))
    end
    return ("[\n%s\n%s]"):format(table.concat(parts, ",\n"), indent)
  end
  local keys = vim.tbl_keys(value)
  table.sort(keys)
  for _, key in ipairs(keys) do
    table.insert(parts, ("%s%s: %s"):format(inner, vim.json.encode(key), pretty(value[key], inner)))
  end
  return ("{\n%s\n%s}"):format(table.concat(parts, ",\n"), indent)
end

local DIFF = { ["+"] = "InterlineAdded", ["-"] = "InterlineRemoved", ["@"] = "InterlineHunk" }

local function span(ms)
  local seconds = math.floor(ms / 1000)
  return seconds % 60 == 0 and seconds > 0 and ("%d min"):format(seconds / 60) or ("%d s"):format(seconds)
end

--- One function for each kind of subject.
local kinds = {}

function kinds.command(page, subject)
  put(page, visible.command(subject.command), "InterlineExact")
  local where = "in " .. visible.path(subject.cwd, page.root)
  if subject.background == true then
    where = where .. ", in the background"
  end
  if type(subject.timeoutMs) == "number" and subject.timeoutMs > 0 then
    where = where .. ", killed after " .. span(subject.timeoutMs)
  end
  put(page, where, "InterlineFacts")
  if type(subject.description) == "string" then
    put(page, "The agent says: " .. subject.description, "InterlineFacts")
  end
  for _, list in ipairs({
    { "unsaved files, written first: ", subject.unsaved },
    { "sees the unsaved text of: ", subject.sees },
  }) do
    if type(list[2]) == "table" and list[2][1] then
      local names = vim.tbl_map(function(uri)
        return visible.path(uri, page.root)
      end, list[2])
      put(page, list[1] .. table.concat(names, ", "), "InterlineFacts")
    end
  end
end

function kinds.edit(page, subject)
  local path = visible.path(subject.uri, page.root)
  if not subject.diff:find("+++ b/" .. path .. "\n", 1, true) then
    -- A file outside of the project, or one that is named otherwise in the diff.
    put(page, path, "InterlineExact")
  end
  for _, line in ipairs(vim.split((subject.diff:gsub("\n$", "")), "\n", { plain = true })) do
    put(page, line, DIFF[line:sub(1, 1)])
  end
end

function kinds.path(page, subject)
  put(page, visible.path(subject.path, page.root), "InterlineExact")
  put(page, subject.access == "write" and "will be written" or "will be read", "InterlineFacts")
end

function kinds.fetch(page, subject)
  put(page, subject.url, "InterlineExact")
  put(page, "will be fetched; the address itself can carry data", "InterlineFacts")
end

function kinds.mcp(page, subject)
  put(page, visible.line(subject.tool), "InterlineExact")
  put(page, ("of the MCP server %s, with"):format(visible.line(subject.server)), "InterlineFacts")
  put(page, pretty(subject.arguments))
end

function kinds.trust(page, subject)
  local file = type(subject.file) == "string"
  put(page, visible.path(file and subject.file or subject.folder, page.root), "InterlineExact")
  if file then
    put(page, "with exactly its current content, which then controls the agent", "InterlineFacts")
    put(page, "read it first; its hash is " .. visible.line(subject.hash), "InterlineFacts")
  else
    put(page, "its instruction files then apply, and edits there need no approval", "InterlineFacts")
  end
end

--- How the agent works for the user: a skill, a variable, a name, a project, a setting.
function kinds.setting(page, subject)
  put(page, visible.line(subject.key), "InterlineExact")
  put(page, subject.change)
end

--- @param params table of `interline/approval/request`
--- @return interline.Page
function M.page(params, root)
  local page = { lines = {}, groups = {}, root = root }
  local subject = params.subject
  local ok = kinds[subject.kind] and pcall(kinds[subject.kind], page, subject)
  if not ok then
    -- A newer server's kind, or fields that are not as expected.
    page.lines, page.groups = {}, {}
    put(page, pretty(subject))
  end
  return page
end

--- Why it is asked, and what "for this session" would allow.
--- @return interline.Page
function M.reasons(params)
  local page = { lines = {}, groups = {}, root = "" }
  if type(params.reason) == "string" and params.reason ~= "" then
    put(page, "Reason: " .. visible.line(params.reason), "InterlineReason")
  end
  if type(params.remember) == "string" then
    put(page, "“For this session” allows " .. visible.line(params.remember):gsub(",? for this session$", "") .. ".", "InterlineReason")
  end
  for _, choice in ipairs(params.choices or {}) do
    if type(choice.rule) == "string" then
      put(page, "“Always allow” stores " .. visible.line(choice.rule) .. ", for the sandbox only.", "InterlineReason")
      break
    end
  end
  return page
end

M.pretty = pretty

return M
