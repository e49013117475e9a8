--- The rules that let commands run without asking: `:Interline rules` lists them, and removes the
--- chosen one.
local client = require("interline.client")
local say = require("interline.say")
local visible = require("interline.visible")

local M = {}

local function row(rule)
  local where = type(rule.folder) == "string" and "in " .. rule.folder or "in all trusted folders"
  return visible.line(("%s %s, since %s"):format(rule.rule, where, rule.since:sub(1, 10)))
end

function M.list()
  local server = client.start()
  if not server then
    return
  end
  client.request(server, "interline/rules/list", vim.empty_dict(), function(found)
    if #found.rules == 0 then
      return say.info("no rules are stored; a command that asks may offer one", server)
    end
    local options = { prompt = "Remove a rule: ", kind = "interline_rule", format_item = row }
    vim.ui.select(found.rules, options, function(chosen)
      if not chosen then
        return
      end
      client.request(server, "interline/rules/remove", { id = chosen.id }, function()
        say.info("removed the rule " .. visible.line(chosen.rule) .. "; such commands ask again", server)
      end)
    end)
  end)
end

return M
