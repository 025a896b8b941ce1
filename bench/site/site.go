// Package site measures Retwis: its pages, posts to many followers, and open pages.
package site

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/internal/redis/redisserver"
)

const password = "bench bench bench"

// site is a running Retwis: the program, its server and the logged-in users.
type site struct {
	server  *redisserver.Server
	program *exec.Cmd
	addr    string
	client  rueidis.Client // of the database
	cookies []string       // a session for each connection, each of another user
	names   []string       // of these users
}

// appendOnly is the persistence of a server in production.
var appendOnly = []string{"appendonly yes", "appendfsync everysec", "auto-aof-rewrite-percentage 0"}

// startSite builds the program, starts it on a separate server with persistence as in
// production, fills it, and logs visitors in. The caller stops what it returns.
func startSite(ctx context.Context, opt measure.Options, visitors int) (*site, error) {
	binary, err := measure.Build(ctx, opt.Dir)
	if err != nil {
		return nil, err
	}
	server, err := measure.StartServer(ctx, filepath.Join(opt.Dir, "data"), 0, appendOnly...)
	if err != nil {
		return nil, err
	}
	s := &site{server: server}
	if err := s.begin(ctx, binary, opt, visitors); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *site) begin(ctx context.Context, binary string, opt measure.Options, visitors int) error {
	var err error
	s.client, err = rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.server.Socket()}, DialCtxFn: measure.DialUnix, ForceSingleClient: true, PipelineMultiplex: -1,
	})
	if err != nil {
		return err
	}
	if err := seed(ctx, binary, s.server.URL(), opt); err != nil {
		return err
	}
	s.program, s.addr, err = startServing(binary, "serve", "--addr", "127.0.0.1:0", "--redis", s.server.URL(),
		// Decisions are made, and all allowed.
		"--limit", "post=1000000/10m post-address=1000000/10m")
	if err != nil {
		return err
	}
	return s.signIn(ctx, visitors)
}

// seed fills a database.
func seed(ctx context.Context, binary, url string, opt measure.Options) error {
	cmd := exec.CommandContext(ctx, binary, "seed", "--redis", url, "--password", password,
		"--users", fmt.Sprint(opt.Users), "--follows", fmt.Sprint(20*opt.Users), "--posts", fmt.Sprint(10*opt.Users))
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("retwis seed: %w", err)
	}
	return nil
}

// startServing starts a program that prints its address.
func startServing(name string, args ...string) (*exec.Cmd, string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		return cmd, "", fmt.Errorf("%s: %w", name, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	found := regexp.MustCompile(`http://([^,\s]+)`).FindStringSubmatch(line)
	if found == nil {
		return cmd, "", fmt.Errorf("%s: no address in %q", name, line)
	}
	return cmd, found[1], nil
}

func stopServing(cmd *exec.Cmd) {
	if cmd != nil {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
}

func (s *site) stop() {
	stopServing(s.program)
	if s.client != nil {
		s.client.Close()
	}
	_ = s.server.Kill()
	<-s.server.Done()
}

// signIn logs in as several users.
func (s *site) signIn(ctx context.Context, visitors int) error {
	names, err := s.client.Do(ctx, s.client.B().Zrange().Key("users_by_time").Min("0").Max(fmt.Sprint(visitors-1)).Build()).AsStrSlice()
	if err != nil {
		return err
	}
	for i := range visitors {
		name := names[i%len(names)]
		form := url.Values{"username": {name}, "password": {password}}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.addr+"/login", strings.NewReader(form.Encode()))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			return err
		}
		response.Body.Close()
		for _, cookie := range response.Cookies() {
			if cookie.Name == "auth" {
				s.cookies = append(s.cookies, cookie.Value)
				s.names = append(s.names, name)
			}
		}
		if len(s.cookies) != i+1 {
			return fmt.Errorf("log in as %s: %s", name, response.Status)
		}
	}
	return nil
}

// page fetches a page with the session of a user.
func (s *site) page(ctx context.Context, path, cookie string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	if cookie != "" {
		request.AddCookie(&http.Cookie{Name: "auth", Value: cookie})
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("data-id"))) {
		err = fmt.Errorf("%s: %s, and no posts", path, response.Status)
	}
	return body, err
}
