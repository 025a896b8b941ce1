package web_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"retwis/internal/redistest"
)

// upload sends a form with a file, like a browser.
func (v *visitor) upload(path, kind string, file []byte) *response {
	v.site.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("kind", kind)
	_ = form.WriteField("list", "")
	part, err := form.CreateFormFile("file", "following_accounts.csv")
	if err == nil {
		_, _ = part.Write(file)
		err = form.Close()
	}
	if err != nil {
		v.site.t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, v.site.http.URL+path, &body)
	if err == nil {
		request.Header.Set("Content-Type", form.FormDataContentType())
	}
	return v.do(request, err)
}

// Users import a list from a file or a text, and see which names were not found.
func TestImport(t *testing.T) {
	t.Parallel()
	s := on(t, redistest.DB(t).Client(t))
	ada := s.signedUp("ada")
	s.signedUp("ben")
	s.signedUp("eve")
	s.visitor().send("/settings/import", "kind", "follows", "list", "ben").want(303, "/login")
	ada.get("/settings/data").want(200, `href="/settings/import"`)
	ada.get("/settings/import").want(200, `enctype="multipart/form-data"`)
	ada.send("/settings/import", "kind", "follows", "list", " ").want(422, "There is nothing to import")
	ada.send("/settings/import", "kind", "x", "list", "ben").want(422, "Choose what the list contains", ">ben</textarea>")
	result := func(want ...string) {
		t.Helper()
		until(t, "the import is done", func() bool { return !strings.Contains(ada.get("/settings/import").body, "is running") })
		ada.get("/settings/import").want(200, want...)
	}
	ada.upload("/settings/import", "follows", []byte("Account address,Show boosts\nben@there.example,true\nnobody@there.example,true\n")).want(303, "/settings/import")
	result("1 person followed. 1 wasn&#39;t found here.", "Not found here (1)", ">nobody@there.example</textarea>")
	ada.get("/u/ada/following").want(200, `href="/u/ben"`)
	s.visitor().get("/u/ada/following").wantNot("nobody")
	ada.send("/settings/import", "kind", "blocks", "list", "@eve").want(303)
	result("1 person blocked.")
	ada.get("/settings/blocked").want(200, `href="/u/eve"`)

	var large bytes.Buffer
	for i := range 9000 {
		fmt.Fprintf(&large, "a_long_name_%d@a.long.domain.example.com,true,true,en\n", i)
	}
	ada.upload("/settings/import", "follows", large.Bytes()).want(303)
	ada.upload("/settings/import", "follows", large.Bytes()).want(422, "Another import is running")
	ada.get("/settings/import").want(200, "Your import is running", `max="9000"`)
	ada.send("/settings/import/stop").want(303)
	ada.get("/settings/import").want(200, "Your import was stopped", "Not tried (")
	ada.upload("/settings/import", "follows", make([]byte, 2<<20)).want(413)
}
