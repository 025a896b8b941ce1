// Command upgrade replaces two processes of a site by those of another version, one after
// the other, while clients read, post, like and follow, and counts error pages. Clients
// have no proxy before the processes: one that refuses a connection leads them to the
// other.
//
//	upgrade OLD-PROGRAM NEW-PROGRAM REDIS-URL
//
// It ends with exit code 1 after any status of 500 or more. `make upgrade-test` builds the
// programs.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	people   = 8
	password = "engine-engine-7"
	// phase is how long all processes are of the same versions.
	phase = 3 * time.Second
	// pause is how long a person reads between two requests.
	pause = 20 * time.Millisecond
)

var ports = [...]string{"18471", "18472"}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: upgrade OLD-PROGRAM NEW-PROGRAM REDIS-URL")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "upgrade:", err)
		os.Exit(1)
	}
}

func run(before, after, redis string) error {
	var processes [len(ports)]*exec.Cmd
	defer func() {
		for _, p := range processes {
			end(p)
		}
	}()
	for i := range ports {
		p, err := start(before, ports[i], redis)
		if err != nil {
			return err
		}
		processes[i] = p
	}
	t := &traffic{answers: map[string]int{}}
	var clients sync.WaitGroup
	for n := range people {
		clients.Go(func() { t.person(fmt.Sprintf("up%d", n)) })
	}
	time.Sleep(phase)
	var failed error
	for i := range ports {
		end(processes[i])
		if processes[i], failed = start(after, ports[i], redis); failed != nil {
			break
		}
		time.Sleep(phase)
	}
	t.stop.Store(true)
	clients.Wait()
	fmt.Printf("%d requests, %d connections refused and tried elsewhere, %d cut: %v\n", t.sent.Load(), t.refused.Load(), t.cut.Load(), t.answers)
	if n := t.errors.Load(); n > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d error pages", n))
	}
	return failed
}

// start runs a process and waits until it listens.
func start(program, port, redis string) (*exec.Cmd, error) {
	p := exec.Command(program, "serve", "--addr", "127.0.0.1:"+port, "--redis", redis, "--log-level", "warn")
	p.Stderr = os.Stderr
	out, err := p.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.Start(); err != nil {
		return nil, err
	}
	line := make([]byte, 256)
	if n, _ := out.Read(line); !bytes.Contains(line[:n], []byte("listening on")) {
		return p, fmt.Errorf("%s does not serve", program)
	}
	return p, nil
}

// end stops a process as an upgrade does.
func end(p *exec.Cmd) {
	if p != nil && p.ProcessState == nil {
		_ = p.Process.Signal(syscall.SIGTERM)
		_ = p.Wait()
	}
}

type traffic struct {
	stop                       atomic.Bool
	sent, refused, cut, errors atomic.Int64

	mu      sync.Mutex
	answers map[string]int
}

var likeForm = regexp.MustCompile(`action="(/u/\w+/\d+/like)"`)

// person registers, then does one thing after another.
func (t *traffic) person(name string) {
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar, Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	t.send(client, "/register", url.Values{"username": {name}, "password": {password}, "password2": {password}})
	like := "/u/up0/1/like"
	for n := 0; !t.stop.Load(); n++ {
		other := fmt.Sprintf("/u/up%d", rand.IntN(people))
		switch n % 6 {
		case 0:
			t.send(client, "/post", url.Values{"status": {fmt.Sprintf("post %d of %s", n, name)}})
		case 1:
			if found := likeForm.FindStringSubmatch(t.send(client, "/home", nil)); found != nil {
				like = found[1]
			}
		case 2:
			t.send(client, "/timeline", nil)
		case 3:
			t.send(client, like, url.Values{})
		case 4:
			t.send(client, other+"/follow", url.Values{})
		case 5:
			t.send(client, other, nil)
		}
		time.Sleep(pause)
	}
}

// send sends a form, or gets a page. Only a refused connection leads to the other process.
func (t *traffic) send(client *http.Client, path string, form url.Values) string {
	first := rand.IntN(len(ports))
	for try := range ports {
		method, body := http.MethodGet, io.Reader(http.NoBody)
		if form != nil {
			method, body = http.MethodPost, strings.NewReader(form.Encode())
		}
		req, err := http.NewRequest(method, "http://127.0.0.1:"+ports[(first+try)%len(ports)]+path, body)
		if err != nil {
			t.count("a bad request: " + err.Error())
			return ""
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		t.sent.Add(1)
		res, err := client.Do(req)
		if errors.Is(err, syscall.ECONNREFUSED) {
			t.refused.Add(1)
			continue
		}
		if err != nil { // the process has closed an idle connection in the same moment
			t.cut.Add(1)
			return ""
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.cut.Add(1)
		}
		if res.StatusCode >= 500 {
			t.errors.Add(1)
		}
		t.count(fmt.Sprint(method, " ", res.StatusCode))
		return string(text)
	}
	t.cut.Add(1)
	return ""
}

func (t *traffic) count(answer string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers[answer]++
}
