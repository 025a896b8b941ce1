package limits_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social/limits"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func open(t *testing.T, client rueidis.Client, changes ...string) *limits.Limits {
	t.Helper()
	config := limits.Off()
	for _, change := range changes {
		if err := config.Set(change); err != nil {
			t.Fatal(err)
		}
	}
	l, err := limits.New(client, config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// allowed reports whether err is nil. Any other error must be a limit with a positive RetryAfter.
func allowed(t *testing.T, err error) bool {
	t.Helper()
	var limit *limits.Error
	if err != nil && !errors.As(err, &limit) {
		t.Fatal(err)
	}
	if limit != nil && limit.RetryAfter <= 0 {
		t.Errorf("RetryAfter is not positive: %+v", limit)
	}
	return err == nil
}

func clients(t *testing.T) map[string]rueidis.Client {
	t.Helper()
	return map[string]rueidis.Client{"server": redistest.DB(t).Client(t), "cluster": redistest.Cluster(t, 3).Client(t)}
}

// An event is allowed if the limits of its account and its address allow the event. The event
// counts for both limits or for neither, also on a Cluster.
func TestTake(t *testing.T) {
	t.Parallel()
	home, away := netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("203.0.113.2")
	for name, client := range clients(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t, client, "post=3/1h,4/1d", "post-address=5/1h")
			take := func(account int64, from netip.Addr) bool {
				t.Helper()
				return allowed(t, l.Take(t.Context(), limits.Post, limits.By{Account: account, Address: from}))
			}
			for i := range 3 {
				if !take(7, home) {
					t.Fatalf("post %d was refused", i)
				}
			}
			if take(7, home) || take(7, away) {
				t.Error("the fourth post within the hour was allowed")
			}
			got := []bool{take(8, home), take(8, home), take(8, home), take(8, away)}
			if !slices.Equal(got, []bool{true, true, false, true}) {
				t.Errorf("posts of another account: allowed %v, want the third to exceed the limit of the address", got)
			}
			if n := l.Refused(limits.Post); n != 3 {
				t.Errorf("Refused = %d, want 3", n)
			}
			l.Return(t.Context(), limits.Post, limits.By{Account: 7, Address: home})
			if !take(7, home) || take(7, home) {
				t.Error("after Return, not exactly one post was allowed")
			}
			if !allowed(t, l.Take(t.Context(), limits.Reply, limits.By{Account: 7, Address: home})) {
				t.Error("Take refused an event without a limit")
			}
			// Many people share an unknown address, so its limit is higher.
			for i := range 100 {
				if !take(int64(100+i), netip.Addr{}) {
					t.Fatalf("unknown address: post %d was refused", i)
				}
			}
			if take(999, netip.Addr{}) {
				t.Error("an unknown address has no limit")
			}
		})
	}
}

// Concurrent requests of one account are allowed exactly up to the limit.
func TestTakeExactly(t *testing.T) {
	t.Parallel()
	l := open(t, redistest.DB(t).Client(t), "post=20/1d", "post-address=500/1d")
	var granted atomic.Int64
	var wg sync.WaitGroup
	for i := range 64 {
		from := netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})
		wg.Go(func() {
			for range 5 {
				err := l.Take(t.Context(), limits.Post, limits.By{Account: 7, Address: from})
				if err == nil {
					granted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if granted.Load() != 20 {
		t.Errorf("%d of 320 posts were allowed, want 20", granted.Load())
	}
}

// The default limits allow a small burst of each event, and few password guesses.
func TestDefaults(t *testing.T) {
	t.Parallel()
	l, err := limits.New(redistest.DB(t).Client(t), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	by := limits.By{Account: 7, Address: netip.MustParseAddr("203.0.113.1")}
	for event, want := range map[limits.Event]int{limits.Post: 30, limits.SignUp: 5, limits.Like: 120, limits.Report: 10, limits.Reset: 10, limits.Password: 5} {
		n := 0
		for range 200 {
			if allowed(t, l.Take(t.Context(), event, by)) {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d events were allowed at once, want %d", event, n, want)
		}
	}
	guesses := 0
	unknown := func() (bool, error) { return false, nil }
	for range 300 {
		if allowed(t, l.AllowLogin(t.Context(), "ada", by.Address, unknown)) {
			guesses++
		}
	}
	if guesses != 5 {
		t.Errorf("%d of 300 guesses were allowed at once, want 5", guesses)
	}
}

// Take returns the error of a canceled context, and allows all events while the server is
// unavailable.
func TestFaults(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	l := open(t, server.Client(t), "post=1/1d")
	by := limits.By{Account: 7}
	if !allowed(t, l.Take(t.Context(), limits.Post, by)) || allowed(t, l.Take(t.Context(), limits.Post, by)) {
		t.Fatal("Take did not allow exactly one post")
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Take(canceled, limits.Post, by); !errors.Is(err, context.Canceled) {
		t.Errorf("Take with a canceled context: %v", err)
	}
	server.Kill(t)
	if err := l.Take(t.Context(), limits.Post, by); err != nil || l.Unchecked() != 1 {
		t.Errorf("Take without a server: %v, want nil; Unchecked = %d, want 1", err, l.Unchecked())
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"203.0.113.7": "203.0.113.7", "::ffff:203.0.113.7": "203.0.113.7",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := limits.Place(netip.MustParseAddr(addr)); got != want {
			t.Errorf("Place(%s) = %s, want %s", addr, got, want)
		}
	}
	if got := limits.Place(netip.Addr{}); got != "unknown" {
		t.Errorf("Place of no address = %s, want unknown", got)
	}
	if limits.Subject("ada_1") != "ada_1" || strings.ContainsAny(limits.Subject("a}{b@1.2.3.4"), "{}@") || len(limits.Subject(strings.Repeat("x", 10_000))) > 40 {
		t.Error("Subject returned text that is not safe in a key")
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	c := limits.Config{}
	for _, good := range []string{"post=60/10m,500/1d", "like=off", "reply=5/s:2"} {
		if err := c.Set(good); err != nil {
			t.Errorf("Set(%q): %v", good, err)
		}
	}
	shown := map[string]string{}
	for _, r := range c.Rules() {
		shown[r.Name] = r.Limits
	}
	if shown["post"] != "60/10m,500/1d" || shown["like"] != "off" || shown["reply"] != "5/1s:2" || shown["follow"] != "60/10m,600/1d" {
		t.Errorf("Rules = %v", shown)
	}
	for text, want := range map[string]string{
		"": "write it like", "post": "write it like", "posts=1/m": `unknown limit "posts"`, "post=": "write it like",
		"post=1/m,2/60s": "same period", "post=0/m": "Rate", "post=1/1s,1/2s,1/3s,1/4s,1/5s,1/6s": "at most 5", "post=1/m,off": "write it like",
	} {
		if err := c.Set(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Set(%q): %v, want %q", text, err, want)
		}
	}
	if _, err := limits.New(redistest.DB(t).Client(t), limits.Config{"no such": nil}, slog.Default()); err == nil {
		t.Error("New accepted an unknown limit")
	}
	if err := c.Set("off"); err != nil {
		t.Error(err)
	}
	for _, r := range c.Rules() {
		if r.Limits != "off" {
			t.Errorf("after Set(off), the limit %s is %s", r.Name, r.Limits)
		}
	}
}

// docs/retwis.md lists the default limits.
func TestDocument(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/retwis.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range limits.Config(nil).Rules() {
		line := fmt.Sprintf("| `%s` | `%s` | %s |\n", r.Name, strings.ReplaceAll(r.Limits, ",", "`, `"), r.By)
		if !strings.Contains(string(page), line) {
			t.Errorf("docs/retwis.md lacks the line %s", line)
		}
	}
	if text := (&limits.Error{Event: limits.Post, RetryAfter: time.Second}).Error(); !strings.Contains(text, "post") {
		t.Errorf("Error() = %q, want the event", text)
	}
}
