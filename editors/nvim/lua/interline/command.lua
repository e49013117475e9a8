--- `:Interline SUBCOMMAND …`.
local M = {}

local PROVIDERS = { "anthropic", "openai", "gemini" }

local function ask(busy)
  return function(text, command)
    local lines = command.range > 0 and { command.line1, command.line2 } or nil
    if text ~= "" then
      return require("interline.turn").ask(text, lines, busy)
    end
    require("interline.compose").open({ lines = lines, busy = busy })
  end
end

--- Whole, although it may wait for <Enter>: the user has just typed a command.
local function usage(words)
  vim.notify("interline: " .. words, vim.log.levels.ERROR)
end

--- Without a value the user chooses from a list.
local function named(key)
  return function(value)
    if value == "" then
      return require("interline.choose").pick(key)
    end
    require("interline.turn").configure({ [key] = value })
  end
end

local function mcp(words)
  local action, server = words:match("^(%S+)%s*(.-)$")
  if action ~= "login" and action ~= "logout" then
    return usage(":Interline mcp login|logout [SERVER]")
  end
  require("interline.mcp")[action](server)
end

local function open()
  local client = require("interline.client")
  require("interline.chat").of({ root = client.root() }):open()
end

local function allow(how)
  local kinds = {
    [""] = "allowOnce",
    once = "allowOnce",
    session = "allowSession",
    folder = "allowFolder",
    always = "allowAlways",
  }
  if not kinds[how] then
    return usage(":Interline allow [once|session|folder|always]")
  end
  require("interline.approvals").answer(kinds[how])
end

local function decide(decision)
  return function(word, command, bang)
    if word ~= "" and word ~= "all" then
      return usage((":Interline %s[!] [all]"):format(decision == "keep" and "keep" or "undo"))
    end
    require("interline.review").decide(decision, {
      lines = { command.line1, command.line2 },
      whole = bang,
      all = word == "all",
    })
  end
end

--- `bang`: whether the name may end with `!`.
local subcommands = {
  ask = { run = ask("queue") },
  steer = { run = ask("steer") },
  open = { run = open },
  cancel = {
    run = function()
      require("interline.turn").cancel()
    end,
  },
  retry = {
    run = function()
      require("interline.turn").retry()
    end,
  },
  new = {
    run = function()
      require("interline.sessions").new()
    end,
  },
  sessions = {
    run = function()
      require("interline.sessions").pick()
    end,
  },
  resume = {
    run = function()
      require("interline.sessions").resume()
    end,
  },
  rename = {
    run = function(title)
      if title == "" then
        return usage(":Interline rename TITLE")
      end
      require("interline.sessions").rename(title)
    end,
  },
  restart = {
    run = function()
      require("interline.sessions").restart()
    end,
  },
  approvals = {
    run = function()
      require("interline.approvals").go()
    end,
  },
  allow = { run = allow, words = { "once", "session", "folder", "always" } },
  reject = {
    run = function(words)
      require("interline.approvals").answer("rejectOnce", words ~= "" and words or nil)
    end,
  },
  answer = {
    run = function()
      require("interline.questions").go()
    end,
  },
  keep = { run = decide("keep"), words = { "all" }, bang = true },
  undo = { run = decide("reject"), words = { "all" }, bang = true },
  review = {
    run = function()
      require("interline.review").list({})
    end,
  },
  revert = {
    bang = true,
    words = { "file" },
    run = function(word, _, bang)
      if bang and word == "" then
        return require("interline.revert").redo()
      elseif bang or word ~= "" and word ~= "file" then
        return usage(":Interline revert [file], or revert!")
      end
      require("interline.revert").turn(word == "file" and vim.uri_from_bufnr(0) or nil)
    end,
  },
  redo = {
    run = function()
      require("interline.revert").redo()
    end,
  },
  changes = {
    run = function()
      require("interline.review").list_turn()
    end,
  },
  queue = {
    run = function()
      require("interline.queue").pick()
    end,
  },
  fork = {
    run = function()
      require("interline.fork").all()
    end,
  },
  compact = {
    run = function(focus)
      require("interline.turn").compact(focus)
    end,
  },
  export = {
    run = function(name)
      require("interline.sessions").export(name)
    end,
    files = true,
  },
  delete = {
    run = function()
      require("interline.sessions").delete()
    end,
  },
  image = {
    run = function(path)
      require("interline.compose").image(path)
    end,
    files = true,
  },
  key = {
    run = function(provider)
      if provider ~= "" then
        return require("interline.turn").key(provider)
      end
      vim.ui.select(PROVIDERS, { prompt = "API key of", kind = "interline_key" }, function(chosen)
        if chosen then
          require("interline.turn").key(chosen)
        end
      end)
    end,
    words = PROVIDERS,
  },
  rules = {
    run = function()
      require("interline.rules").list()
    end,
  },
  mcp = { run = mcp, words = { "login", "logout" } },
  thinking = { run = named("thinking"), words = { "off", "low", "medium", "high" } },
  mode = { run = named("mode"), words = { "agent", "ask", "plan" } },
  model = {
    run = named("model"),
    words = function()
      return require("interline.client").models()
    end,
  },
  trust = {
    run = function()
      require("interline.turn").trust("trust")
    end,
  },
  untrust = {
    run = function()
      require("interline.turn").trust("untrust")
    end,
  },
  prompt = {
    run = function()
      require("interline.turn").prompt()
    end,
  },
  status = {
    run = function()
      require("interline.turn").status()
    end,
  },
}

local function names()
  local all = vim.tbl_keys(subcommands)
  table.sort(all)
  return all
end

function M.run(command)
  if command.args == "" then
    return open()
  end
  local name, rest = command.args:match("^(%S+)%s*(.-)%s*$")
  local plain = (name or ""):gsub("!$", "")
  local bang = plain ~= name and subcommands[plain] ~= nil and subcommands[plain].bang == true
  local subcommand = subcommands[bang and plain or name]
  if not subcommand then
    local words = "no subcommand %q; there are %s"
    return usage(words:format(name or "", table.concat(names(), ", ")))
  end
  local ok, err = pcall(subcommand.run, rest, command, bang)
  if not ok then
    usage((tostring(err):gsub("^[^\n]-%.lua:%d+: ", "")))
  end
end

function M.complete(lead, line)
  local words = vim.split(line:gsub("^.-Interline", "Interline"), "%s+")
  local choices = {}
  if #words <= 2 then
    choices = names()
  elseif #words == 3 and subcommands[words[2]] then
    local known = subcommands[words[2]].words
    if subcommands[words[2]].files then
      return vim.fn.getcompletion(lead, "file")
    end
    choices = vim.deepcopy(type(known) == "function" and known() or known or {})
  end
  return vim.tbl_filter(function(choice)
    return vim.startswith(choice, lead)
  end, choices)
end

return M
