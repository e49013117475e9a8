--- Whether the user is at rest: in Normal mode, nothing half typed, no key for a moment. What
--- opens by itself may take the cursor only then, so that no key of a person who types is
--- swallowed, or answers what was not read yet.
local M = {}

--- A person who types makes pauses that are shorter than this.
local REST_MS = 1000

local last = nil

--- Begins to notice keys.
function M.watch()
  if last then
    return
  end
  last = -REST_MS
  vim.on_key(function(_, typed)
    if typed ~= "" then
      last = vim.uv.now()
    end
  end, vim.api.nvim_create_namespace("interline-idle"))
end

--- Milliseconds since the last key.
function M.since()
  M.watch()
  vim.uv.update_time()
  return vim.uv.now() - last
end

--- @return boolean
function M.now()
  return vim.api.nvim_get_mode().mode == "n"
    and vim.fn.state("mas") == ""
    and vim.fn.getcmdwintype() == ""
    and M.since() >= REST_MS
end

--- Runs `callback` once the user is at rest, at once where that is so now.
--- @return fun() cancel
function M.soon(callback)
  if M.now() then
    callback()
    return function() end
  end
  local timer = assert(vim.uv.new_timer())
  local function stop()
    if not timer:is_closing() then
      timer:close()
    end
  end
  timer:start(
    200,
    200,
    vim.schedule_wrap(function()
      if not timer:is_closing() and M.now() then
        stop()
        callback()
      end
    end)
  )
  return stop
end

return M
