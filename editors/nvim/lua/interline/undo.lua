--- Undo steps that belong to one author each. The final line end is an option to Neovim
--- ('endofline') and no text, so undo leaves it alone; here it goes with the undo states: where an
--- edit changed it, undo and redo change it too.
local M = {}

--- @class interline.Flip
--- @field seq integer undo state that the edit made
--- @field before boolean
--- @field after boolean

--- @type table<integer, interline.Flip[]>
local flips = {}
--- The option while it is set here.
local setting = false

--- Closes the open undo step, so that authors are not mixed in one. In Insert mode Neovim opens a
--- new one for the keys that follow.
function M.close_step(buffer)
  vim.bo[buffer].undolevels = vim.bo[buffer].undolevels
end

local function tree(buffer)
  return vim.api.nvim_buf_call(buffer, vim.fn.undotree)
end

--- The undo states that lead to `seq`, as a set; nil when it is not in these entries.
local function path(entries, seq)
  local states = {}
  for _, entry in ipairs(entries) do
    local other = entry.alt and path(entry.alt, seq)
    if other then
      return vim.tbl_extend("force", states, other)
    end
    states[entry.seq] = true
    if entry.seq == seq then
      return states
    end
  end
end

local function set(buffer, value)
  if vim.bo[buffer].endofline ~= value then
    setting = true
    vim.bo[buffer].endofline = value
    setting = false
  end
end

--- Sets the option to what it was in the present undo state.
local function follow(buffer)
  if not flips[buffer] or not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  local now = tree(buffer)
  local states = now.seq_cur > 0 and path(now.entries, now.seq_cur) or {}
  local value = flips[buffer][1].before
  for _, flip in ipairs(flips[buffer]) do
    if states[flip.seq] then
      value = flip.after
    end
  end
  set(buffer, value)
end

--- The user, or `:write`, decided otherwise.
function M.forget_final_line_end(buffer)
  if not setting then
    flips[buffer] = nil
  end
end

local function watch(buffer)
  local function over()
    flips[buffer] = nil
    return true
  end
  vim.api.nvim_buf_attach(buffer, false, {
    on_lines = function()
      if not flips[buffer] then
        return true
      end
      -- The state is known when the undo has ended.
      vim.schedule(function()
        follow(buffer)
      end)
    end,
    on_reload = over,
    on_detach = over,
  })
end

--- Runs `change`, which is one undo step; if it changes the option, undo will too.
function M.keep_final_line_end(buffer, change)
  local before = vim.bo[buffer].endofline
  setting = true
  local ok, err = pcall(change)
  setting = false
  if not ok then
    error(err, 0)
  end
  local after = vim.bo[buffer].endofline
  if after == before then
    return
  end
  local known = flips[buffer] ~= nil
  flips[buffer] = flips[buffer] or {}
  table.insert(flips[buffer], { seq = tree(buffer).seq_cur, before = before, after = after })
  if not known then
    watch(buffer)
  end
end

return M
