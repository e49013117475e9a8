--- Logins of MCP servers.
local client = require("interline.client")
local say = require("interline.say")
local visible = require("interline.visible")

local M = {}

--- @param fits fun(row: table): boolean
local function choose(server, prompt, fits, callback)
  client.request(server, "interline/status", vim.empty_dict(), function(status)
    local rows = vim.tbl_filter(fits, status.mcpServers or {})
    if #rows == 0 then
      return say.info("no MCP server fits; :Interline status lists them", server)
    end
    vim.ui.select(rows, {
      prompt = prompt,
      kind = "interline_mcp",
      format_item = function(row)
        return ("%s (%s)"):format(visible.line(row.name), visible.line(row.state))
      end,
    }, function(row)
      if row then
        callback(row.name)
      end
    end)
  end)
end

local function log_in(server, name)
  -- The list of a picker is still on the screen, and a message below it would wait for <Enter>.
  vim.cmd.redraw()
  say.info(("logging in to %s; the browser opens"):format(name), server)
  local params = { server = name, cwd = vim.uri_from_fname(server.root) }
  client.request(server, "interline/mcp/login", params, function()
    say.info("logged in to " .. name, server)
  end)
end

local function log_out(server, name)
  client.request(server, "interline/mcp/logout", { server = name }, function()
    say.info("logged out of " .. name, server)
  end)
end

--- A program that fails to open a page does so within this time.
local OPEN_MS = 500

--- `window/showDocument`. Neovim's own handler ends a browser that runs on after two seconds, and
--- reports that as a failure.
function M.show_document(_, params, context)
  if params.external ~= true then
    return vim.lsp.handlers["window/showDocument"](nil, params, context)
  end
  local opened = vim.ui.open(params.uri)
  if not opened then
    return { success = false }
  end
  local over = vim.wait(OPEN_MS, function()
    return opened:is_closing()
  end, 5)
  return { success = not over or opened:wait().code == 0 }
end

--- @param name string empty: the user chooses
function M.login(name)
  local server = client.start()
  if not server then
    return
  elseif name ~= "" then
    return log_in(server, name)
  end
  choose(server, "Log in to", function(row)
    return row.transport == "http"
  end, function(chosen)
    log_in(server, chosen)
  end)
end

--- @param name string empty: the user chooses
function M.logout(name)
  local server = client.start()
  if not server then
    return
  elseif name ~= "" then
    return log_out(server, name)
  end
  choose(server, "Log out of", function(row)
    return row.loggedIn == true
  end, function(chosen)
    log_out(server, chosen)
  end)
end

return M
