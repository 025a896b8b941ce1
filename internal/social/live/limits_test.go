package live_test

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social/live"
)

func TestSlowReadersAreCut(t *testing.T) {
	t.Parallel()
	p := start(t, redistest.Own(t).URL(), live.Options{SlowReader: 50 * time.Millisecond})
	ada := p.NewUser("ada")
	slow, quick := p.mustOpen(live.Subscription{Page: live.Everyone}), p.mustOpen(live.Subscription{Page: live.Everyone})
	slow.set(func() { slow.stuck = true })
	post := p.Publish(ada, "text")
	p.Eventually("the post on the quick connection", func() bool { return slices.Equal(quick.posts(), []int64{post}) })
	p.Eventually("the slow connection to be closed", slow.isClosed)
	p.Eventually("one connection", func() bool { return p.hub.Connections() == 1 })

	// A reader that pauses for less than SlowReader stays connected until Close.
	other := start(t, redistest.Own(t).URL(), live.Options{SlowReader: time.Minute})
	bob := other.NewUser("bob")
	late := other.mustOpen(live.Subscription{Page: live.Everyone})
	late.set(func() { late.stuck = true })
	quick = other.mustOpen(live.Subscription{Page: live.Everyone})
	other.Publish(bob, "first")
	other.Eventually("the post on the quick connection", func() bool { return len(quick.posts()) == 1 })
	if late.isClosed() || len(late.posts()) != 0 {
		t.Errorf("the paused connection is closed (%t) or got posts %d", late.isClosed(), late.posts())
	}
	other.hub.Close()
	if !late.isClosed() {
		t.Error("the paused connection is open after Close")
	}
}

// A connection counts before it is open, so that concurrent attempts do not exceed the limit.
func TestLimitAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, redistest.Own(t).URL(), live.Options{MaxConnections: 1})
	detach, err := p.hub.Attach(p.Ctx, live.Subscription{}, func() (live.Conn, error) {
		if _, _, err := p.open(live.Subscription{}); !errors.Is(err, live.ErrFull) {
			t.Errorf("second Attach while the first one opens: %v, want ErrFull", err)
		}
		return &conn{closed: make(chan struct{})}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	detach()
	if _, err := p.hub.Attach(p.Ctx, live.Subscription{}, func() (live.Conn, error) { return nil, os.ErrClosed }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Attach of a failing connection: %v, want ErrClosed", err)
	}
	p.mustOpen(live.Subscription{})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	p := start(t, redistest.Own(t).URL(), live.Options{MaxConnections: 6, MaxPerUser: 2, MaxPerAddress: 1})
	ada := p.NewUser("ada")
	public := netip.MustParseAddr("198.51.100.7")
	six := netip.MustParseAddr("2001:db8::1")
	var detach []func()
	for i, attempt := range []struct {
		sub  live.Subscription
		want error
	}{
		{sub: live.Subscription{Viewer: ada, Address: public}},
		{sub: live.Subscription{Viewer: ada, Address: public}},
		{sub: live.Subscription{Viewer: ada, Address: public}, want: live.ErrTooMany}, // per user
		{sub: live.Subscription{Address: public}},
		{sub: live.Subscription{Address: public}, want: live.ErrTooMany}, // per address
		{sub: live.Subscription{Address: six}},
		{sub: live.Subscription{Address: six.Next()}, want: live.ErrTooMany}, // in the same network
		{sub: live.Subscription{Address: netip.MustParseAddr("127.0.0.1")}},
		{sub: live.Subscription{Address: netip.MustParseAddr("127.0.0.1")}}, // a proxy
		{sub: live.Subscription{}, want: live.ErrFull},
	} {
		_, d, err := p.open(attempt.sub)
		if !errors.Is(err, attempt.want) {
			t.Errorf("connection %d: %v, want %v", i, err, attempt.want)
		}
		if err == nil {
			detach = append(detach, d)
		}
	}
	for _, d := range detach {
		d()
		d()
	}
	if n := p.hub.Connections(); n != 0 {
		t.Errorf("%d connections, want 0", n)
	}
	for range 2 {
		p.mustOpen(live.Subscription{Viewer: ada, Address: public})
	}
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	p := start(t, redistest.Own(t).URL(), live.Options{Heartbeat: time.Second})
	ada := p.NewUser("ada")
	c := p.mustOpen(live.Subscription{})
	dead := p.mustOpen(live.Subscription{Page: live.Everyone})
	dead.set(func() { dead.dead = true })
	p.Publish(ada, "text")
	p.Eventually("a heartbeat with the position in the stream", func() bool {
		_, last := c.events("")
		return last != "" && last == newest(p)
	})
	p.Eventually("the dead connection to be removed", func() bool { return p.hub.Connections() == 1 })
	p.hub.Close()
	p.hub.Close()
	if !c.isClosed() || !strings.Contains(c.text.String()[10:], "retry: ") {
		t.Errorf("closed %t, text %q; want a closed connection and a retry delay", c.isClosed(), c.text.String())
	}
	if _, _, err := p.open(live.Subscription{}); !errors.Is(err, live.ErrClosed) {
		t.Errorf("Attach to a closed hub: %v, want ErrClosed", err)
	}
}
