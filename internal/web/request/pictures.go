package request

import (
	"errors"
	"net/http"
	"os"
	"syscall"

	"retwis/internal/files"
	"retwis/internal/i18n"
	"retwis/internal/picture"
	"retwis/internal/social/media"
)

// PictureProblem returns the error page for an upload error, or nil for other errors.
func PictureProblem(err error) *Error {
	var quota *media.QuotaError
	switch {
	case errors.Is(err, picture.ErrType):
		return &Error{Status: http.StatusUnsupportedMediaType, Detail: i18n.T("Pictures can be JPEG, PNG, GIF or WebP files.")}
	case errors.Is(err, picture.ErrTooLarge):
		return &Error{Status: http.StatusRequestEntityTooLarge, Detail: i18n.T("A picture can be at most 16 MB and 40 megapixels.")}
	case errors.Is(err, picture.ErrDamaged):
		return &Error{Status: http.StatusUnprocessableEntity, Detail: i18n.T("This picture can't be read. It may be damaged.")}
	case errors.Is(err, picture.ErrTime):
		return &Error{Status: http.StatusUnprocessableEntity, Detail: i18n.T("This picture takes too long to read. Please save it in another format and try again.")}
	case errors.As(err, &quota):
		return &Error{
			Status: http.StatusUnprocessableEntity,
			Detail: i18n.T("You don't have enough picture storage: {n} KB left. Delete posts with pictures to make room.", quota.Left>>10),
		}
	case errors.Is(err, picture.ErrBusy):
		return &Error{Status: http.StatusServiceUnavailable, Detail: i18n.T("Too many pictures are being uploaded right now. Please try again in a moment."), draft: notPublished, Cause: err}
	case errors.Is(err, files.ErrFull), errors.Is(err, syscall.ENOSPC) && isFileError(err):
		return &Error{Status: http.StatusInsufficientStorage, Detail: i18n.T("There's no room for more pictures on this site right now. You can post without one."), draft: notPublished, Cause: err}
	case errors.Is(err, files.ErrUnavailable), isFileError(err):
		return &Error{Status: http.StatusServiceUnavailable, Detail: i18n.T("Pictures can't be saved or shown right now. Please try again in a moment, or post without one."), draft: notPublished, Cause: err}
	case errors.Is(err, media.ErrNoPlace):
		return &Error{Status: http.StatusForbidden, Detail: i18n.T("This site doesn't accept pictures.")}
	}
	return nil
}

func isFileError(err error) bool {
	var path *os.PathError
	return errors.As(err, &path)
}

var notPublished = i18n.T("Your post hasn't been published.")

// JSONErrors wraps a page for scripts: errors are sent as {"error": TEXT} with their status.
func JSONErrors(page Page) Page {
	return func(req *Request) error {
		err := page(req)
		if err == nil {
			return nil
		}
		req.RetryAfter(err)
		shown := describe(err)
		if shown.Status >= http.StatusInternalServerError {
			req.Log().Warn("upload failed", "error", err)
		}
		return sendJSON(req, shown.Status, map[string]string{"error": req.Language.Say(shown.Detail)})
	}
}
