--- Notifications of the terminal when the agent asks or a turn ends, for a user who looks elsewhere.
local visible = require("interline.visible")

local M = {}

--- The escape sequences that terminals know.
--- @type table<string, fun(words: string): string>
local FORMS = {
  osc9 = function(words)
    return "\27]9;" .. words .. "\27\\"
  end,
  osc99 = function(words)
    return "\27]99;i=interline:d=1;" .. words .. "\27\\"
  end,
  osc777 = function(words)
    return "\27]777;notify;Interline;" .. words:gsub(";", ",") .. "\27\\"
  end,
}

local WHEN = { unfocused = true, always = true }

--- What is wrong with the setting.
--- @return string?
function M.problem(setting)
  if setting.how ~= nil and setting.how ~= "auto" and not FORMS[setting.how] then
    return 'notify.how must be "auto", "osc9", "osc99" or "osc777"'
  elseif setting.when ~= nil and not WHEN[setting.when] then
    return 'notify.when must be "unfocused" or "always"'
  end
end

local focused = true

--- The form that this terminal knows.
local function form()
  local how = require("interline.config").get().notify.how or "auto"
  if how ~= "auto" then
    return how
  elseif vim.env.KITTY_WINDOW_ID then
    return "osc99"
  elseif (vim.env.TERM or ""):find("^foot") or (vim.env.TERM or ""):find("^rxvt") then
    return "osc777"
  end
  return "osc9"
end

local function send(sequence)
  if vim.env.TMUX then
    -- Through tmux, with its option `allow-passthrough`.
    sequence = "\27Ptmux;" .. sequence:gsub("\27", "\27\27") .. "\27\\"
  end
  if vim.api.nvim_ui_send then
    vim.api.nvim_ui_send(sequence)
  else
    -- Standard error is the terminal.
    vim.api.nvim_chan_send(vim.v.stderr, sequence)
  end
end

local function notify(words)
  local setting = require("interline.config").get().notify
  if setting and (setting.when == "always" or not focused) then
    send(FORMS[form()](visible.line(words)))
  end
end

local ENDS = { endTurn = "finished", cancelled = "cancelled", error = "failed" }

--- Follows the focus of the terminal and the turns.
function M.watch()
  local group = vim.api.nvim_create_augroup("interline-notify", { clear = true })
  local function on(event, pattern, callback)
    vim.api.nvim_create_autocmd(event, { group = group, pattern = pattern, callback = callback })
  end
  on("FocusGained", nil, function()
    focused = true
  end)
  on("FocusLost", nil, function()
    focused = false
  end)
  on("User", "InterlineAsks", function(event)
    notify("Interline asks: " .. event.data.title)
  end)
  on("User", "InterlineQuestion", function(event)
    notify("Interline asks: " .. event.data.question)
  end)
  on("User", "InterlineEnded", function(event)
    notify("Interline: the turn " .. (ENDS[event.data.stopReason] or "stopped"))
  end)
end

return M
