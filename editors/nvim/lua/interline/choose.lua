--- Pickers of the model, the mode and the thinking effort; the current choice is marked.
local client = require("interline.client")
local sessions = require("interline.sessions")

local M = {}

local MODES = {
  agent = "reads, edits and runs what you allow",
  ask = "only reads",
  plan = "reads, and writes a plan",
}

--- The provider of each model that has no key.
local function without_key(status)
  local providers = {}
  for _, model in ipairs(type(status.modelDetails) == "table" and status.modelDetails or {}) do
    providers[model.name] = not model.ready and model.provider or nil
  end
  return providers
end

local function rows_of(key, values, current, status)
  local rows, last = {}, {}
  local keyless = key == "model" and without_key(status) or {}
  for _, value in ipairs(values) do
    local words = (value == current and "● " or "  ") .. value
    if key == "mode" and MODES[value] then
      words = words .. ": " .. MODES[value]
    elseif keyless[value] then
      words = words .. " (no key)"
    end
    table.insert(keyless[value] and last or rows, { value = value, words = words, keyless = keyless[value] })
  end
  return vim.list_extend(rows, last)
end

local VALUES = {
  mode = function()
    return { "agent", "ask", "plan" }
  end,
  thinking = function()
    return { "off", "low", "medium", "high" }
  end,
  model = function(status)
    -- The recording of the demo is no model to choose.
    return vim.tbl_filter(function(model)
      return not vim.startswith(model, "replay/@")
    end, status.models)
  end,
}

--- @param key "model"|"mode"|"thinking"
function M.pick(key)
  sessions.with(client.start(), function(server)
    client.request(server, "interline/status", vim.empty_dict(), function(status)
      local current = (server.about or {})[key]
      vim.ui.select(rows_of(key, VALUES[key](status), current, status), {
        prompt = key:sub(1, 1):upper() .. key:sub(2),
        kind = "interline_" .. key,
        format_item = function(row)
          return row.words
        end,
      }, function(row)
        local turn = require("interline.turn")
        local function choose()
          turn.configure({ [key] = row.value })
        end
        if row and row.keyless then
          turn.key(row.keyless, choose)
        elseif row then
          choose()
        end
      end)
    end)
  end)
end

return M
