--- `:Interline SUBCOMMAND …`.
local M = {}

local function ask(busy)
  return function(text, command)
    local lines = command.range > 0 and { command.line1, command.line2 } or nil
    if text ~= "" then
      return require("interline.turn").ask(text, lines, busy)
    end
    vim.ui.input({ prompt = "Interline: " }, function(typed)
      if typed and typed ~= "" then
        require("interline.turn").ask(typed, lines, busy)
      end
    end)
  end
end

local function named(key, usage)
  return function(value)
    if value == "" then
      return vim.notify("interline: " .. usage, vim.log.levels.ERROR)
    end
    require("interline.turn").configure({ [key] = value })
  end
end

local subcommands = {
  ask = ask("queue"),
  steer = ask("steer"),
  open = function()
    require("interline.chat").open()
  end,
  cancel = function()
    require("interline.turn").cancel()
  end,
  new = function()
    require("interline.turn").new()
  end,
  mode = named("mode", ":Interline mode agent|ask|plan"),
  model = named("model", ":Interline model PROVIDER/ID"),
  trust = function()
    require("interline.turn").trust("trust")
  end,
  untrust = function()
    require("interline.turn").trust("untrust")
  end,
  prompt = function()
    require("interline.turn").prompt()
  end,
  status = function()
    require("interline.turn").status()
  end,
}

function M.run(command)
  local name, rest = command.args:match("^(%S+)%s*(.*)$")
  local subcommand = subcommands[name]
  if not subcommand then
    local names = vim.tbl_keys(subcommands)
    table.sort(names)
    local words = "interline: no subcommand %q; there are %s"
    return vim.notify(words:format(name, table.concat(names, ", ")), vim.log.levels.ERROR)
  end
  subcommand(rest, command)
end

function M.complete(lead, line)
  local words = vim.split(line:gsub("^.-Interline", "Interline"), "%s+")
  local choices = #words <= 2 and vim.tbl_keys(subcommands)
    or words[2] == "mode" and { "agent", "ask", "plan" }
    or {}
  table.sort(choices)
  return vim.tbl_filter(function(choice)
    return vim.startswith(choice, lead)
  end, choices)
end

return M
