package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// hung returns a channel that is closed when nine tenths of the timeout of go test have passed.
// This leaves time to report what a test waited for. Tests wait without any other limit.
var hung = sync.OnceValue(func() <-chan struct{} {
	expired := make(chan struct{})
	limit, ok := flag.Lookup("test.timeout").Value.(flag.Getter).Get().(time.Duration)
	if ok && limit > 0 {
		time.AfterFunc(limit-limit/10, func() { close(expired) })
	}
	return expired
})

// site is a running "retwis serve".
type site struct {
	url    string // http://127.0.0.1:PORT, https://…, or unix:PATH
	cmd    *exec.Cmd
	out    output
	err    output
	ended  chan struct{}
	status error // valid after ended is closed
	client *http.Client
}

// startSite runs "retwis serve" in a directory, on a free port. It returns when the site is
// listening. If the site ends before that, the error has its output.
func startSite(dir string, env []string, args ...string) (*site, error) {
	cmd := exec.Command("retwis", append([]string{"serve"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(env, "RETWIS_ADDR=127.0.0.1:0")
	return startCommand(cmd)
}

// startCommand is like startSite but runs a given command.
func startCommand(cmd *exec.Cmd) (*site, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	s := &site{cmd: cmd, ended: make(chan struct{}), client: &http.Client{Jar: jar}}
	s.out.seen, s.err.seen = make(chan struct{}, 1), make(chan struct{}, 1)
	cmd.Stdout, cmd.Stderr = &s.out, &s.err
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		s.status = cmd.Wait()
		close(s.ended)
	}()
	return s, s.waitUntilListening()
}

var listening = regexp.MustCompile(`(?m)^retwis: listening on ((?:https?://|unix:)\S+), data in .+\n`)

func (s *site) waitUntilListening() error {
	return s.waitFor(func() bool {
		found := listening.FindStringSubmatch(s.out.String())
		if found != nil {
			s.url = found[1]
		}
		return found != nil
	})
}

// waitFor waits until done returns true.
func (s *site) waitFor(done func() bool) error {
	for !done() {
		select {
		case <-s.out.seen:
		case <-s.err.seen:
		case <-s.ended:
			return fmt.Errorf("retwis serve ended: %w\n%s%s", s.status, s.out.String(), s.err.String())
		case <-hung():
			return errors.Join(fmt.Errorf("retwis serve did not print the expected output; it printed\n%s%s", s.out.String(), s.err.String()),
				s.stop(syscall.SIGKILL))
		}
	}
	return nil
}

// stop sends a signal and waits until the site ends. It returns an error unless the exit code is 0
// or the signal is SIGKILL.
func (s *site) stop(signal syscall.Signal) error {
	if err := s.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.ended:
	case <-hung():
		return s.dump()
	}
	if s.status != nil && signal != syscall.SIGKILL {
		return fmt.Errorf("retwis serve: %w\n%s", s.status, s.err.String())
	}
	return nil
}

// dump kills a site that does not end and prints its goroutines.
func (s *site) dump() error {
	err := s.cmd.Process.Signal(syscall.SIGQUIT)
	<-s.ended
	return errors.Join(fmt.Errorf("retwis serve does not end\n%s", s.err.String()), err)
}

// get returns the status and the page at a path, as a browser with cookies sees it.
func (s *site) get(path string) (int, string, error) { return read(s.client.Get(s.url + path)) }

// post sends an encoded form and returns the status and the page after redirects.
func (s *site) post(path, form string) (int, string, error) {
	return read(s.client.Post(s.url+path, "application/x-www-form-urlencoded", strings.NewReader(form)))
}

func read(res *http.Response, err error) (int, string, error) {
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

// output collects what a process writes and notifies a waiting reader.
type output struct {
	mu   sync.Mutex
	text strings.Builder
	seen chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.seen <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
