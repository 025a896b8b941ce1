package request

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"

	"retwis/internal/i18n"
	"retwis/internal/picture"
	"retwis/internal/social"
	"retwis/internal/web/httpserver"
)

// maxUpload bounds a form with files.
const maxUpload = social.MaxPictures*picture.MaxBytes + 2*maxForm

// hasFiles are the routes whose forms may come with files, and what bounds such a form.
var hasFiles = map[string]int64{
	"POST /media": maxUpload, "POST /post": maxUpload, "POST /u/{name}/{id}/reply": maxUpload, "POST /settings/picture": maxUpload,
	"POST " + ImportPath: maxFile,
}

// bringsFiles returns what bounds a form with files, in bytes; 0 where a request is none.
func bringsFiles(pattern string, r *http.Request) int64 {
	most := hasFiles[pattern]
	if most == 0 {
		return 0
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return 0
	}
	return most
}

// upload is a form with files that arrives. Its fields are read up to the next file.
type upload struct {
	parts *multipart.Reader
	file  *multipart.Part // the next one; nil at the end
	body  *budget
}

// readAhead is how many bytes of each file a multipart.Reader can read before the file is asked
// for, and of fields with the end of a file.
const readAhead = 4 << 10

// budget bounds all that a form has beside the contents of its files: a million fields without a
// value cost memory too, as do their names and headers.
type budget struct {
	io.Reader
	left     int64
	inFile   bool
	exceeded error
}

func (b *budget) Read(p []byte) (int, error) {
	if b.inFile {
		return b.Reader.Read(p)
	}
	if b.left <= 0 {
		b.exceeded = &http.MaxBytesError{Limit: maxForm}
		return 0, b.exceeded
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// openUpload reads the fields before the first file. Files reads the rest.
func openUpload(req *Request) error {
	req.R.Body = httpserver.Upload(req.W, req.R, req.files, &req.waited)
	body := &budget{Reader: req.R.Body, left: req.maxForm + 2*readAhead*social.MaxPictures}
	req.R.Body = struct {
		io.Reader
		io.Closer
	}{body, req.R.Body}
	parts, err := req.R.MultipartReader()
	if err != nil {
		return formError(err)
	}
	req.R.PostForm, req.R.Form = url.Values{}, req.R.URL.Query()
	req.upload = &upload{parts: parts, body: body}
	return req.upload.next(req)
}

// next reads fields up to the next file, and what is left of the one before.
func (u *upload) next(req *Request) error {
	if u.file != nil {
		u.body.inFile = true
		if _, err := io.Copy(io.Discard, u.file); err != nil {
			return formError(err)
		}
		u.body.inFile = false
	}
	for {
		var err error
		if u.file, err = u.parts.NextPart(); errors.Is(err, io.EOF) {
			u.file, req.formRead = nil, true
			return nil
		}
		if err != nil {
			return u.problem(err)
		}
		if u.file.FileName() != "" {
			return nil
		}
		value, err := io.ReadAll(u.file)
		if err != nil {
			return u.problem(err)
		}
		name := u.file.FormName()
		req.R.PostForm.Add(name, string(value))
		req.R.Form.Add(name, string(value))
	}
}

// problem returns the error of a form that cannot be read. A multipart.Reader that gets no further
// within a header reports that the header is malformed.
func (u *upload) problem(err error) error {
	if u.body.exceeded != nil {
		err = u.body.exceeded
	}
	return formError(err)
}

// ErrLogin: somebody who is not logged in, or not any more, has sent a form with files.
var ErrLogin = &Error{Status: http.StatusUnauthorized, Detail: i18n.T("Log in to upload a picture.")}

// Files calls do with each file of the form, and the name of its field. It reads one after
// another; after an error of do it reads the fields that are left, for the page that shows the
// form again, and returns that error. A file that is too large is picture.ErrTooLarge. As files take
// minutes, it is ErrLogin where the session has ended by then. It returns an *Error, and reads nothing,
// while an account or an address has too much on its way.
func Files(req *Request, do func(field string, file []byte) error) error {
	var failed error
	brings := req.upload != nil && req.upload.file != nil
	if brings {
		release, err := req.site.uploads.take(req)
		if err != nil {
			return err
		}
		defer release()
	}
	for req.upload != nil && req.upload.file != nil {
		if failed == nil {
			file, err := req.upload.read()
			if err == nil {
				err = do(req.upload.file.FormName(), file)
			}
			failed = err
		}
		if err := req.upload.next(req); err != nil {
			return errors.Join(failed, err)
		}
	}
	if brings && req.LoggedIn {
		_, err := req.site.app.Sessions.SessionUser(social.WithFresh(req.Ctx), req.SessionSecret)
		if errors.Is(err, social.ErrNoSession) {
			return ErrLogin
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// read returns the next file. While it arrives it is kept on the disk: many can be on their
// way, slowly, at the same time.
func (u *upload) read() ([]byte, error) {
	u.body.inFile = true
	temp, err := os.CreateTemp("", "retwis-upload-*")
	if err != nil {
		return nil, fmt.Errorf("web: upload: %w", err)
	}
	defer os.Remove(temp.Name())
	defer temp.Close()
	n, err := io.Copy(temp, io.LimitReader(u.file, picture.MaxBytes+1))
	var path *os.PathError
	switch {
	case errors.As(err, &path):
		return nil, fmt.Errorf("web: upload: %w", err)
	case err != nil:
		return nil, formError(err)
	case n > picture.MaxBytes:
		return nil, picture.ErrTooLarge
	}
	file := make([]byte, n)
	if _, err := temp.ReadAt(file, 0); err != nil && n > 0 {
		return nil, fmt.Errorf("web: upload: %w", err)
	}
	return file, nil
}

// skipFiles reads what a page has left of a form with files. Browsers send all of it before they look
// at the response: where the connection has ended by then, they show an error of their own, and the
// text that the response has kept is lost.
func skipFiles(req *Request) {
	if req.upload != nil {
		req.upload.body.inFile = true
		_, _ = io.Copy(io.Discard, req.R.Body) // as far as it comes
	}
}

// keepDraft keeps the text of a post that came with a request, for an error page.
func keepDraft(req *Request) {
	if text := req.R.PostForm.Get("status"); strings.TrimSpace(text) != "" {
		req.Draft = text
	}
}
