package seed_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/seed"

	"retwis/internal/app"
	"retwis/internal/social/check"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func service(t *testing.T) (*app.App, rueidis.Client) {
	t.Helper()
	db := redistest.DB(t)
	client := db.Client(t)
	server, err := rueidis.ParseURL(db.URL())
	if err != nil {
		t.Fatal(err)
	}
	svc, err := app.New(client, app.Options{Server: &server})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { svc.Close() })
	return svc, client
}

var small = seed.Options{
	Users: 120, Follows: 2000, Posts: 700, Seed: 7, Password: "seeded seeded",
	Until: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC),
}

func TestRun(t *testing.T) {
	t.Parallel()
	svc, _ := service(t)
	opt := small
	var last, total int
	opt.Progress = func(done, all int) {
		if done < last {
			t.Errorf("progress went back from %d to %d", last, done)
		}
		last, total = done, all
	}
	result, err := seed.Run(t.Context(), svc, opt)
	if err != nil {
		t.Fatal(err)
	}
	if last != total || total != 2820 {
		t.Errorf("progress ended at %d of %d, want 2820 of 2820", last, total)
	}
	checked, err := check.Verify(t.Context(), svc, check.Options{Report: func(p check.Problem) { t.Error(p) }})
	if err != nil || checked.Users != 120 || checked.Follows != 2000 || checked.Posts != 700 || checked.Leftovers != 0 {
		t.Errorf("check = %+v, %v", checked, err)
	}
	if _, err := svc.Auth.Authenticate(t.Context(), result.Name, result.Password); err != nil {
		t.Errorf("log in as %s: %v", result.Name, err)
	}
	// A few users have very many followers: the top tenth has at least as many as the bottom half.
	var followers []int64
	for uid := int64(1); uid <= 120; uid++ {
		counts, err := svc.Follows.Counts(t.Context(), uid)
		if err != nil {
			t.Fatal(err)
		}
		followers = append(followers, counts.Followers)
	}
	slices.Sort(followers)
	if top, bottom := sum(followers[108:]), sum(followers[:60]); top < bottom {
		t.Errorf("the top tenth has %d followers, the bottom half %d", top, bottom)
	}
	// A second run adds another network under other names.
	second, err := seed.Run(t.Context(), svc, small)
	if err != nil || second.Name == result.Name {
		t.Errorf("second Run = %+v, %v; want another name", second, err)
	}
	checked, err = check.Verify(t.Context(), svc, check.Options{Report: func(p check.Problem) { t.Error(p) }})
	if err != nil || checked.Users != 240 || checked.Follows != 4000 || checked.Leftovers != 0 {
		t.Errorf("check = %+v, %v", checked, err)
	}
}

// Run succeeds although the server restarts and takes a while to load its data.
func TestRunThroughRestart(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "appendonly yes", "appendfsync always", "aof-use-rdb-preamble no", "key-load-delay 1")
	option, err := rueidis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	option.ForceSingleClient = true
	for name, direct := range map[string]*rueidis.ClientOption{"by mass insertion": &option, "through the client": nil} {
		svc, err := app.New(server.Client(t), app.Options{Server: direct, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer svc.Close()
		opt := seed.Options{Users: 200, Follows: 1000, Posts: 900, Seed: 7, Password: "seeded seeded"}
		halfway, restarted := make(chan struct{}), make(chan struct{})
		var once sync.Once
		opt.Progress = func(done, total int) {
			if done > total/2 {
				once.Do(func() { close(halfway) })
			}
		}
		go func() {
			defer close(restarted)
			<-halfway
			server.Restart(t, true)
		}()
		if _, err := seed.Run(t.Context(), svc, opt); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		once.Do(func() { close(halfway) })
		<-restarted
		if checked, err := check.Verify(t.Context(), svc, check.Options{Report: func(p check.Problem) { t.Error(p) }}); err != nil || checked.Problems > 0 {
			t.Errorf("%s: check = %+v, %v", name, checked, err)
		}
	}
}

func sum(numbers []int64) (total int64) {
	for _, n := range numbers {
		total += n
	}
	return total
}

func TestSameSeedSameNetwork(t *testing.T) {
	t.Parallel()
	fingerprints := map[string]bool{}
	for range 2 {
		svc, client := service(t)
		if _, err := seed.Run(t.Context(), svc, small); err != nil {
			t.Fatal(err)
		}
		fingerprints[fingerprint(t, client)] = true
	}
	other, client := service(t)
	opt := small
	opt.Seed++
	if _, err := seed.Run(t.Context(), other, opt); err != nil {
		t.Fatal(err)
	}
	fingerprints[fingerprint(t, client)] = true
	if len(fingerprints) != 2 {
		t.Errorf("two seeds created %d different networks, want 2", len(fingerprints))
	}
}

// fingerprint returns a digest of all keys except the users, whose password hashes differ in each
// run.
func fingerprint(t *testing.T, client rueidis.Client) string {
	t.Helper()
	keys, err := client.Do(t.Context(), client.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	sum := sha256.New()
	for _, key := range keys {
		if strings.HasPrefix(key, "user:") {
			continue
		}
		dump, err := client.Do(t.Context(), client.B().Dump().Key(key).Build()).ToString()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "%q %q\n", key, dump)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

func TestDemo(t *testing.T) {
	t.Parallel()
	svc, _ := service(t)
	for range 2 {
		login, err := seed.Demo(t.Context(), svc)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := svc.Auth.Authenticate(t.Context(), login.Name, login.Password); err != nil {
			t.Error(err)
		}
	}
	me, err := svc.Users.UserByName(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	v, err := svc.Viewers.Get(t.Context(), me)
	if err != nil {
		t.Fatal(err)
	}
	if unread, err := svc.Notifications.Unread(t.Context(), v); err != nil || unread < 5 {
		t.Errorf("%d unread notifications, %v; want at least 5", unread, err)
	}
	result, err := check.Verify(t.Context(), svc, check.Options{Report: func(p check.Problem) { t.Error(p) }})
	if err != nil || result.Problems+result.Leftovers > 0 {
		t.Errorf("check = %+v, %v", result, err)
	}
	if replies, err := svc.Lists.ProfileReplies(t.Context(), v, me.ID, 0, 10); err != nil || len(replies.Items) == 0 {
		t.Errorf("replies of the demo user: %+v, %v; want at least one", replies, err)
	}
	foreign, _ := service(t)
	if _, err := foreign.Accounts.Register(t.Context(), "somebody", "some password"); err != nil {
		t.Fatal(err)
	}
	if _, err := seed.Demo(t.Context(), foreign); !errors.Is(err, seed.ErrNotEmpty) {
		t.Errorf("Demo in a database with other data: %v, want ErrNotEmpty", err)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	svc, _ := service(t)
	for want, opt := range map[string]seed.Options{
		"users":   {Users: 0},
		"follows": {Users: 3, Follows: 7},
		"posts":   {Users: 3, Posts: -1},
	} {
		if _, err := seed.Run(t.Context(), svc, opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error about %s", opt, err, want)
		}
	}
	// Every user can follow every other user.
	if _, err := seed.Run(t.Context(), svc, seed.Options{Users: 20, Follows: 380, Posts: 0}); err != nil {
		t.Error(err)
	}
}
