package request

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The size of everything in a form except the contents of files is limited: values, names, headers
// and the number of parts. A form beyond the limit is not read into memory.
func TestFormWithFilesIsBounded(t *testing.T) {
	t.Parallel()
	const part = "--x\r\nContent-Disposition: form-data; name="
	for name, body := range map[string]string{
		"fields without a value": strings.Repeat(part+"a\r\n\r\n\r\n", 100_000),
		"a value":                part + "a\r\n\r\n" + strings.Repeat("v", 1<<20),
		"a name":                 part + strings.Repeat("n", 1<<20) + "\r\n\r\n\r\n",
		"names":                  strings.Repeat(part+strings.Repeat("n", 4000)+"\r\n\r\n\r\n", 1000),
		"headers":                part + "a\r\n" + strings.Repeat("X: "+strings.Repeat("h", 100)+"\r\n", 9000) + "\r\n\r\n",
		"empty files":            strings.Repeat(part+"a; filename=b\r\n\r\n\r\n", 100_000),
		"a file, then fields":    part + "a; filename=b\r\n\r\n" + strings.Repeat("f", 1<<20) + "\r\n" + strings.Repeat(part+"a\r\n\r\n\r\n", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fields := 0
			handler := newTestSite(t, io.Discard).Handler("POST /media", "", func(req *Request) error {
				err := Files(req, func(string, []byte) error { return nil })
				fields = len(req.R.PostForm["a"])
				return err
			})
			request := httptest.NewRequest(http.MethodPost, "/media", strings.NewReader(body+"--x--\r\n"))
			request.Header.Set("Content-Type", "multipart/form-data; boundary=x")
			response := httptest.NewRecorder()
			handler.ServeHTTP(response, request)
			if response.Code != http.StatusRequestEntityTooLarge || fields > 3000 {
				t.Errorf("status %d, %d fields; want 413 and at most 3000 fields", response.Code, fields)
			}
		})
	}
}

// The contents of files do not count toward the limit: a form with four large files is accepted.
func TestFilesCostNoFields(t *testing.T) {
	t.Parallel()
	var body bytes.Buffer
	file := bytes.Repeat([]byte("f"), 1<<20)
	for i := range 4 {
		fmt.Fprintf(&body, "--x\r\nContent-Disposition: form-data; name=file%d; filename=b\r\n\r\n%s\r\n", i, file)
		fmt.Fprintf(&body, "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n%s\r\n", strings.Repeat("v", 15<<10))
	}
	handler := newTestSite(t, io.Discard).Handler("POST /media", "", func(req *Request) error {
		files := 0
		err := Files(req, func(_ string, content []byte) error {
			files++
			if !bytes.Equal(content, file) {
				t.Errorf("%d bytes of a file, want %d", len(content), len(file))
			}
			return nil
		})
		if files != 4 || len(req.R.PostForm["a"]) != 4 {
			t.Errorf("%d files, %d fields; want 4, 4", files, len(req.R.PostForm["a"]))
		}
		return err
	})
	request := httptest.NewRequest(http.MethodPost, "/media", strings.NewReader(body.String()+"--x--\r\n"))
	request.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	if response.Code != http.StatusOK {
		t.Errorf("status %d: %s", response.Code, response.Body)
	}
}
