;;; interline.el --- Interline through eglot  -*- lexical-binding: t -*-

;; eglot runs one server for a buffer, so in `interline-modes' Interline takes the place of
;; another. Name fewer modes before this file is loaded if you want to keep one: Interline then
;; asks that one for definitions, references, hover, symbols and problems.

;;; Code:

(require 'eglot)

(defvar interline-modes '(prog-mode text-mode)
  "Modes, with all that are derived from them, that Interline is attached to.")

(defclass interline-server (eglot-lsp-server) () :documentation "Interline.")

(defvar interline-answer-queries (not (memq 'prog-mode interline-modes))
  "Whether other servers in Emacs are asked, instead of the setting `languageServers'.
Without other servers beside Interline there is nobody to ask.")

(cl-defmethod eglot-client-capabilities ((_server interline-server))
  "Those of eglot, and whether it answers for other servers."
  (let ((all (cl-call-next-method)))
    (if interline-answer-queries
        (plist-put all :experimental '(:interline (:version 1 :query t)))
      all)))

(add-to-list 'eglot-server-programs (cons interline-modes '(interline-server "interline" "lsp")))
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
(defun interline--flush ()
  "Tell all servers what was typed in every buffer."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (bound-and-true-p eglot--managed-mode)
        (eglot--signal-textDocument/didChange)))))

(cl-defmethod eglot-handle-request :before (_server (_method (eql 'workspace/applyEdit)) &rest _)
  "Tell the server what was typed in every buffer before its edit is looked at."
  (interline--flush))

(cl-defmethod eglot-handle-request :around
  ((_server interline-server) (_method (eql 'workspace/applyEdit)) &key edit &allow-other-keys)
  "Visit the files of an edit first, so that each gets the server of its mode."
  ;; eglot binds this one to Interline here, which would then manage every buffer that is new.
  (let ((eglot--cached-server nil))
    (dolist (uri (interline--uris edit)) (find-file-noselect (interline--path uri))))
  (cl-call-next-method))

(defun interline--uris (edit)
  "The texts that EDIT changes, of which the file exists."
  (cl-loop for change across (plist-get edit :documentChanges)
           for uri = (plist-get (plist-get change :textDocument) :uri)
           when (and uri (file-exists-p (interline--path uri))) collect uri))

(add-hook 'eglot-managed-mode-hook
          (lambda ()
            ;; It runs when a server has ended, too; to ask for that one then would keep it.
            (when (and (bound-and-true-p eglot--managed-mode) (eglot-current-server))
              (setq interline--project (eglot--project (eglot-current-server))))))

;; What other servers of the project know: `interline/editor/query'. Nothing is applied here.

(defconst interline--limit 8 "Seconds for an answer of another server.")
(defconst interline--kinds
  '(("definition" :textDocument/definition :definitionProvider interline--locations)
    ("references" :textDocument/references :referencesProvider interline--locations)
    ("hover" :textDocument/hover :hoverProvider interline--hover)
    ("documentSymbols" :textDocument/documentSymbol :documentSymbolProvider interline--outline)
    ("workspaceSymbols" :workspace/symbol :workspaceSymbolProvider interline--symbols))
  "Kinds of queries: method, capability, and what makes items of an answer.
No renames and code actions: their edits would change buffers that Interline does not see.")
(defvar interline--warm (make-hash-table :weakness 'key) "Servers that have found something.")
(defvar interline--announced (make-hash-table :weakness 'key) "Languages that each server knows of.")
(defvar interline--from nil "The server whose answer is read.")
(defvar interline--to nil "Interline's server that gets it.")

(defalias 'interline--path (if (fboundp 'eglot-uri-to-path) 'eglot-uri-to-path 'eglot--uri-to-path))
(defalias 'interline--uri (if (fboundp 'eglot-path-to-uri) 'eglot-path-to-uri 'eglot--path-to-uri))

(defun interline--ours-p (server) (object-of-class-p server 'interline-server))

(defun interline--servers (project) (gethash project eglot--servers-by-project))

(defun interline--capability (server name)
  "What SERVER said of NAME; nil before it is ready."
  (let ((value (plist-get (ignore-errors (eglot--capabilities server)) name)))
    (and (not (eq value :json-false)) value)))

(defun interline--modes (server)
  (if (fboundp 'eglot--languages) (mapcar #'car (eglot--languages server))
    (ensure-list (eglot--major-modes server))))

(defun interline--languages (server)
  (if (fboundp 'eglot--languages) (mapcar #'cdr (eglot--languages server))
    (list (eglot--language-id server))))

(defun interline--buffer (uri) (find-buffer-visiting (interline--path uri)))

(defun interline--server-of (buffer)
  (and buffer (with-current-buffer buffer
                (and (bound-and-true-p eglot--managed-mode) (eglot-current-server)))))

(defun interline--unseen (uri)
  "Whether Interline does not see what URI's buffer holds."
  (let ((buffer (interline--buffer uri)))
    (and buffer (buffer-modified-p buffer)
         (not (eq (interline--server-of buffer) interline--to)))))

(defun interline--other (uri)
  "The other server of the project that serves URI's language; without one, any."
  (let* ((all (cl-remove-if #'interline--ours-p (interline--servers (eglot--project interline--to))))
         (path (and uri (interline--path uri)))
         (mode (and path (assoc-default path auto-mode-alist #'string-match))))
    (or (car (memq (interline--server-of (and uri (interline--buffer uri))) all))
        (cl-find-if (lambda (it) (or (null path) (memq mode (interline--modes it)))) all))))

(defun interline--encoding (server)
  (or (interline--capability server :positionEncoding) "utf-16"))

(defun interline--column (line column from to)
  "COLUMN of the text LINE, counted in the encoding FROM, counted in TO."
  (cl-flet ((width (char encoding)
              (pcase encoding
                ("utf-8" (string-bytes (string char)))
                ("utf-32" 1)
                (_ (if (> char #xffff) 2 1)))))
    (cl-loop with seen = 0 with out = 0 for char across line while (< seen column)
             do (cl-incf seen (width char from)) (cl-incf out (width char to))
             finally return out)))

(defun interline--line (uri number)
  "The text of line NUMBER of URI, as its buffer or its file has it."
  (let ((buffer (interline--buffer uri)) (path (interline--path uri)))
    (with-temp-buffer
      (if buffer (insert-buffer-substring buffer)
        (when (file-readable-p path) (insert-file-contents path)))
      (goto-char (point-min))
      (forward-line number)
      (buffer-substring-no-properties (point) (line-end-position)))))

(defun interline--position (uri position from to)
  (let ((number (plist-get position :line)) (column (plist-get position :character)))
    (list :line number
          :character (if (equal from to) column
                       (interline--column (interline--line uri number) column from to)))))

(defun interline--range (uri range)
  "RANGE of the other server in the columns of Interline's."
  (let ((from (interline--encoding interline--from)) (to (interline--encoding interline--to)))
    (list :start (interline--position uri (plist-get range :start) from to)
          :end (interline--position uri (plist-get range :end) from to))))

(defun interline--locations (_uri result)
  (mapcar (lambda (it)
            (let ((uri (or (plist-get it :uri) (plist-get it :targetUri))))
              (list :uri uri :range (interline--range uri (or (plist-get it :range)
                                                              (plist-get it :targetSelectionRange))))))
          (if (vectorp result) result (list result))))

(defun interline--hover (_uri result)
  (let* ((contents (plist-get result :contents))
         (parts (mapcar (lambda (part) (if (stringp part) part (plist-get part :value)))
                        (if (vectorp contents) contents (list contents))))
         (text (string-trim (mapconcat #'identity parts "\n\n"))))
    (unless (string-empty-p text) (list (list :contents text)))))

(defun interline--outline (uri result &optional container)
  (cl-loop for it across result
           for range = (or (plist-get it :range) (plist-get (plist-get it :location) :range))
           for inside = (or container (plist-get it :containerName))
           append (cons `(:name ,(plist-get it :name) :kind ,(plist-get it :kind)
                          :range ,(interline--range uri range)
                          :selectionRange ,(interline--range
                                            uri (or (plist-get it :selectionRange) range))
                          ,@(and inside (list :container inside)))
                        (interline--outline uri (or (plist-get it :children) [])
                                            (plist-get it :name)))))

(defun interline--symbols (_uri result)
  (cl-loop for it across result
           for place = (car (interline--locations nil (plist-get it :location)))
           for inside = (plist-get it :containerName)
           collect `(:name ,(plist-get it :name) :kind ,(plist-get it :kind) ,@place
                     ,@(and inside (list :container inside)))))

(defun interline--version (uri)
  "The version of URI that Interline has; nil if it is not open there."
  (let ((buffer (interline--buffer uri)))
    (and buffer (eq (interline--server-of buffer) interline--to)
         (buffer-local-value 'eglot--versioned-identifier buffer))))

(defun interline--refuse (uri)
  (error "%s has unsaved changes that Interline does not see; save it first"
         (file-name-nondirectory (interline--path uri))))

(defun interline--ask (method params)
  "The other server's answer; typing is never held up by it."
  (let ((answer (jsonrpc-request interline--from method params :timeout interline--limit
                                 :cancel-on-input t :cancel-on-input-retval 'typing)))
    (if (eq answer 'typing) (throw 'interline--later 200) answer)))

(defun interline--params (uri query)
  (cl-destructuring-bind (&key position &allow-other-keys) query
    (cl-flet ((theirs (place) (interline--position uri place (interline--encoding interline--to)
                                                   (interline--encoding interline--from))))
      `(,@(and uri `(:textDocument (:uri ,uri)))
        ,@(and position `(:position ,(theirs position)))
        :query ,(or (plist-get query :query) "")
        :context (:includeDeclaration t)))))

(defun interline--busy-p (server)
  "Whether SERVER has found nothing yet and reports progress."
  (and (not (gethash server interline--warm)) (fboundp 'eglot--progress-reporters)
       (> (hash-table-count (eglot--progress-reporters server)) 0)))

(defun interline--found (kind uri query)
  (pcase-let* ((`(,method ,_ ,read) (cdr (assoc kind interline--kinds)))
               (result (interline--ask method (interline--params uri query))))
    (cond ((and result (not (equal result [])))
           (puthash interline--from t interline--warm)
           `(:status "ok" :version ,(and uri (interline--version uri))
             :items ,(vconcat (funcall read uri result))))
          ((interline--busy-p interline--from) (throw 'interline--later 1000))
          (t '(:status "ok" :items [])))))

(defun interline--problems (uri)
  "What other servers reported, of one document or of all."
  (cl-loop for server in (interline--servers (eglot--project interline--to))
           unless (interline--ours-p server)
           append (cl-loop
                   for buffer in (ignore-errors (eglot--managed-buffers server))
                   for name = (interline--uri (buffer-file-name buffer))
                   for interline--from = server
                   for found = (with-current-buffer buffer
                                 (delq nil (mapcar (lambda (it) (alist-get 'eglot-lsp-diag (flymake-diagnostic-data it)))
                                                   (flymake-diagnostics))))
                   when (if uri (eq buffer (interline--buffer uri)) found)
                   collect (list :uri name :version (interline--version name)
                                 :diagnostics
                                 (vconcat (mapcar (lambda (it)
                                                    (plist-put (copy-sequence it) :range
                                                               (interline--range name (plist-get it :range))))
                                                  found))))))

(defun interline--failed (failure)
  "The answer where another server's was the error FAILURE."
  (let ((code (alist-get 'jsonrpc-error-code (cdr-safe (cdr failure)))))
    (if (memq code '(-32002 -32801 -32802)) '(:status "starting" :retryAfterMs 500 :items [])
      (list :status "error" :items []
            :message (or (alist-get 'jsonrpc-error-message (cdr-safe (cdr failure)))
                         (error-message-string failure))))))

(defun interline--answer (kind uri query)
  (let* ((interline--from (interline--other uri))
         (capability (nth 2 (assoc kind interline--kinds))))
    (cond ((equal kind "diagnostics")
           (list :status "ok" :items (vconcat (interline--problems uri))))
          ((null interline--from) '(:status "unsupported" :items []))
          ((null (ignore-errors (eglot--capabilities interline--from)))
           '(:status "starting" :retryAfterMs 1000 :items []))
          ((null (interline--capability interline--from capability))
           '(:status "unsupported" :items []))
          (t (when (and uri (interline--unseen uri)) (interline--refuse uri))
             (interline--flush)
             (interline--found kind uri query)))))

(cl-defmethod eglot-handle-request
  ((server interline-server) (_method (eql interline/editor/query)) &rest query &key kind uri &allow-other-keys)
  "What another server of SERVER's project knows."
  (let* ((interline--to server) (answer nil)
         (later (catch 'interline--later
                  (setq answer (condition-case failure (interline--answer kind uri query)
                                 (error (interline--failed failure))))
                  nil)))
    (if later (list :status "starting" :retryAfterMs later :items []) answer)))

(defun interline--tell-languages ()
  "Tell each Interline for which languages another server of its project can answer."
  (maphash
   (lambda (_project servers)
     (let* ((others (cl-remove-if #'interline--ours-p servers))
            (able (cl-remove-if-not (lambda (it) (interline--capability it :definitionProvider)) others))
            (found (sort (delete-dups (mapcan #'interline--languages able)) #'string<)))
       (dolist (server (cl-set-difference servers others))
         (when (and interline-answer-queries (interline--capability server :experimental)
                    (not (equal found (gethash server interline--announced))))
           (puthash server found interline--announced)
           (jsonrpc-notify server :interline/languages/didChange
                           (list :languages (vconcat found)))))))
   eglot--servers-by-project))

(defun interline--tell-soon (&rest _)
  ;; While the hooks run, a server that ended is still in the list.
  (run-with-timer 0 nil #'interline--tell-languages))
(add-hook 'eglot-connect-hook #'interline--tell-soon)
(add-hook 'eglot-managed-mode-hook #'interline--tell-soon)

(defun interline--server ()
  "Interline's server of this buffer, or of its project."
  (let ((current (eglot-current-server)))
    (if (and current (interline--ours-p current)) current
      (cl-find-if #'interline--ours-p (interline--servers (eglot--current-project))))))

;; Messages of the server name its commands; here they get the keys, and long ones a buffer.

(defun interline--keys (text)
  "TEXT with Emacs's keys instead of the names of the server's commands and items."
  (let ((text (replace-regexp-in-string " (\\(?:item\\|i\\)_[0-9a-z]+)\\.?\\'" "" text t t)))
    (replace-regexp-in-string
     "\\(?:[Rr]un \\(?:the command \\)?\\)?interline\\.\\([a-zA-Z]+\\)"
     (lambda (found)
       (save-match-data
         (let* ((name (replace-regexp-in-string ".*\\." "" found))
                (command (intern-soft (concat "interline-" (interline--dashed name)))))
           (if (commandp command)
               (format "%s (%s)" (substitute-command-keys (format "\\[%s]" command)) name)
             found))))
     text t t)))

(defun interline--dashed (name)
  (let ((case-fold-search nil))
    (downcase (replace-regexp-in-string "[A-Z]" "-\\&" name t))))

(defconst interline--echoed 6 "The most lines of a message that the echo area shows.")

(cl-defmethod eglot-handle-notification :around
  ((_server interline-server) (_method (eql window/showMessage)) &key type message)
  "Name keys, and show a long MESSAGE in a buffer, where it can be read and searched."
  (let* ((text (interline--keys message))
         (lines (split-string text "\n")))
    (when (and (> (length lines) interline--echoed) (memql type '(3 4)))
      (with-current-buffer (get-buffer-create "*Interline*")
        (let ((inhibit-read-only t))
          (erase-buffer)
          (insert text)
          (goto-char (point-min)))
        (special-mode)
        (visual-line-mode)
        (display-buffer (current-buffer)))
      (setq text (concat (car lines) " (more in *Interline*)")))
    (cl-call-next-method _server _method :type type :message text)))

(defun interline--place ()
  "The buffer's URI and the region or point, as the server wants them."
  (let ((encoding (interline--encoding (interline--server))))
    (cl-flet ((at (place)
                (save-excursion
                  (goto-char place)
                  (list :line (1- (line-number-at-pos nil t))
                        :character (interline--column
                                    (buffer-substring-no-properties (line-beginning-position) (point))
                                    most-positive-fixnum "utf-32" encoding)))))
      (list :uri (interline--uri buffer-file-name)
            :range (list :start (at (if (use-region-p) (region-beginning) (point)))
                         :end (at (if (use-region-p) (region-end) (point))))))))

(defun interline-command (name &optional argument accepted)
  "Run the server's command NAME with ARGUMENT, without waiting for its end.
ACCEPTED is called when the server has accepted it."
  (let ((server (interline--server)))
    (unless server (user-error "Interline is not running in this project; visit a file in it"))
    (setq interline--project (eglot--project server))
    (condition-case failure
        (jsonrpc-async-request
         server :workspace/executeCommand
         (list :command (concat "interline." name)
               :arguments (if argument (vector argument) []))
         ;; Deferred: what you typed reaches the server first.
         :deferred (intern (concat ":interline." name))
         :success-fn (lambda (_) (when accepted (funcall accepted)))
         ;; When the server ends, eglot shows a message of its own; this one must come after it.
         :error-fn (lambda (failure)
                     (run-at-time 0 nil #'message "Interline: %s" (plist-get failure :message))))
      (error (when (jsonrpc-running-p server) (signal (car failure) (cdr failure)))
             (accept-process-output nil 0.1)
             (user-error "Interline is not running (%s); `interline-ask' starts it again"
                         (error-message-string failure))))))

(defun interline--start ()
  "Make sure that a server answers, also in a mode that eglot does not know."
  (unless (interline--server)
    (unless buffer-file-name (user-error "Visit a file of the project first"))
    (message "Starting Interline…")
    (let ((contact '("interline" "lsp")) (project (eglot--current-project)))
      (if (fboundp 'eglot--languages)
          (eglot (list major-mode) project 'interline-server contact '("plaintext"))
        (eglot major-mode project 'interline-server contact "plaintext")))
    (unless (interline--server) (user-error "Interline did not start; M-x eglot-events-buffer says why"))))

(defvar interline--unsent nil "The prompt that no server accepted.")

(defun interline-ask (text)
  "Ask Interline to do what TEXT says, about the region or the place of point."
  (interactive (progn (interline--start)
                      (list (read-string "Ask Interline: " interline--unsent))))
  ;; Kept until the server has accepted it.
  (setq interline--unsent text)
  (interline-command "ask" (append (list :text text) (interline--place))
                     (lambda () (setq interline--unsent nil))))

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
