package web_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

// link is a connection whose replies can be delayed, so that invalidation messages are late, as on
// a slow network.
type link struct {
	mu    sync.Mutex
	open  chan struct{} // closed while replies pass
	asked chan struct{} // receives a value for each request
}

// delayed connects to a database through its own link.
func delayed(t *testing.T, db *redistest.Server) (*link, rueidis.Client) {
	t.Helper()
	l := &link{open: make(chan struct{}), asked: make(chan struct{}, 1)}
	close(l.open)
	opt, err := rueidis.ParseURL(db.URL())
	if err != nil {
		t.Fatal(err)
	}
	opt.ForceSingleClient, opt.PipelineMultiplex = true, -1
	dial := opt.DialCtxFn
	opt.DialCtxFn = func(ctx context.Context, to string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
		conn, err := dial(ctx, to, dialer, config)
		return &linked{conn, l}, err
	}
	client, err := rueidis.NewClient(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	t.Cleanup(l.release)
	return l, client
}

// hold delays replies until release.
func (l *link) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = make(chan struct{})
	select {
	case <-l.asked:
	default:
	}
}

func (l *link) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

type linked struct {
	net.Conn
	link *link
}

func (c *linked) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.link.mu.Lock()
	open := c.link.open
	c.link.mu.Unlock()
	<-open
	return n, err
}

func (c *linked) Write(p []byte) (int, error) {
	select {
	case c.link.asked <- struct{}{}:
	default:
	}
	return c.Conn.Write(p)
}

// Until an invalidation message of another machine arrives, a machine may show the old page, except
// to the user who made the change.
func TestOwnPostShowsBeforeInvalidation(t *testing.T) {
	t.Parallel()
	// Invalidation messages name keys only, so on a shared server those of other tests would arrive
	// here.
	db := redistest.Own(t)
	local := on(t, db.Client(t))
	l, client := delayed(t, db)
	remote := on(t, client)
	author := local.signedUp("ada")
	author.send("/post", "status", "the first").want(303)
	author.send("/logout").want(303)
	author.send("/login", "username", "ada", "password", password).want(303)

	remoteAuthor, stranger := &visitor{site: remote, http: author.http}, remote.visitor()
	for _, path := range []string{"/u/ada", "/timeline"} {
		stranger.get(path).want(200, "the first")
	}
	for _, path := range []string{"/home", "/timeline", "/u/ada"} {
		text := "seen at " + path
		l.hold()
		author.send("/post", "status", text).want(303)
		for _, known := range []string{"/u/ada", "/timeline"} {
			stranger.get(known).want(200, "the first").wantNot(text)
		}
		page := make(chan *response)
		go func() { page <- remoteAuthor.get(path) }()
		select {
		case a := <-page:
			t.Fatalf("%s was answered from the cache: %s", path, shorten(a.body))
		case <-l.asked:
			l.release()
		}
		(<-page).want(200, text)
		// The invalidation arrives before the reply, so now all users see the change, within a
		// moment even on the page shared by visitors.
		stranger.get("/u/ada").want(200, text)
		until(t, "the post is on the public timeline", func() bool {
			return strings.Contains(stranger.get("/timeline").want(200).body, text)
		})
	}
}
