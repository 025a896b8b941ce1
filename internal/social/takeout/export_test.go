package takeout_test

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// archive holds the files of an exported archive.
type archive struct {
	t     *testing.T
	files map[string][]byte
}

func read(t *testing.T, data []byte) archive {
	t.Helper()
	files := map[string][]byte{}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return archive{t, files}
}

// rows returns a list as JSON and as CSV, without the headings.
func (a archive) rows(name string) ([]map[string]any, [][]string) {
	a.t.Helper()
	var rows []map[string]any
	if err := json.Unmarshal(a.files["retwis/"+name+".json"], &rows); err != nil {
		a.t.Fatalf("%s.json: %v", name, err)
	}
	cells, err := csv.NewReader(bytes.NewReader(a.files["retwis/"+name+".csv"])).ReadAll()
	if err != nil {
		a.t.Fatalf("%s.csv: %v", name, err)
	}
	if len(cells) != len(rows)+1 {
		a.t.Errorf("%s: %d rows as JSON, %d as CSV", name, len(rows), len(cells)-1)
	}
	return rows, cells[1:]
}

// An archive contains everything that a user has done, with the exact texts in JSON and without
// formulas in CSV.
func TestExport(t *testing.T) {
	t.Parallel()
	b := socialtest.New(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	must(b.Profiles.Edit(b.Ctx, ada, accounts.UserProfile{DisplayName: "Ada", Bio: "one\ntwo, \"three\"", Links: []string{"https://example.com"}}))
	formula := "=HYPERLINK(\"http://evil.example\", \"a, b\")\nand more"
	first := b.Publish(ada, formula)
	err := b.Posts.Edit(b.Ctx, ada, b.Publish(ada, "before"), "after")
	must(err)
	must(b.Posts.Delete(b.Ctx, ada, b.Publish(ada, "regretted")))
	bens := b.Publish(ben, "by ben")
	_, err = b.Posts.Reply(b.Ctx, ada, bens, "an answer")
	must(err)
	_, err = b.Posts.Repost(b.Ctx, ada, bens)
	must(err)
	must(b.Reactions.Like(b.Ctx, ada, bens))
	must(b.Reactions.Bookmark(b.Ctx, ada, bens))
	b.Connect(ada, ben)
	b.Connect(ben, ada)
	must(b.Tags.FollowTag(b.Ctx, ada, "lakes"))
	must(b.Relations.Mute(b.Ctx, ada, ben, time.Time{}))
	must(b.Suggestions.Dismiss(b.Ctx, ada, ben))

	list, err := b.Library.Create(b.Ctx, ada, "Close friends")
	must(err)
	v, err := b.Viewers.Get(b.Ctx, ada)
	must(err)
	must(b.Library.Add(b.Ctx, v, list.ID, ben))
	must(b.Library.SaveSearch(b.Ctx, ada, "from:ben lakes"))
	must(b.Auth.LoggedIn(b.Ctx, ada, "ada", netip.MustParseAddr("192.0.2.7")))
	var data bytes.Buffer
	must(b.Leaving.Export(b.Ctx, ada.ID, "https://here.example", &data))
	a := read(t, data.Bytes())
	if readme := string(a.files["retwis/"+"README.txt"]); !strings.Contains(readme, "/post/ and its id") {
		t.Errorf("README.txt does not explain the address of a post: %s", readme)
	}
	posts, cells := a.rows("posts")
	if len(posts) != 2 || posts[0]["text"] != formula || posts[0]["id"] != float64(first) || posts[1]["text"] != "after" {
		t.Errorf("posts: %v", posts)
	}
	if cells[0][2] != "'"+formula {
		t.Errorf("formula in CSV: %q, want %q", cells[0][2], "'"+formula)
	}
	for name, want := range map[string]int{
		"profile": 1, "replies": 1, "reposts": 1, "earlier_texts": 1, "likes": 1, "bookmarks": 1, "following": 1,
		"followers": 1, "muted": 1, "blocked": 0, "not_interested": 1, "lists": 1, "saved_searches": 1, "followed_tags": 1, "sessions": 1, "login_places": 1,
	} {
		if rows, _ := a.rows(name); len(rows) != want {
			t.Errorf("%s: %v, want %d rows", name, rows, want)
		}
	}
	if likes, _ := a.rows("likes"); likes[0]["author"] != "ben" {
		t.Errorf("likes: %v", likes)
	}
	for name, content := range a.files {
		for _, secret := range []string{"$argon2id$", b.Redis("HGET", "user:1", "auth")} {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("%s contains a secret", name)
			}
		}
	}
	if err := b.Leaving.Export(b.Ctx, 12345, "https://here.example", io.Discard); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("Export of a missing user: %v, want ErrNotFound", err)
	}
}

// Exported mutes and blocks have their expiry. Expired mutes and blocks are left out.
func TestExportOfEnds(t *testing.T) {
	t.Parallel()
	b := socialtest.New(t)
	ada, ben, carl, dora := b.NewUser("ada"), b.NewUser("ben"), b.NewUser("carl"), b.NewUser("dora")
	for _, key := range []string{storage.MutedKey(ada.ID), storage.BlockedKey(ada.ID)} {
		b.Redis("ZADD", key, "+inf", storage.Itoa(ben.ID), "32503680000", storage.Itoa(carl.ID), "1000000000", storage.Itoa(dora.ID))
	}
	var data bytes.Buffer
	if err := b.Leaving.Export(b.Ctx, ada.ID, "https://here.example", &data); err != nil {
		t.Fatal(err)
	}
	a := read(t, data.Bytes())
	for _, name := range []string{"muted", "blocked"} {
		if _, cells := a.rows(name); fmt.Sprint(cells) != "[[ben ] [carl 3000-01-01T00:00:00Z]]" {
			t.Errorf("%s: %v, want ben and carl", name, cells)
		}
	}
}

// The lists of a user with more than one page of entries are complete and in order.
func TestExportOfPages(t *testing.T) {
	t.Parallel()
	b := socialtest.New(t)
	ada := b.NewUser("ada")
	const n = 450
	for i := range n {
		id := string(rune('0'+i/100)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10))
		b.Redis("HSET", "post:9"+id, "user_id", "1", "time", "1700000000", "body", "number "+id)
		b.Redis("ZADD", "profile:1", "9"+id, "9"+id)
		b.Redis("ZADD", "liked:1", "5", "9"+id) // all at the same time
	}
	var data bytes.Buffer
	if err := b.Leaving.Export(b.Ctx, ada.ID, "https://here.example", &data); err != nil {
		t.Fatal(err)
	}
	a := read(t, data.Bytes())
	posts, _ := a.rows("posts")
	likes, _ := a.rows("likes")
	if len(posts) != n || len(likes) != n || posts[n-1]["text"] != "number 449" {
		t.Errorf("%d posts, %d likes, want %d each", len(posts), len(likes), n)
	}
}
