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

// slowPost is a post request of which the site has received only the header.
type slowPost struct {
	body  *io.PipeWriter
	reply chan reply
}

type reply struct {
	status int
	page   string
	err    error
}

// signUpAndBegin signs a user up and starts a post. When signUpAndBegin returns, the site is
// waiting for the body of the post.
func signUpAndBegin(t *testing.T, s *site) slowPost {
	t.Helper()
	if status, page, err := s.post("/register", "username=ada&password=engine-engine&password2=engine-engine"); err != nil || status != http.StatusOK {
		t.Fatalf("sign up: %d %v\n%s", status, err, page)
	}
	reading := make(chan struct{})
	reader, writer := io.Pipe()
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got100Continue: func() { close(reading) },
	}), http.MethodPost, s.url+"/post", reader)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Expect", "100-continue")
	client := *s.client
	client.Transport = &http.Transport{ExpectContinueTimeout: time.Hour}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p := slowPost{body: writer, reply: make(chan reply, 1)}
	go func() {
		status, page, err := read(client.Do(request))
		writer.CloseWithError(io.ErrClosedPipe)
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
		t.Fatalf("the log lacks %q: %v", text, err)
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
	if _, err := io.WriteString(post.body, "status=Begun+before+the+end"); err != nil {
		t.Fatal(err)
	}
	post.body.Close()
	if r := <-post.reply; r.err != nil || r.status != http.StatusSeeOther {
		t.Fatalf("the post in flight was answered with %d %v, want 303\n%s", r.status, r.err, r.page)
	}
	<-s.ended
	if s.status != nil {
		t.Fatalf("after SIGTERM the site ended with %v\n%s", s.status, s.err.String())
	}
	if _, page, err := serveIn(t, dir).get("/u/ada"); err != nil || !strings.Contains(page, "Begun before the end") {
		t.Fatalf("the post is missing: %v\n%s", err, page)
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
	// The program stops catching signals shortly after the first one, so several may be needed.
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
	// If the site had waited for the post until its timeout, the site would have an exit code.
	if state, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || state.Signal() != syscall.SIGTERM {
		t.Fatalf("a second signal did not end the site: %v\n%s", s.status, s.err.String())
	}
	if status, _, err := serveIn(t, dir).get("/u/ada"); err != nil || status != http.StatusOK {
		t.Fatalf("the account is missing: %d %v", status, err)
	}
}
