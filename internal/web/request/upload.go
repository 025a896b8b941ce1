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

// maxUpload is the maximum size of a form with pictures.
const maxUpload = social.MaxPictures*picture.MaxBytes + 2*maxForm

// maxFilesSizes maps the routes whose forms may have files to the maximum size of such a form.
var maxFilesSizes = map[string]int64{
	"POST /media": maxUpload, "POST /post": maxUpload, "POST /u/{name}/{id}/reply": maxUpload, "POST /settings/profile": maxUpload,
	"POST " + ImportPath: maxFile,
}

// maxFilesSize returns the maximum size of a form with files in bytes, or 0 for other requests.
func maxFilesSize(pattern string, r *http.Request) int64 {
	maxSize := maxFilesSizes[pattern]
	if maxSize == 0 {
		return 0
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return 0
	}
	return maxSize
}

// upload is an arriving form with files. The fields up to the next file have been read.
type upload struct {
	parts *multipart.Reader
	file  *multipart.Part // the next file; nil at the end
	body  *budget
}

// readAhead is how many bytes a multipart.Reader may read ahead: of each file before the file is
// requested, and of fields along with the end of a file.
const readAhead = 4 << 10

// budget limits everything in a form except the contents of its files: names, headers and fields
// without values take memory, too.
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

// openUpload reads the fields before the first file. Files reads the rest of the form.
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

// next skips the rest of the current file and reads the fields up to the next file.
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

// problem returns the error for a form that cannot be read. An exceeded budget takes precedence:
// within a header, a multipart.Reader reports it as a malformed header.
func (u *upload) problem(err error) error {
	if u.body.exceeded != nil {
		err = u.body.exceeded
	}
	return formError(err)
}

// ErrLogin means that a form with files was sent without a session, or that the session has ended.
var ErrLogin = &Error{Status: http.StatusUnauthorized, Detail: i18n.T("Log in to upload a picture.")}

// Files calls do with each file of the form and the name of its field, one after another. If do
// fails, Files reads the remaining fields, for the page that shows the form again, and returns the
// error. It returns picture.ErrTooLarge for a file that is too large, and ErrLogin if the session
// has ended by the time the files have arrived, which can take minutes. It returns errUploads
// without reading anything while an account or address is uploading too much.
func Files(req *Request, do func(field string, file []byte) error) error {
	var fileErr error
	hasFile := req.upload != nil && req.upload.file != nil
	if hasFile {
		release, err := req.site.uploads.take(req)
		if err != nil {
			return err
		}
		defer release()
	}
	for req.upload != nil && req.upload.file != nil {
		if fileErr == nil {
			file, err := req.upload.read()
			if err == nil {
				err = do(req.upload.file.FormName(), file)
			}
			fileErr = err
		}
		if err := req.upload.next(req); err != nil {
			return errors.Join(fileErr, err)
		}
	}
	if hasFile && req.LoggedIn {
		_, err := req.site.app.Sessions.SessionUser(social.WithFresh(req.Ctx), req.SessionSecret)
		if errors.Is(err, social.ErrNoSession) {
			return ErrLogin
		}
		fileErr = errors.Join(fileErr, err)
	}
	return fileErr
}

// read returns the next file. An arriving file is stored on disk, because many files can be
// arriving slowly at the same time.
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

// skipFiles reads and discards the part of a form with files that a page has not read. Browsers
// send the whole form before they read the response: if the connection has been closed by then,
// they show an error of their own, and the text kept in the response is lost.
func skipFiles(req *Request) {
	if req.upload != nil {
		req.upload.body.inFile = true
		_, _ = io.Copy(io.Discard, req.R.Body) // the client may have disconnected
	}
}

// keepDraft stores the submitted text of a post in the request, for an error page.
func keepDraft(req *Request) {
	if text := req.R.PostForm.Get("status"); strings.TrimSpace(text) != "" {
		req.Draft = text
	}
}
