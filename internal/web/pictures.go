package web

import (
	"errors"
	"mime"
	"net/http"
	"path"
	"strings"

	"retwis/internal/i18n"
	"retwis/internal/picture"
	"retwis/internal/social"
	"retwis/internal/social/limits"
	"retwis/internal/social/media"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// uploaded is the response to a script that has uploaded a picture.
type uploaded struct {
	ID     string `json:"id"`
	URL    string `json:"url"` // of the small picture
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

// uploadPicture stores a picture that a script sends before the post is sent.
func (h *handlers) uploadPicture(req *request.Request) error {
	if !req.LoggedIn {
		return request.ErrLogin
	}
	var stored []media.Record
	err := request.Files(req, func(_ string, file []byte) error {
		if len(stored) > 0 {
			return &request.Error{Status: http.StatusBadRequest, Detail: i18n.T("Send one picture at a time.")}
		}
		record, err := h.storePicture(req, file, media.Post)
		stored = append(stored, record)
		return err
	})
	if err != nil {
		return err
	}
	if len(stored) == 0 {
		return &request.Error{Status: http.StatusBadRequest, Detail: i18n.T("Choose a picture first.")}
	}
	p := stored[0].Picture
	small := p.Small()
	return request.SendJSON(req, uploaded{p.ID, view.MediaPath(p, small), small.Width, small.Height})
}

// storePicture stores a picture of the session user.
func (h *handlers) storePicture(req *request.Request, file []byte, kind media.Kind) (media.Record, error) {
	if err := req.Allow(limits.Media); err != nil {
		return media.Record{}, err
	}
	r, err := h.app.Media.Upload(req.Ctx, req.User, limits.Place(req.LimitAddress()), file, kind)
	if request.PictureProblem(err) != nil && !errors.Is(err, picture.ErrDamaged) && !errors.Is(err, picture.ErrTime) {
		req.GiveBack(limits.Media) // failed decoding counts, because it can take seconds
	}
	return r, err
}

// pictureFile sends a picture in one size, if the viewer may see the post or profile that the
// picture belongs to.
func (h *handlers) pictureFile(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	found, err := h.app.Media.Find(req.Ctx, v, req.R.PathValue("id"))
	if err != nil {
		return err
	}
	size, _, _ := strings.Cut(req.R.PathValue("file"), ".")
	// The context of req.R, unlike req.Ctx, does not limit how long the client reads the file.
	file, err := h.app.Media.Open(req.R.Context(), found.Record, size)
	if err != nil {
		return err
	}
	defer file.Close()
	request.ServeFile(req, file, mime.TypeByExtension(path.Ext(file.Name)), found.Public)
	return nil
}

// pictureProblem returns the status and the message with which the form of a post is shown again
// after err. The status is 0 if err has an error page.
func pictureProblem(req *request.Request, err error) (status int, text string) {
	var invalid *social.InvalidError
	if errors.As(err, &invalid) {
		return http.StatusUnprocessableEntity, req.Language.Say(invalid.Reason)
	}
	page := request.PictureProblem(err)
	if page == nil {
		return 0, ""
	}
	if page.Status >= http.StatusInternalServerError {
		req.Log().Warn("upload failed", "error", err)
	}
	return page.Status, req.Language.Say(page.Detail)
}
