//go:build long

// Command upgrade replaces two processes of a site by those of another version, one after
// the other, while clients read, post, like and follow, and counts error pages. Clients
// have no proxy before the processes: one that refuses a connection leads them to the
// other. They also post pictures, which an old version may not know, and edit these posts:
// in the end each has its picture.
//
//	upgrade OLD-PROGRAM NEW-PROGRAM REDIS-URL PICTURES-DIRECTORY
//
// It ends with exit code 1 after any status of 500 or more, or a lost picture.
// `make upgrade-test` builds the programs.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"mime/multipart"
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
	people   = 5 // a site lets no more sign up in an hour from an address
	password = "engine-engine-7"
	// phase is how long all processes are of the same versions.
	phase = 3 * time.Second
	// pause is how long a person reads between two requests.
	pause = 20 * time.Millisecond
)

var ports = [...]string{"18471", "18472"}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: upgrade OLD-PROGRAM NEW-PROGRAM REDIS-URL PICTURES-DIRECTORY")
		os.Exit(2)
	}
	// An old version does not know the flag.
	if err := errors.Join(os.Setenv("RETWIS_MEDIA", os.Args[4]), run(os.Args[1], os.Args[2], os.Args[3])); err != nil {
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
	if failed == nil {
		failed = t.pictures()
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
	posted  []string // the paths of posts with pictures
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
			if n%12 == 0 {
				t.postPicture(client, name, n)
				break
			}
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

// postPicture posts a picture, and edits the post afterwards.
func (t *traffic) postPicture(client *http.Client, name string, n int) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	text := fmt.Sprintf("picture %d of %s", n, name)
	_ = form.WriteField("status", text)
	file, _ := form.CreateFormFile("file1", "photo.png")
	_ = png.Encode(file, image.NewGray(image.Rect(0, 0, 30, 20)))
	_ = form.Close()
	status, _ := t.request(client, http.MethodPost, "/post", form.FormDataContentType(), body.Bytes())
	if status != http.StatusSeeOther {
		return // this process does not know pictures
	}
	own := regexp.MustCompile(`/u/` + name + `/\d+`).FindString(t.send(client, "/u/"+name, nil))
	t.mu.Lock()
	t.posted = append(t.posted, own)
	t.mu.Unlock()
	t.send(client, own+"/edit", url.Values{"status": {text + ", edited"}})
}

var picturePath = regexp.MustCompile(`src="(/media/[^"]+)"`)

// pictures checks that the posts with pictures have them.
func (t *traffic) pictures() error {
	if !strings.Contains(t.send(http.DefaultClient, "/u/up0", nil), `src="/drawn/up0.svg`) {
		return errors.New("somebody of before has no drawn picture")
	}
	lost := 0
	for _, post := range t.posted {
		found := picturePath.FindStringSubmatch(t.send(http.DefaultClient, post, nil))
		if found == nil {
			lost++
			continue
		}
		if status, _ := t.request(http.DefaultClient, http.MethodGet, found[1], "", nil); status != http.StatusOK {
			lost++
		}
	}
	fmt.Printf("%d posts with pictures\n", len(t.posted))
	if lost > 0 {
		return fmt.Errorf("%d posts have lost their pictures", lost)
	}
	return nil
}

// send sends a form, or gets a page.
func (t *traffic) send(client *http.Client, path string, form url.Values) string {
	if form == nil {
		_, page := t.request(client, http.MethodGet, path, "", nil)
		return page
	}
	_, page := t.request(client, http.MethodPost, path, "application/x-www-form-urlencoded", []byte(form.Encode()))
	return page
}

// request sends a request. Only a refused connection leads to the other process.
func (t *traffic) request(client *http.Client, method, path, contentType string, body []byte) (status int, page string) {
	first := rand.IntN(len(ports))
	for try := range ports {
		req, err := http.NewRequest(method, "http://127.0.0.1:"+ports[(first+try)%len(ports)]+path, bytes.NewReader(body))
		if err != nil {
			t.count("a bad request: " + err.Error())
			return 0, ""
		}
		req.Header.Set("Content-Type", contentType)
		t.sent.Add(1)
		res, err := client.Do(req)
		if errors.Is(err, syscall.ECONNREFUSED) {
			t.refused.Add(1)
			continue
		}
		if err != nil { // the process has closed an idle connection in the same moment
			t.cut.Add(1)
			return 0, ""
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
		return res.StatusCode, string(text)
	}
	t.cut.Add(1)
	return 0, ""
}

func (t *traffic) count(answer string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers[answer]++
}
