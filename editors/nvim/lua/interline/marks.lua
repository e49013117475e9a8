--- The agent's changes in the buffers: signs and coloured lines, the removed text above them, and
--- keys that go from one to the next.
local client = require("interline.client")
local config = require("interline.config")
local groups = require("interline.groups")
local hunks = require("interline.hunks")
local visible = require("interline.visible")

local M = {}

local namespace = vim.api.nvim_create_namespace("interline-review")
M.namespace = namespace

--- States of hunks that are shown as words.
M.STATES = { amended = true, proposed = true }

--- A pause in changes of the text after which hunks are listed again.
local PAUSE_MS = 150
--- Removed lines that are shown of one part.
local REMOVED = 200

--- @class interline.Reviewed what is known of a buffer
--- @field server interline.Server
--- @field marks {id: integer, hunk: interline.Hunk}[]
--- @field wait integer counts what was asked for
--- @field asking boolean?
--- @field again boolean?
--- @field mapped string[] keys that are mapped here

--- @type table<integer, interline.Reviewed>
local states = {}

local KEYS = {
  { "]h", 1, "<Plug>(interline-next-hunk)", "next change" },
  { "[h", -1, "<Plug>(interline-previous-hunk)", "previous change" },
}

local function setting(name)
  return config.get().review[name] ~= false
end

local function clear(buffer, state)
  if not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  for _, key in ipairs(state.mapped) do
    pcall(vim.keymap.del, { "n", "x" }, key, { buffer = buffer })
  end
  state.marks, state.mapped = {}, {}
end

local function is_free(key, plug)
  return vim.fn.maparg(key, "n") == "" and vim.fn.maparg(key, "x") == "" and vim.fn.hasmapto(plug, "n") == 0
end

local function map_keys(buffer, state)
  vim.api.nvim_buf_call(buffer, function()
    for _, key in ipairs(KEYS) do
      if is_free(key[1], key[3]) then
        table.insert(state.mapped, key[1])
        vim.keymap.set({ "n", "x" }, key[1], function()
          M.jump(key[2], vim.v.count1)
        end, { buffer = buffer, desc = "Interline: " .. key[4] })
      end
    end
  end)
end

--- Tabs as blanks: virtual text has no tab stops.
local function flat(line, stop)
  local out = ""
  for words, tab in line:gmatch("([^\t]*)(\t?)") do
    out = out .. words
    if tab ~= "" then
      out = out .. (" "):rep(stop - vim.fn.strdisplaywidth(out) % stop)
    end
  end
  return out
end

local function virtual_lines(buffer, removed, group)
  local lines, stop, width = {}, vim.bo[buffer].tabstop, vim.o.columns
  for index, line in ipairs(removed) do
    local words = flat(visible.text(line), stop)
    if index > REMOVED then
      words = ("… %d more lines"):format(#removed - REMOVED)
    end
    -- Coloured to the window's edge, as lines are.
    local rest = math.max(width - vim.fn.strdisplaywidth(words), 1)
    table.insert(lines, { { words .. (" "):rep(rest), group } })
    if index > REMOVED then
      break
    end
  end
  return lines
end

--- @param part interline.Part
--- @param proposed boolean its `removed` lines are to come
local function draw(buffer, part, proposed)
  local count = vim.api.nvim_buf_line_count(buffer)
  local function mark(row, options)
    options.priority = 20
    vim.api.nvim_buf_set_extmark(buffer, namespace, math.min(row, count - 1), 0, options)
  end
  local changed = #part.removed > 0
  for row = part.row, math.min(part.row + part.count, count) - 1 do
    mark(row, {
      line_hl_group = proposed and "InterlineDelete" or changed and "InterlineChange" or "InterlineAdd",
      sign_text = "▎",
      sign_hl_group = changed and "InterlineHunk" or "InterlineAdded",
    })
  end
  if part.count == 0 and not proposed then
    mark(part.row, { sign_text = part.row < count and "▔" or "▁", sign_hl_group = "InterlineRemoved" })
  end
  if changed then
    local row = proposed and part.row + part.count or part.row
    local lines = virtual_lines(buffer, part.removed, proposed and "InterlineAdd" or "InterlineDelete")
    mark(row, { virt_lines = lines, virt_lines_above = row < count })
  end
end

--- Virtual lines above the first line are out of sight unless a window is scrolled to them.
function M.reveal(buffer)
  local above = vim.api.nvim_buf_get_extmarks(buffer, namespace, 0, { 0, -1 }, { details = true })
  local lines = 0
  for _, mark in ipairs(above) do
    lines = lines + (mark[4].virt_lines_above and #mark[4].virt_lines or 0)
  end
  for _, window in ipairs(lines > 0 and vim.fn.win_findbuf(buffer) or {}) do
    vim.api.nvim_win_call(window, function()
      if vim.fn.line("w0") == 1 then
        vim.fn.winrestview({ topfill = lines })
      end
    end)
  end
end

--- @param place interline.Place
local function track(buffer, place)
  local id = vim.api.nvim_buf_set_extmark(buffer, namespace, place.first, 0, {
    end_row = place.last,
    end_col = #vim.api.nvim_buf_get_lines(buffer, place.last, place.last + 1, true)[1],
    virt_text = setting("marks") and M.STATES[place.hunk.state] and { { place.hunk.state, "InterlineFacts" } } or nil,
  })
  return { id = id, hunk = place.hunk }
end

--- @param listed interline.Hunk[] of this buffer
local function show(server, buffer, state, listed)
  local version = server.log:version(buffer)
  for _, hunk in ipairs(listed) do
    if type(hunk.version) == "number" and hunk.version ~= version then
      -- Typed since.
      return M.later(server, buffer, PAUSE_MS)
    end
  end
  clear(buffer, state)
  groups.link()
  for _, hunk in ipairs(listed) do
    local place = hunks.in_buffer(server, buffer, hunk)
    if place then
      table.insert(state.marks, track(buffer, place))
      for _, part in ipairs(setting("marks") and place.parts or {}) do
        draw(buffer, part, hunk.state == "proposed")
      end
    end
  end
  M.reveal(buffer)
  if #state.marks > 0 and setting("keys") then
    map_keys(buffer, state)
  end
end

--- Follows changes of the text from whatever source.
local function watch(buffer, state)
  local function changed()
    if states[buffer] ~= state then
      return true
    end
    M.later(state.server, buffer, PAUSE_MS)
  end
  vim.api.nvim_buf_attach(buffer, false, {
    on_lines = changed,
    on_reload = changed,
    on_detach = function()
      if states[buffer] == state then
        states[buffer] = nil
      end
    end,
  })
end

--- The state of a buffer; made, with `make`, when it has its first hunks.
local function state_of(server, buffer, make)
  local state = states[buffer]
  if make and (not state or state.server ~= server) then
    state = { server = server, marks = {}, mapped = {}, wait = 0 }
    states[buffer] = state
    watch(buffer, state)
  end
  return state
end

local function ask(server, buffer, state)
  if state.asking then
    state.again = true
    return
  end
  local session = server.session
  state.asking, state.again = true, false
  hunks.fetch(server, { uri = vim.uri_from_bufnr(buffer) }, function(listed)
    state.asking = false
    if states[buffer] ~= state or not vim.api.nvim_buf_is_loaded(buffer) then
      return
    elseif state.again or session ~= server.session then
      return ask(server, buffer, state)
    end
    show(server, buffer, state, listed)
  end, function()
    state.asking = false
  end)
end

--- Shows the hunks of a buffer after a pause without another call.
function M.later(server, buffer, pause)
  if not server.session or not vim.lsp.buf_is_attached(buffer, server.id) then
    return
  end
  local state = state_of(server, buffer, true)
  state.wait = state.wait + 1
  local wait = state.wait
  vim.defer_fn(function()
    if states[buffer] == state and state.wait == wait and not server.over and vim.lsp.buf_is_attached(buffer, server.id) then
      ask(server, buffer, state)
    end
  end, pause)
end

local function buffers(server)
  return vim.tbl_filter(function(buffer)
    return vim.lsp.buf_is_attached(buffer, server.id)
  end, vim.api.nvim_list_bufs())
end

--- `interline/review/didChange`.
function M.changed(server, params)
  local names = {}
  for _, uri in ipairs(params.uris) do
    names[vim.uri_to_fname(uri)] = true
  end
  for _, buffer in ipairs(buffers(server)) do
    if names[vim.api.nvim_buf_get_name(buffer)] then
      M.later(server, buffer, 0)
    end
  end
end

--- Another session is the current one.
function M.session(server)
  for _, buffer in ipairs(buffers(server)) do
    M.later(server, buffer, 0)
  end
end

--- The server ended.
function M.forget(server)
  for buffer, state in pairs(states) do
    if state.server == server then
      states[buffer] = nil
      clear(buffer, state)
    end
  end
end

--- Shows changes of buffers that are opened from now on.
function M.watch(server, on)
  on({ "BufReadPost", "LspAttach" }, function(event)
    M.later(server, event.buf, 0)
  end)
  on("BufWinEnter", function(event)
    M.reveal(event.buf)
  end)
end

--- The current hunks of a buffer with their rows, in the order of the text.
--- @return {row: integer, hunk: interline.Hunk}[]
function M.list(buffer)
  local found = {}
  for _, mark in ipairs(states[buffer] and states[buffer].marks or {}) do
    local at = vim.api.nvim_buf_get_extmark_by_id(buffer, namespace, mark.id, {})
    if at[1] then
      table.insert(found, { row = at[1], hunk = mark.hunk })
    end
  end
  table.sort(found, function(a, b)
    return a.row < b.row
  end)
  return found
end

--- Goes to the next (1) or previous (-1) change of the current buffer, `count` times.
function M.jump(direction, count)
  local found = M.list(vim.api.nvim_get_current_buf())
  if #found == 0 then
    return require("interline.say").info("no changes to review here; :Interline review lists all")
  end
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local index = direction > 0 and 0 or #found + 1
  while found[index + direction] and (found[index + direction].row - row) * direction <= 0 do
    index = index + direction
  end
  index = index + direction * count
  local wrapped = (index - 1) % #found + 1
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { found[wrapped].row + 1, 0 })
  vim.cmd("normal! ^zv")
  M.reveal(vim.api.nvim_get_current_buf())
  local words = ("change %d of %d"):format(wrapped, #found)
  local state = found[wrapped].hunk.state
  words = M.STATES[state] and words .. ", " .. state or words
  if wrapped ~= index then
    words = words .. (direction > 0 and ", continued at the first" or ", continued at the last")
  end
  vim.api.nvim_echo({ { words } }, false, {})
end

return M
