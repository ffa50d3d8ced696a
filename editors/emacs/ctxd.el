;;; ctxd.el --- How full the agent sessions of a folder are  -*- lexical-binding: t; -*-

;; Needs Emacs 28 or newer (jsonrpc.el is part of it). Put this file on `load-path' and say
;;
;;   (require 'ctxd)
;;
;; M-x ctxd-show shows the newest agent session of the current folder: its size, its phase, what fills it.
;; Sessions are opened read-only, so whoever works in one keeps it.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'url-util)

(defgroup ctxd nil "The context of agent sessions." :group 'tools)

(defcustom ctxd-command '("ctxd" "serve")
  "How the daemon is started."
  :type '(repeat string))

(defvar ctxd--connections nil "Alist of folder to connection.")

(defconst ctxd--phases
  '(("below_handoff" . "below the handoff band")
    ("handoff_band" . "in the handoff band")
    ("compaction_due" . "compaction due")
    ("unknown" . "window unknown")))

(defun ctxd--uri (folder)
  "FOLDER as the wire names it."
  (concat "file://" (url-hexify-string (directory-file-name (file-truename folder)) url-path-allowed-chars)))

(defun ctxd--connect (folder)
  "The connection to the daemon of FOLDER, started where there is none."
  (let ((known (alist-get folder ctxd--connections nil nil #'equal)))
    (if (and known (jsonrpc-running-p known))
        known
      (unless (executable-find (car ctxd-command))
        (user-error "Command %s is not installed; run: pip install ctxd-server" (car ctxd-command)))
      (let* ((default-directory folder)
             (connection
              (make-instance
               'jsonrpc-process-connection
               :name "ctxd"
               :process (make-process :name "ctxd" :command ctxd-command :connection-type 'pipe
                                      :coding 'utf-8-emacs-unix :noquery t
                                      :stderr (get-buffer-create " *ctxd log*"))
               :notification-dispatcher #'ignore
               :request-dispatcher
               (lambda (&rest _) (jsonrpc-error :code -32601 :message "nobody answers this here")))))
        (jsonrpc-request connection :initialize
                         (list :processId (emacs-pid)
                               :clientInfo (list :name "Emacs" :version emacs-version)
                               :capabilities (make-hash-table)
                               :workspaceFolders (vector (list :uri (ctxd--uri folder) :name folder))))
        (jsonrpc-notify connection :initialized (make-hash-table))
        (setf (alist-get folder ctxd--connections nil nil #'equal) connection)))))

(defun ctxd-project (folder)
  "The newest session of FOLDER and its projection, as a cons; nil without one."
  (let* ((connection (ctxd--connect folder))
         (workspace (ctxd--uri folder))
         (sessions (plist-get (jsonrpc-request connection :session/list (list :workspace workspace)) :sessions)))
    (when (> (length sessions) 0)
      (let* ((session (aref sessions 0))
             (id (plist-get session :sessionId)))
        (jsonrpc-request connection :session/open
                         (list :workspace workspace :sessionId id :mode "resume" :readOnly t))
        (cons session (jsonrpc-request connection :context/project
                                       (list :sessionId id :detail "categories")))))))

(defun ctxd-format (session projection)
  "SESSION and its PROJECTION as text."
  (concat
   (format "%s  %s\n" (or (plist-get (plist-get session :model) :id) (plist-get session :dialect))
           (plist-get session :sessionId))
   (format "%d%s tokens, between %d and %d; %s\n\n"
           (plist-get projection :tokens)
           (if (plist-get projection :window) (format " of %d" (plist-get projection :window)) "")
           (plist-get projection :low) (plist-get projection :high)
           (cdr (assoc (plist-get projection :phase) ctxd--phases)))
   (mapconcat
    (lambda (category) (format "%9d  %s" (plist-get category :tokens) (plist-get category :name)))
    (cl-sort (cl-remove-if-not (lambda (category) (> (plist-get category :tokens) 0))
                               (append (plist-get projection :categories) nil))
             #'> :key (lambda (category) (plist-get category :tokens)))
    "\n")
   "\n"))

;;;###autoload
(defun ctxd-show ()
  "Show the newest agent session of the current folder."
  (interactive)
  (let ((found (ctxd-project (expand-file-name default-directory))))
    (if (not found)
        (message "No agent session in this folder yet")
      (with-current-buffer (get-buffer-create "*ctxd*")
        (let ((inhibit-read-only t))
          (erase-buffer)
          (insert (ctxd-format (car found) (cdr found)))
          (goto-char (point-min)))
        (special-mode)
        (display-buffer (current-buffer))))))

(defun ctxd-stop ()
  "End every daemon that was started here, in good order."
  (interactive)
  (pcase-dolist (`(,_ . ,connection) ctxd--connections)
    (when (jsonrpc-running-p connection)
      (jsonrpc-request connection :shutdown nil)
      (jsonrpc-notify connection :exit nil)))
  (setq ctxd--connections nil))

(add-hook 'kill-emacs-hook #'ctxd-stop)

(provide 'ctxd)
;;; ctxd.el ends here
