package e2e

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path"
	"strings"
	"testing"
)

// TestInvitationToDeletion signs up by invitation, downloads an archive, and deletes the account,
// with scripts and without.
func TestInvitationToDeletion(t *testing.T) {
	t.Parallel()
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := "embedded:" + t.TempDir()
			site := serve(t, "--redis", redis)
			var actions []action
			if !scripts {
				actions = append(actions, withoutScripts())
			}
			mod := newBrowser(t, site, actions...)
			mod.signUp("moira")
			runRetwis(t, "user", "role", "moira", "moderator", "--redis", redis)
			runRetwis(t, "invite", "mode", "invite", "--redis", redis)

			ada := newBrowser(t, site, actions...)
			ada.openUntil("/register", "nobody can sign up without an invitation", func() bool {
				return !ada.has(`input[name="username"]`)
			})
			mod.openUntil("/settings/invites", "a moderator can invite people", func() bool {
				return mod.has(`form[action="/settings/invites"]`)
			})
			mod.submit(`form[action="/settings/invites"]`, "uses", "1", "note", "for Ada")
			link := mod.value("#link")
			invited, err := url.Parse(link)
			if err != nil || !strings.HasPrefix(invited.Path, "/invite/") {
				t.Fatalf("the link of the invitation is %q, %v; want a path below /invite/", link, err)
			}
			ada.open(invited.Path)
			ada.submitSignUp("main form", "ada")
			ada.wantPath("/home")
			latecomer := newBrowser(t, site, actions...)
			latecomer.open(invited.Path)
			if latecomer.has(`input[name="username"]`) {
				t.Error("an invitation with one use can be used twice")
			}

			ada.publish("Notes on the engine")
			files := download(t, site, ada)
			if text := files["posts.csv"]; !strings.Contains(text, "Notes on the engine") {
				t.Errorf("posts.csv of the archive is %q, want the post", text)
			}
			if text := files["posts.json"]; !strings.Contains(text, `"Notes on the engine"`) {
				t.Errorf("posts.json of the archive is %q, want the post", text)
			}

			ada.open("/settings/delete")
			ada.submit("main form", "password", "not my password")
			ada.wantTexts("#password-note", "That password is wrong.")
			ada.submit("main form", "password", password)
			if text := strings.Join(ada.texts("h1"), ""); text != "Account deleted" {
				t.Errorf("the heading is %q, want that the account is deleted", text)
			}
			ada.open("/home")
			ada.wantPath("/login")
			mod.open("/timeline")
			if mod.has(".post") {
				t.Error("the public timeline has a post of a deleted account")
			}
			out, err := exec.Command(retwis, "user", "create", "ada", "--redis", redis).CombinedOutput()
			if err == nil || !strings.Contains(string(out), "taken") {
				t.Errorf("user create with the name of a deleted account: %v, %s; want that the name is taken", err, out)
			}
		})
	}
}

// download returns the files in the archive of the user, by name.
func download(t *testing.T, site string, b *browser) map[string]string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site+"/settings/export", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.AddCookie(b.cookie())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("POST /settings/export: %s, %v", response.Status, err)
	}
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range archive.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		in.Close()
		files[path.Base(f.Name)] = string(text)
	}
	if files["README.txt"] == "" {
		t.Error("the archive has no README.txt")
	}
	return files
}
