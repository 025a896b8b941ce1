package discover

import (
	"net/http"

	"retwis/internal/social/imports"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// Imports has the page on which people bring lists along.
type Imports struct{ imports *imports.Service }

// NewImports returns the handlers of imports.
func NewImports(all *imports.Service) *Imports { return &Imports{all} }

// Page shows how far the import of the session user is, or the form for one.
func (h *Imports) Page(req *request.Request) error {
	return h.show(req, http.StatusOK, view.ImportForm{})
}

func (h *Imports) show(req *request.Request, status int, form view.ImportForm) (err error) {
	if form.Progress, form.Left, err = h.imports.Get(req.Ctx, req.User); err != nil {
		return err
	}
	return req.Render(status, view.ImportPage(req.Frame("Import lists"), form))
}

// Begin begins an import of a file, or of the lines of a text.
func (h *Imports) Begin(req *request.Request) error {
	var file []byte
	err := request.Files(req, func(_ string, sent []byte) error {
		file = sent
		return nil
	})
	if err != nil {
		return err
	}
	kind := imports.Kind(req.R.PostFormValue("kind"))
	list := req.R.PostFormValue("list")
	if len(file) == 0 {
		file = []byte(list)
	}
	entries, err := imports.Parse(kind, file, req.R.Host)
	if err == nil {
		err = h.imports.Begin(req.Ctx, req.User, kind, entries)
	}
	return req.Submitted(err, request.ImportPath, func(_, problem string) error {
		return h.show(req, http.StatusUnprocessableEntity, view.ImportForm{Kind: kind, Typed: list, Problem: problem})
	})
}

// Stop stops the import of the session user.
func (h *Imports) Stop(req *request.Request) error {
	if err := h.imports.Stop(req.Ctx, req.User); err != nil {
		return err
	}
	return req.Changed(request.ImportPath)
}
