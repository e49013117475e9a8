--- A small window to write a prompt in, with as many lines as it needs. What is not sent is kept
--- for the next time.
local client = require("interline.client")

local M = {}

--- Drafts by root.
local drafts = {}

--- A prompt that was not sent: shown, and saved as a draft unless there already is one.
function M.give_back(root, text)
  local chat = require("interline.chat").of({ root = root })
  chat:lines({ "", "> This prompt was not sent; :Interline ask restores it:", "", text })
  drafts[root] = drafts[root] or vim.split(text, "\n", { plain = true })
end

local function height(lines)
  return math.max(3, math.min(#lines + 1, 12))
end

local function send_on(buffer, about)
  local function send()
    local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
    local text = vim.trim(table.concat(lines, "\n"))
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
    require("interline.turn").ask(text, about.lines, about.busy)
  end
  vim.keymap.set("n", "<CR>", send, { buffer = buffer, desc = "Interline: send the prompt" })
  vim.keymap.set({ "n", "i" }, "<C-s>", send, { buffer = buffer, desc = "Interline: send the prompt" })
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buffer, desc = "Interline: close and keep the draft" })
end

local function keep_draft(buffer, root)
  vim.api.nvim_create_autocmd("BufUnload", {
    buffer = buffer,
    callback = function()
      local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
      drafts[root] = table.concat(lines):find("%S") and lines or nil
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

--- @param lines? integer[] first and last line that the prompt is about
--- @param busy? "queue"|"steer"
function M.open(lines, busy)
  local about = { root = client.root(), lines = lines, busy = busy, window = vim.api.nvim_get_current_win() }
  local draft = drafts[about.root] or { "" }
  vim.cmd("botright " .. height(draft) .. "split")
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  vim.api.nvim_win_set_buf(0, buffer)
  pcall(vim.api.nvim_buf_set_name, buffer, "interline://prompt" .. about.root)
  vim.cmd("try\n setlocal filetype=markdown\n catch\n endtry")
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, draft)
  vim.wo[0][0].winfixheight = true
  vim.wo[0][0].wrap, vim.wo[0][0].linebreak = true, true
  vim.wo[0][0].number, vim.wo[0][0].relativenumber, vim.wo[0][0].spell = false, false, false
  local place = lines and (" about lines %d to %d"):format(lines[1], lines[2]) or ""
  vim.wo[0][0].winbar = (busy == "steer" and "Add to the turn" or "Prompt") .. place .. " · <C-s> or <CR> sends · q leaves"
  send_on(buffer, about)
  keep_draft(buffer, about.root)
  vim.api.nvim_win_set_cursor(0, { #draft, 0 })
  vim.cmd.startinsert({ bang = true })
end

return M
