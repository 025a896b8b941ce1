package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// site is a running "retwis serve" with its own server, on loopback only.
type site struct {
	url, admin string
	cmd        *exec.Cmd
	dir        string
}

var (
	listening = regexp.MustCompile(`listening on (http://127\.0\.0\.1:[0-9]+),`)
	operators = regexp.MustCompile(`url=(http://127\.0\.0\.1:[0-9]+)`)
)

// start serves an empty database. It believes X-Forwarded-For of this machine, so that
// requests can come from many addresses.
func start(ctx context.Context, program string, args ...string) (*site, error) {
	dir, err := os.MkdirTemp("", "retwis-attack")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{
		"serve", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--redis", "embedded:" + dir, "--trusted-proxies", "127.0.0.1/32",
	}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	s := &site{cmd: cmd, dir: dir}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if s.url, err = find(out, listening); err == nil {
		s.admin, err = find(log, operators)
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// find returns the first match in the lines of an output, and reads on, so that the
// program can write.
func find(from io.Reader, pattern *regexp.Regexp) (string, error) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if m := pattern.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, from) }()
			return m[1], nil
		}
	}
	return "", fmt.Errorf("retwis serve ended without an address: %v", lines.Err())
}

func (s *site) stop() error {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
	return os.RemoveAll(s.dir)
}

// metric returns the sum of a metric over its labels.
func (s *site) metric(name string) (float64, error) {
	response, err := http.Get(s.admin + "/metrics")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	sum, lines := 0.0, bufio.NewScanner(response.Body)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), " ")
		if field != name && !strings.HasPrefix(field, name+"{") {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, lines.Err()
}

// client is a browser at an address.
type client struct {
	site *site
	from string
	http *http.Client
}

func (s *site) client(from string) *client {
	jar, _ := cookiejar.New(nil) // without options it cannot fail
	return &client{site: s, from: from, http: &http.Client{
		Jar: jar, Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 500},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// do sends a form, or asks for a page.
func (c *client) do(ctx context.Context, method, path string, form url.Values) (status int, page string, err error) {
	kind := ""
	if method == http.MethodPost {
		kind = "application/x-www-form-urlencoded"
	}
	return c.send(ctx, method, path, kind, strings.NewReader(form.Encode()))
}

func (c *client) send(ctx context.Context, method, path, kind string, content io.Reader) (status int, page string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.site.url+path, content)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("X-Forwarded-For", c.from)
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

const secret = "engine-and-loom-1843"

func (c *client) signUp(ctx context.Context, name string) (int, error) {
	status, _, err := c.do(ctx, http.MethodPost, "/register", url.Values{"username": {name}, "password": {secret}, "password2": {secret}})
	return status, err
}

func (c *client) logIn(ctx context.Context, name, password string) (int, error) {
	status, _, err := c.do(ctx, http.MethodPost, "/login", url.Values{"username": {name}, "password": {password}})
	return status, err
}

func (c *client) post(ctx context.Context, text string) (int, error) {
	status, _, err := c.do(ctx, http.MethodPost, "/post", url.Values{"status": {text}})
	return status, err
}

// member signs somebody up at an address of their own.
func (s *site) member(ctx context.Context, name, from string) (*client, error) {
	c := s.client(from)
	status, err := c.signUp(ctx, name)
	if err == nil && status != http.StatusSeeOther {
		err = fmt.Errorf("sign up %s: status %d", name, status)
	}
	return c, err
}
