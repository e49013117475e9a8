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
