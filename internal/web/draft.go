package web

import (
	"strconv"
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/media"
	"retwis/internal/social/posts"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// Fields of the form of a post. Stored pictures are referenced by their IDs in `media`, with the
// description in `alt-ID` and the focal point in `focus-ID`. Uploaded files are in `file1` to
// `file4`, with `alt1` to `alt4` and `focus1` to `focus4`.
const (
	mediaField = "media"
	fileField  = "file"
	altField   = "alt"
	focusField = "focus"
)

// draft reads the form of a post and stores its pictures. shown is the form with the stored
// pictures, for an error page; shown is also valid if err is not nil.
func (h *handlers) draft(req *request.Request) (draft posts.Draft, shown view.StatusForm, err error) {
	stored := map[string]string{} // picture IDs by field number
	n := 0
	err = request.Files(req, func(field string, file []byte) error {
		number, isFile := strings.CutPrefix(field, fileField)
		if n++; !isFile || n > social.MaxPictures || stored[number] != "" {
			return social.Invalid("media", "A post can have up to {n} pictures.", social.MaxPictures)
		}
		r, err := h.storePicture(req, file, media.Post)
		if err == nil {
			stored[number] = r.ID
		}
		return err
	})
	form := req.R.PostForm
	for i := range social.MaxPictures { // reference stored pictures by ID, on error pages, too
		number := strconv.Itoa(i + 1)
		if id := stored[number]; id != "" {
			form.Add(mediaField, id)
			form.Set(altField+"-"+id, form.Get(altField+number))
			form.Set(focusField+"-"+id, form.Get(focusField+number))
		}
	}
	draft = posts.Draft{Body: form.Get("status"), Sensitive: form.Get("sensitive") != ""}
	for _, id := range form[mediaField] {
		if form.Get("remove-"+id) == "" {
			x, y := view.Focus(form.Get(focusField + "-" + id))
			draft.Pictures = append(draft.Pictures, media.Chosen{ID: id, Alt: form.Get(altField + "-" + id), FocusX: x, FocusY: y})
		}
	}
	if author := form.Get("author"); err == nil && author != "" && author != req.User.Name {
		err = social.Invalid("author", "This page was opened with another account. You are now logged in as @{name}. Send it again to post from that account.", req.User.Name)
	}
	return draft, h.draftForm(req, draft), err
}

// draftForm returns a form filled in with a draft.
func (h *handlers) draftForm(req *request.Request, draft posts.Draft) view.StatusForm {
	form := view.StatusForm{Status: draft.Body, Pictures: h.app.Media.IsOn(), Sensitive: draft.Sensitive}
	var stored []social.Picture
	for _, p := range draft.Pictures[:min(len(draft.Pictures), social.MaxPictures)] {
		found, err := h.app.Media.Find(req.Ctx, &social.Viewer{User: req.User}, p.ID)
		if err != nil || found.Owner != req.User.ID || found.Post() != 0 {
			continue // deleted, or used in another post
		}
		found.Picture.Alt, found.Picture.FocusX, found.Picture.FocusY = p.Alt, p.FocusX, p.FocusY
		stored = append(stored, found.Picture)
	}
	form.Stored = social.FormatMedia(stored)
	return form
}
