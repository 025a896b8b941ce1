package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/redlock"
)

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for want, opt := range map[string]redlock.Options{
		"Options.TTL is -1s: it cannot be negative":            {TTL: -time.Second},
		"Options.TTL is 1ns: it must be whole milliseconds":    {TTL: 1},
		"Options.TTL is 9ms: it must be whole milliseconds":    {TTL: 9 * time.Millisecond},
		"Options.TTL is 10.5ms: it must be whole milliseconds": {TTL: 10500 * time.Microsecond},
		"Options.NodeTimeout is 1s":                            {TTL: time.Second, NodeTimeout: time.Second},
		"Options.RetryMin is 1s: it must not be more":          {RetryMin: time.Second, RetryMax: time.Millisecond},
		"Options.RetryMax is -1ns":                             {RetryMax: -1},
		"Options.ExtendEvery is 10s":                           {ExtendEvery: 10 * time.Second},
		"Options.MaxExtensions is -1":                          {MaxExtensions: -1},
	} {
		_, err := redlock.Dial([]string{"redis://127.0.0.1:1"}, opt)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", opt, err, want)
		}
	}
}

func TestBadNodes(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	for what, test := range map[string]struct {
		urls []string
		want string
	}{
		"no URLs":         {nil, "no nodes given"},
		"unknown scheme":  {[]string{"http://user:secret@db"}, `unknown scheme "http"`},
		"bad port":        {[]string{"redis://user:secret@db:port"}, "the port is not a number"},
		"bad escape":      {[]string{"redis://user:%secret@db"}, "the password has a %"},
		"parameter":       {[]string{server.URL() + "?timeout=1"}, `unknown parameter "timeout"`},
		"no TLS":          {[]string{"redis://db?ca=x"}, "only valid with TLS"},
		"no file":         {[]string{"rediss://db?ca=/no/such/file"}, "parameter ca"},
		"sentinels":       {[]string{"redis+sentinel://db/main"}, "a single server"},
		"a Cluster":       {[]string{"redis+cluster://db"}, "a single server"},
		"embedded":        {[]string{"embedded:"}, "a single server"},
		"twice, renamed":  {[]string{"redis://db", "valkey://db:6379/1"}, "the same server twice"},
		"twice":           {[]string{server.URL(), server.URL()}, "the same server twice"},
		"twice, other db": {[]string{server.URL(), server.URL() + "?db=1"}, "the same server twice"},
		"too many":        {make([]string, 65), ""},
	} {
		_, err := redlock.Dial(test.urls, redlock.Options{})
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %q, and no password", what, err, test.want)
		}
	}
	first, second := server.Client(t), server.Client(t)
	if _, err := redlock.New([]rueidis.Client{first, second}, redlock.Options{}); err == nil || !strings.Contains(err.Error(), "the same server twice") {
		t.Errorf("two clients of one server: %v", err)
	}
	if _, err := redlock.New([]rueidis.Client{first, nil}, redlock.Options{}); err == nil || !strings.Contains(err.Error(), "node 1 is nil") {
		t.Errorf("a nil client: %v", err)
	}
}

// An even number of servers is allowed: the quorum of four is three.
func TestEvenNumber(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 4)
	m := dial(t, servers, redlock.Options{})
	if status, err := m.Status(t.Context(), ""); err != nil || status.Quorum != 3 || len(status.Servers) != 4 {
		t.Errorf("%+v (%v), want 3 of 4", status, err)
	}
	servers[0].Kill(t)
	unlock(t, lock(t, m, "job"))
	servers[1].Kill(t)
	wait(t, "no quorum", func() bool {
		l, err := m.TryLock(t.Context(), "job")
		if err == nil {
			_ = l.Unlock(t.Context())
		}
		return errors.Is(err, redlock.ErrNoQuorum)
	})
}

func TestBadNames(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	client := server.Client(t)
	m := dial(t, []*redistest.Server{server}, redlock.Options{})
	for want, name := range map[string]string{
		"the name is empty":                "",
		"the name has 1025 bytes":          strings.Repeat("x", 1025),
		"names that begin with \"redlock:": "redlock:boot",
	} {
		if _, err := m.Lock(t.Context(), name); !errors.Is(err, redlock.ErrName) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.10q: %v; want ErrName, and %q", name, err, want)
		}
	}
	for _, name := range []string{strings.Repeat("x", 1024), "a b", "{a}b", "{}", "a}b", "\x00\xff", "é"} {
		unlock(t, lock(t, m, name))
	}
	client.Do(t.Context(), client.B().Rpush().Key("list").Element("1", "2").Build())
	if _, err := m.Lock(t.Context(), "list"); !errors.Is(err, redlock.ErrNotLock) {
		t.Errorf("Lock of a list: %v; want ErrNotLock", err)
	}
	if _, err := m.TryLock(t.Context(), "list"); !errors.Is(err, redlock.ErrNotLock) {
		t.Errorf("TryLock of a list: %v; want ErrNotLock", err)
	}
	if n, err := client.Do(t.Context(), client.B().Llen().Key("list").Build()).AsInt64(); n != 2 {
		t.Errorf("the list has %d elements (%v), want 2", n, err)
	}
}

func TestContextDoneAndClose(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	m := dial(t, []*redistest.Server{server}, redlock.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Lock(ctx, "job"); !errors.Is(err, context.Canceled) {
		t.Errorf("Lock with a canceled context: %v; want Canceled", err)
	}
	l := lock(t, m, "job")
	other := dial(t, []*redistest.Server{server}, redlock.Options{})
	ended := make(chan error)
	for _, waiter := range []*redlock.Manager{m, other} { // in the local queue, and at the server
		go func() {
			_, err := waiter.Lock(context.Background(), "job")
			ended <- err
		}()
	}
	awaitWaiters(t, m, "job", 1)
	closeErr := m.Close()
	if err := errors.Join(closeErr, other.Close()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-ended; !errors.Is(err, redlock.ErrClosed) {
			t.Errorf("Lock during Close: %v; want ErrClosed", err)
		}
	}
	if _, err := m.TryLock(t.Context(), "job"); !errors.Is(err, redlock.ErrClosed) {
		t.Errorf("TryLock after Close: %v; want ErrClosed", err)
	}
	if err := l.Unlock(t.Context()); err == nil {
		t.Error("Unlock succeeded after Close")
	}
}
