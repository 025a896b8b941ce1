package main

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"retwis/internal/redistest"
)

// slowPost is a post whose text has only partly reached the site.
type slowPost struct {
	rest  *io.PipeWriter
	reply chan reply
}

type reply struct {
	status int
	page   string
	err    error
}

// signUpAndBegin signs a user up and starts a post. When it returns, the site is waiting for the
// rest of the post.
func signUpAndBegin(t *testing.T, s *site) slowPost {
	t.Helper()
	if status, page, err := s.post("/register", "username=ada&password=engine-engine&password2=engine-engine"); err != nil || status != http.StatusOK {
		t.Fatalf("sign up: %d %v\n%s", status, err, page)
	}
	reading := make(chan struct{})
	body, rest := io.Pipe()
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got100Continue: func() { close(reading) },
	}), http.MethodPost, s.url+"/post", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Expect", "100-continue")
	client := *s.client
	client.Transport = &http.Transport{ExpectContinueTimeout: time.Hour}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p := slowPost{rest: rest, reply: make(chan reply, 1)}
	go func() {
		status, page, err := read(client.Do(request))
		rest.CloseWithError(io.ErrClosedPipe)
		p.reply <- reply{status, page, err}
	}()
	select {
	case <-reading:
	case r := <-p.reply:
		t.Fatalf("the post was answered before it was sent: %+v", r)
	case <-hung():
		t.Fatal("the site does not read the post")
	}
	return p
}

func serveIn(t *testing.T, dir string) *site {
	t.Helper()
	redistest.Require(t)
	s, err := startSite(dir, append(os.Environ(), "XDG_DATA_HOME="+dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.stop(syscall.SIGKILL) })
	return s
}

// waitForLog waits until the log of the site contains a text.
func (s *site) waitForLog(t *testing.T, text string) {
	t.Helper()
	if err := s.waitFor(func() bool { return strings.Contains(s.err.String(), text) }); err != nil {
		t.Fatalf("the log should say %q: %v", text, err)
	}
}

func TestStopFinishesRequests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serveIn(t, dir)
	post := signUpAndBegin(t, s)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.waitForLog(t, "stopping")
	if _, err := io.WriteString(post.rest, "status=Begun+before+the+end"); err != nil {
		t.Fatal(err)
	}
	post.rest.Close()
	if r := <-post.reply; r.err != nil || r.status != http.StatusSeeOther {
		t.Fatalf("the post that was in flight was answered with %d %v\n%s", r.status, r.err, r.page)
	}
	<-s.ended
	if s.status != nil {
		t.Fatalf("a site that was told to stop ended with %v\n%s", s.status, s.err.String())
	}
	if _, page, err := serveIn(t, dir).get("/u/ada"); err != nil || !strings.Contains(page, "Begun before the end") {
		t.Fatalf("the post is not there: %v\n%s", err, page)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serveIn(t, dir)
	signUpAndBegin(t, s)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.waitForLog(t, "stopping")
	// The program stops catching signals a moment after the first, so another one may be needed.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-tick.C:
			_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
		case <-s.ended:
			ended = true
		}
	}
	// If it had waited for the post until its timeout, it would have an exit code.
	if state, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || state.Signal() != syscall.SIGTERM {
		t.Fatalf("a second signal did not end the site: %v\n%s", s.status, s.err.String())
	}
	if status, _, err := serveIn(t, dir).get("/u/ada"); err != nil || status != http.StatusOK {
		t.Fatalf("the account is not there: %d %v", status, err)
	}
}
