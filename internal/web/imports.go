package web

import (
	"net/http"

	"retwis/internal/social/takeout"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// importPage shows the progress of the session user's import, or the import form.
func (h *handlers) importPage(req *request.Request) error {
	return h.showImport(req, http.StatusOK, view.ImportForm{})
}

func (h *handlers) showImport(req *request.Request, status int, form view.ImportForm) (err error) {
	if form.Progress, form.Left, err = h.app.Imports.Get(req.Ctx, req.User); err != nil {
		return err
	}
	return req.Render(status, view.ImportPage(req.Frame(req.T("Import")), form))
}

// beginImport starts an import from an uploaded file or, without a file, from the pasted text.
func (h *handlers) beginImport(req *request.Request) error {
	var file []byte
	err := request.Files(req, func(_ string, sent []byte) error {
		file = sent
		return nil
	})
	if err != nil {
		return err
	}
	kind := takeout.Kind(req.R.PostFormValue("kind"))
	list := req.R.PostFormValue("list")
	if len(file) == 0 {
		file = []byte(list)
	}
	entries, err := takeout.Parse(kind, file, req.R.Host)
	if err == nil {
		err = h.app.Imports.Begin(req.Ctx, req.User, kind, entries)
	}
	return req.Submitted(err, request.ImportPath, func(_, problem string) error {
		return h.showImport(req, http.StatusUnprocessableEntity, view.ImportForm{Kind: kind, Typed: list, Problem: problem})
	})
}

// stopImport stops the import of the session user.
func (h *handlers) stopImport(req *request.Request) error {
	if err := h.app.Imports.Stop(req.Ctx, req.User); err != nil {
		return err
	}
	return req.Changed(request.ImportPath)
}
