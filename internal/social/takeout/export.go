package takeout

import (
	"archive/zip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/reply"
	"retwis/internal/social/auth"
	"retwis/internal/social/email"
	"retwis/internal/social/media"
	"retwis/internal/social/storage"
)

//go:embed README.txt
var readme string

// ErrNoUser reports that there is no such user.
var ErrNoUser = errors.New("social: no such user")

// table is a list in the archive.
type table struct {
	name    string
	columns []string
	// rows calls yield with each row: one value per column, which is an int64, a string, a
	// time.Time (the zero time is written as none) or a []string.
	rows func(ctx context.Context, yield func(row ...any) error) error
}

// exporter writes the archive of one user.
type exporter struct {
	client  rueidis.Client
	follows storage.Follows
	uid     int64
	user    map[string]string
	store   *media.Store
	site    string
	now     time.Time
}

// Write writes the archive of a user. site is the address of the site, such as https://example.com;
// if it is empty, the addresses of posts are paths. If there is no such user, it returns ErrNoUser
// before writing anything. After any other error, w contains an incomplete archive, which programs
// cannot open.
func Write(ctx context.Context, client rueidis.Client, store *media.Store, uid int64, site string, w io.Writer) error {
	user, err := client.Do(ctx, client.B().Hgetall().Key(storage.UserKey(uid)).Build()).AsStrMap()
	if err != nil {
		return fmt.Errorf("social: export user %d: %w", uid, err)
	}
	if user["username"] == "" || user["standing"] == storage.Closed {
		return ErrNoUser
	}
	e := &exporter{client: client, follows: storage.NewFollows(client), uid: uid, user: user, store: store, site: site, now: time.Now().UTC()}
	if err := e.write(ctx, zip.NewWriter(w)); err != nil {
		return fmt.Errorf("social: export user %d: %w", uid, err)
	}
	return nil
}

func (e *exporter) write(ctx context.Context, archive *zip.Writer) error {
	create := func(name string) (io.Writer, error) {
		return archive.CreateHeader(&zip.FileHeader{Name: "retwis/" + name, Method: zip.Deflate, Modified: e.now})
	}
	file, err := create("README.txt")
	if err != nil {
		return err
	}
	text := strings.NewReplacer("NAME", e.user["username"], "TIME", e.now.Format("2 January 2006, 15:04 UTC")).Replace(readme)
	if _, err := io.WriteString(file, text); err != nil {
		return err
	}
	for _, t := range e.tables() {
		if file, err = create(t.name + ".json"); err == nil {
			err = writeJSON(ctx, file, t)
		}
		if err != nil {
			return fmt.Errorf("%s.json: %w", t.name, err)
		}
		if file, err = create(t.name + ".csv"); err == nil {
			err = writeCSV(ctx, file, t)
		}
		if err != nil {
			return fmt.Errorf("%s.csv: %w", t.name, err)
		}
	}
	if err := e.files(ctx, create); err != nil {
		return err
	}
	return archive.Close()
}

// tables returns the lists of the archive; README.txt describes them.
func (e *exporter) tables() []table {
	counts := []string{"replies", "reposts", "likes"}
	return []table{
		{"profile", []string{"id", "username", "display_name", "joined", "bio", "links", "pinned_post", "role", "notifications_off", "email"}, e.profile},
		{"posts", append([]string{"id", "time", "text", "edited"}, counts...), e.posts},
		{"replies", append([]string{"id", "time", "text", "edited", "in_reply_to", "conversation"}, counts...), e.replies},
		{"reposts", []string{"id", "time", "post", "author", "address"}, e.reposts},
		{"earlier_texts", []string{"post", "replaced", "text"}, e.edits},
		{"likes", []string{"post", "author", "time", "address"}, e.marked(storage.LikedPrefix)},
		{"bookmarks", []string{"post", "author", "time", "address"}, e.marked(storage.BookmarksPrefix)},
		{"following", []string{"username", "since"}, e.people(storage.FollowingPrefix)},
		{"followers", []string{"username", "since"}, e.people(storage.FollowersPrefix)},
		{"muted", []string{"username", "until"}, e.unexpired(storage.MutedPrefix)},
		{"blocked", []string{"username", "until"}, e.unexpired(storage.BlockedPrefix)},
		{"not_interested", []string{"username", "since"}, e.people(storage.DismissedPrefix)},
		{"lists", []string{"name", "created", "left_out_of_home", "members"}, e.userLists},
		{"saved_searches", []string{"query", "created"}, e.searches},
		{"pictures", []string{"file", "uploaded", "used_by", "description"}, e.pictures},
		{"followed_tags", []string{"tag", "since"}, e.tags},
		{"sessions", []string{"number", "began", "last_used", "device"}, e.sessions},
		{"login_places", []string{"address", "last_log_in"}, e.loginPlaces},
	}
}

func (e *exporter) profile(ctx context.Context, yield func(row ...any) error) error {
	role := e.user["role"]
	if role == "" {
		role = "member"
	}
	var pinned any
	if id, ok := storage.ParseID(e.user["pinned"]); ok {
		pinned = id
	}
	address, err := email.NewStore(e.client).Get(ctx, e.uid)
	if err != nil && !storage.IsDamaged(err) {
		return err
	}
	return yield(e.uid, e.user["username"], e.user["display_name"], storage.ParseTime(e.user["joined"]), e.user["bio"],
		strings.Fields(e.user["links"]), pinned, role, exportSplit(e.user["notify_off"]), address.Confirmed())
}

// sessions lists the open sessions, without their secrets.
func (e *exporter) sessions(ctx context.Context, yield func(row ...any) error) error {
	known, err := reply.OrEmpty(e.client.Do(ctx, e.client.B().Hgetall().Key(storage.SessionsKey(e.uid)).Build()).AsStrMap())
	if err != nil {
		return err
	}
	for i, token := range exportSplit(e.user["auth"]) {
		entry := auth.ParseSession(token, known[token])
		if err := yield(int64(i+1), entry.Created, entry.Used, entry.Device); err != nil {
			return err
		}
	}
	return nil
}

func exportSplit(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// names returns the usernames of users, empty if unknown.
func (e *exporter) names(ctx context.Context, ids []string) ([]string, error) {
	return reads.Field(ctx, e.client, ids, func(id string) string { return storage.UserPrefix + id }, "username")
}
