;;; interline.el --- Interline through eglot  -*- lexical-binding: t -*-

;; eglot runs one server for a buffer, so in `interline-modes' Interline takes the place of
;; another. Name fewer modes before this file is loaded if you want to keep one.

;;; Code:

(require 'eglot)

(defvar interline-modes '(prog-mode text-mode)
  "Modes, with all that are derived from them, that Interline is attached to.")

(add-to-list 'eglot-server-programs (cons interline-modes '("interline" "lsp")))
(dolist (mode interline-modes)
  (add-hook (intern (format "%s-hook" mode)) #'eglot-ensure))

;; Transcripts of chats lie outside of the project, and belong to the server that wrote them.
(add-to-list 'auto-mode-alist '("/interline/chat/.*\\.md\\'" . text-mode) t)
(defvar interline--project nil "The project whose server was used last.")
(defun interline--project-of-chat (directory)
  "The project of the transcripts in DIRECTORY."
  (and (string-match-p "/interline/chat/" directory) interline--project))
(add-hook 'project-find-functions #'interline--project-of-chat)

;; Interline asks by itself; eglot would ask for every edit again, in the middle of your typing.
(setq eglot-confirm-server-initiated-edits nil  ; eglot before 1.16
      eglot-confirm-server-edits nil)

;; eglot holds back what you type, and newer ones check an edit against the version that they told
;; last: an edit would land beside your typing. Sent first, it is refused and computed again.
(cl-defmethod eglot-handle-request :before (_server (_method (eql 'workspace/applyEdit)) &rest _)
  "Tell the server what was typed in every buffer before its edit is looked at."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (bound-and-true-p eglot--managed-mode)
        (eglot--signal-textDocument/didChange)))))

(add-hook 'eglot-managed-mode-hook
          (lambda ()
            ;; It runs when a server has ended, too; to ask for that one then would keep it.
            (when (and (bound-and-true-p eglot--managed-mode) (eglot-current-server))
              (setq interline--project (eglot--project (eglot-current-server))))))

(defun interline--place ()
  "The buffer's URI and the region or point, as the server wants them."
  (let ((start (if (use-region-p) (region-beginning) (point)))
        (end (if (use-region-p) (region-end) (point))))
    (list :uri (plist-get (eglot--TextDocumentIdentifier) :uri)
          :range (list :start (eglot--pos-to-lsp-position start)
                       :end (eglot--pos-to-lsp-position end)))))

(defun interline-command (name &optional argument)
  "Run the server's command NAME with ARGUMENT, without waiting for its end."
  (let ((server (eglot-current-server)))
    (unless server (user-error "No server here; M-x eglot starts it"))
    (setq interline--project (eglot--project server))
    (jsonrpc-async-request
     server :workspace/executeCommand
     (list :command (concat "interline." name)
           :arguments (if argument (vector argument) []))
     ;; Deferred: what you typed reaches the server first.
     :deferred (intern (concat ":interline." name))
     :success-fn #'ignore
     :error-fn (lambda (failure) (message "%s" (plist-get failure :message))))))

(defun interline-ask (text)
  "Ask Interline to do what TEXT says, about the region or the place of point."
  (interactive "sAsk Interline: ")
  (interline-command "ask" (append (list :text text) (interline--place))))

(defun interline-explain ()
  "Let Interline explain the region or the place of point."
  (interactive)
  (interline-command "explain" (interline--place)))

(defun interline-do-comment ()
  "Let Interline do what the comment at point says."
  (interactive)
  (interline-command "doComment" (interline--place)))

(defun interline-chat ()
  "Show the session's transcript, with the region quoted; `interline-send' sends what you add."
  (interactive)
  (interline-command "chat" (interline--place)))

(defun interline-send () "Send what stands last in the transcript." (interactive) (interline-command "send"))
(defun interline-revert () "Revert the last turn." (interactive) (interline-command "revert"))
(defun interline-sessions () "Show the stored sessions." (interactive) (interline-command "sessions"))
(defun interline-approve () "Allow what waits." (interactive) (interline-command "approve"))
(defun interline-reject () "Reject what waits." (interactive) (interline-command "reject"))
(defun interline-cancel () "Stop all turns." (interactive) (interline-command "cancel"))

(defun interline-new-session ()
  "Start a new session in this buffer's folder."
  (interactive)
  (interline-command "newSession" (list :uri (plist-get (interline--place) :uri))))

(defun interline-mode-of-work (name)
  "Switch to the mode NAME."
  (interactive (list (completing-read "Mode: " '("agent" "ask" "plan") nil t)))
  (interline-command "mode" (list :mode name)))

(defvar interline-map (make-sparse-keymap) "Keys of Interline.")
(define-key interline-map "i" #'interline-ask)
(define-key interline-map "e" #'interline-explain)
(define-key interline-map "y" #'interline-approve)
(define-key interline-map "n" #'interline-reject)
(define-key interline-map "c" #'interline-cancel)
(define-key interline-map "s" #'interline-new-session)
(define-key interline-map "m" #'interline-mode-of-work)
(define-key interline-map "d" #'interline-do-comment)
(define-key interline-map "t" #'interline-chat)
(define-key interline-map (kbd "RET") #'interline-send)
(define-key interline-map "u" #'interline-revert)
(define-key interline-map "l" #'interline-sessions)
(global-set-key (kbd "C-c i") interline-map)

(provide 'interline)
;;; interline.el ends here
