--- A small window to write a prompt in, with as many lines as it needs, and completion of files after
--- `@` and of skills after `/`. What is not sent is kept for the next time.
local client = require("interline.client")

local M = {}

--- Drafts by root.
local drafts = {}

--- @class interline.Draft what a prompt window is about
--- @field root string
--- @field lines integer[]? first and last line
--- @field busy? "queue"|"steer"
--- @field window integer where the user came from
--- @field buffer integer the same
--- @field kept table[]? parts that the prompt has besides its text
--- @field resend string? the turn that it replaces

--- By buffer.
--- @type table<integer, interline.Draft>
local abouts = {}

--- A prompt that was not sent: shown, and saved as a draft unless there already is one.
function M.give_back(root, text)
  local chat = require("interline.chat").of({ root = root })
  chat:lines({ "", "> This prompt was not sent; :Interline ask restores it:", "", text })
  drafts[root] = drafts[root] or vim.split(text, "\n", { plain = true })
end

local function height(lines)
  return math.max(3, math.min(#lines + 1, 12))
end

local function text_of(buffer)
  return vim.trim(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), "\n"))
end

local function send_on(buffer, about)
  local function send()
    local text = text_of(buffer)
    if text == "" then
      return require("interline.say").info("write the prompt first; q leaves")
    end
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, {})
    vim.cmd.stopinsert()
    vim.cmd.close()
    drafts[about.root] = nil
    if vim.api.nvim_win_is_valid(about.window) then
      vim.api.nvim_set_current_win(about.window)
    end
    require("interline.turn").ask(text, about.lines, about.busy, about)
  end
  vim.keymap.set("n", "<CR>", send, { buffer = buffer, desc = "Interline: send the prompt" })
  vim.keymap.set({ "n", "i" }, "<C-s>", send, { buffer = buffer, desc = "Interline: send the prompt" })
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buffer, desc = "Interline: close and keep the draft" })
end

local function keep_draft(buffer, about)
  vim.api.nvim_create_autocmd("BufUnload", {
    buffer = buffer,
    callback = function()
      local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
      if not about.resend then
        drafts[about.root] = table.concat(lines):find("%S") and lines or nil
      end
      abouts[buffer] = nil
    end,
  })
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    buffer = buffer,
    callback = function()
      local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
      vim.api.nvim_win_set_height(0, height(lines))
    end,
  })
end

--- What the bar says, with the keys of the current mode.
local function title(about)
  local words = "Prompt"
  if about.resend then
    words = "Edit and send in a copy of the session"
  elseif about.busy == "steer" then
    words = "Add to the turn"
  end
  local lines = about.lines
  if lines and lines[1] == lines[2] then
    words = words .. (" about line %d"):format(lines[1])
  elseif lines then
    words = words .. (" about lines %d to %d"):format(lines[1], lines[2])
  end
  for _, part in ipairs(about.kept or {}) do
    words = words .. " + " .. require("interline.attach").words({ part }, about.root)[1]
  end
  local insert = vim.api.nvim_get_mode().mode:sub(1, 1) == "i"
  local keys = insert and "<C-s> sends · @ file · / skill" or "<CR> sends · q closes, keeps the draft"
  return words:gsub("%%", "%%%%") .. " · " .. keys .. "%<"
end

local function show_title(buffer, about)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    vim.wo[window][0].winbar = title(about)
  end
end

local function draw(buffer, about)
  vim.cmd("try\n setlocal filetype=markdown\n catch\n endtry")
  vim.wo[0][0].winfixheight = true
  vim.wo[0][0].wrap, vim.wo[0][0].linebreak = true, true
  vim.wo[0][0].number, vim.wo[0][0].relativenumber, vim.wo[0][0].spell = false, false, false
  if vim.go.statusline == "" or vim.go.statusline:find("%<%f", 1, true) then
    -- Neovim's own would show the buffer's name; what the user or a plugin set stays.
    vim.wo[0][0].statusline = "Prompt for " .. vim.fs.basename(about.root):gsub("%%", "%%%%") .. "%=%l/%L "
  end
  show_title(buffer, about)
  vim.api.nvim_create_autocmd({ "ModeChanged", "InsertEnter", "InsertLeave" }, {
    buffer = buffer,
    callback = function()
      show_title(buffer, about)
    end,
  })
end

--- @class interline.ComposeOptions
--- @field root? string
--- @field lines? integer[]
--- @field busy? "queue"|"steer"
--- @field text? string instead of the draft
--- @field kept? table[]
--- @field resend? string

--- @param options? interline.ComposeOptions
function M.open(options)
  options = options or {}
  local about = vim.tbl_extend("force", {}, options, {
    root = options.root or client.root(),
    window = vim.api.nvim_get_current_win(),
    buffer = vim.api.nvim_get_current_buf(),
  })
  local draft = options.text and vim.split(options.text, "\n", { plain = true }) or drafts[about.root] or { "" }
  vim.cmd("botright " .. height(draft) .. "split")
  local buffer = vim.api.nvim_create_buf(false, true)
  abouts[buffer] = about
  vim.bo[buffer].bufhidden = "wipe"
  vim.api.nvim_win_set_buf(0, buffer)
  pcall(vim.api.nvim_buf_set_name, buffer, "interline://prompt" .. about.root)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, draft)
  draw(buffer, about)
  send_on(buffer, about)
  keep_draft(buffer, about)
  require("interline.complete").attach(buffer, about.root)
  vim.api.nvim_win_set_cursor(0, { #draft, #draft[#draft] })
  vim.cmd.startinsert({ bang = true })
end

--- The root of a prompt window's buffer.
--- @return string?
function M.root(buffer)
  return abouts[buffer] and abouts[buffer].root
end

--- Puts words at the cursor of the prompt window, which is opened if needed.
local function insert(words)
  if not abouts[vim.api.nvim_get_current_buf()] then
    M.open()
  end
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local line = vim.api.nvim_get_current_line()
  local at = math.min(column + (vim.api.nvim_get_mode().mode == "n" and line ~= "" and 1 or 0), #line)
  local apart = at > 0 and not line:sub(at, at):find("%s") and " " or ""
  vim.api.nvim_buf_set_text(0, row - 1, at, row - 1, at, { apart .. words .. " " })
  vim.api.nvim_win_set_cursor(0, { row, at + #apart + #words + 1 })
end

--- Adds an image to the prompt: a file, or without a name the clipboard's.
--- @param path string
function M.image(path)
  local attach = require("interline.attach")
  if path == "" then
    return attach.paste(insert)
  end
  local root = M.root(vim.api.nvim_get_current_buf()) or client.root()
  local words, reason = attach.mention(vim.fn.expand(path), root)
  if not words then
    return require("interline.say").error(("%s cannot be attached: %s"):format(path, reason))
  end
  insert(words)
end

return M
