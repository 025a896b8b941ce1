//go:build programs

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"retwis/internal/redistest"
)

// The example configurations of proxies meet the requirements of docs/operations.md: forms are
// accepted on ports other than 443 and with four pictures, responses to cross-site requests are not
// compressed, and secret links appear in no access log. nginx runs with "gzip on" for all sites, as
// on Debian.
func TestProxyExamples(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nginx", "caddy"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(name)
			if err != nil {
				program, err = exec.LookPath("/usr/sbin/" + name)
			}
			if err != nil {
				t.Fatalf("%v; scripts/deps %s installs it", err, name)
			}
			p := proxied{t: t, dir: t.TempDir(), plain: freePort(t), secure: freePort(t)}
			writePair(t, filepath.Join(p.dir, "site.crt"), filepath.Join(p.dir, "site.key"), 1)
			p.site = serveOn(t, redistest.DB(t).URL(), "--secure-cookies", "--trusted-proxies", "127.0.0.1/32")
			cmd := exec.Command(program, "-p", p.dir, "-c", p.nginx())
			if name == "caddy" {
				cmd = exec.Command(program, "run", "--adapter", "caddyfile", "--config", p.caddy())
			}
			cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir, "HOME="+p.dir)
			log, err := os.Create(filepath.Join(p.dir, "log"))
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			cmd.Stdout, cmd.Stderr = log, log
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Signal(syscall.SIGTERM)
				_ = cmd.Wait()
			})
			p.check()
		})
	}
}

// proxied is a site behind a proxy.
type proxied struct {
	t             *testing.T
	dir           string
	site          *site
	plain, secure string // ports of the proxy
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// adapt returns an example file with replaced ports, paths and addresses. Each replaced text must
// occur in the file.
func (p proxied) adapt(name string, replace ...string) string {
	p.t.Helper()
	text, err := os.ReadFile("../../deploy/proxy/" + name)
	if err != nil {
		p.t.Fatal(err)
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			p.t.Errorf("%s lacks %q", name, replace[i])
		}
	}
	return strings.NewReplacer(replace...).Replace(string(text))
}

func (p proxied) write(name, text string) (path string) {
	p.t.Helper()
	path = filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p proxied) nginx() string {
	site := p.adapt("nginx.conf", "127.0.0.1:8080", strings.TrimPrefix(p.site.url, "http://"),
		"\tlisten [::]:80;\n", "", "\tlisten [::]:443 ssl http2;\n", "",
		"listen 80;", "listen 127.0.0.1:"+p.plain+";", "listen 443 ssl http2;", "listen 127.0.0.1:"+p.secure+" ssl http2;",
		"/etc/ssl/retwis/fullchain.pem", filepath.Join(p.dir, "site.crt"), "/etc/ssl/retwis/privkey.pem", filepath.Join(p.dir, "site.key"),
		"/var/log/nginx/access.log", filepath.Join(p.dir, "access.log"))
	paths := ""
	for _, module := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		paths += module + "_temp_path " + filepath.Join(p.dir, module) + ";\n"
	}
	return p.write("nginx.conf", "daemon off;\nmaster_process off;\npid "+filepath.Join(p.dir, "pid")+";\nerror_log stderr;\nevents {}\nhttp {\n"+
		paths+"gzip on;\ngzip_proxied any;\naccess_log "+filepath.Join(p.dir, "access.log")+";\ninclude "+p.write("site.conf", site)+";\n}\n")
}

func (p proxied) caddy() string {
	site := p.adapt("Caddyfile", "127.0.0.1:8080", strings.TrimPrefix(p.site.url, "http://"),
		"retwis.example.com {\n", "retwis.example.com {\n\tbind 127.0.0.1\n\ttls "+filepath.Join(p.dir, "site.crt")+" "+filepath.Join(p.dir, "site.key")+"\n")
	return p.write("Caddyfile", "{\n\tadmin off\n\thttp_port "+p.plain+"\n\thttps_port "+p.secure+"\n}\n"+site)
}

func (p proxied) check() {
	t := p.t
	transport := &http.Transport{
		ForceAttemptHTTP2: true, DisableCompression: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+p.secure)
		},
	}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	origin := "https://retwis.example.com:" + p.secure
	do := func(method, path, form string, header ...string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, origin+path, strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		if form != "" {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	p.wait()
	if res := do("GET", "/login", "", "Accept-Encoding", "gzip", "Sec-Fetch-Site", "same-origin"); res.StatusCode != 200 || res.ProtoMajor != 2 || res.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("a page: %d, %s, %q", res.StatusCode, res.Proto, res.Header.Get("Content-Encoding"))
	}
	if res := do("GET", "/login", "", "Accept-Encoding", "gzip, zstd, br", "Sec-Fetch-Site", "cross-site"); res.StatusCode != 200 || res.Header.Get("Content-Encoding") != "" {
		t.Errorf("a page for a cross-site request: %d, compressed by %q", res.StatusCode, res.Header.Get("Content-Encoding"))
	}
	form := url.Values{"username": {"ada"}, "password": {"engine-engine"}, "password2": {"engine-engine"}}.Encode()
	if res := do("POST", "/register", form, "Origin", origin); res.StatusCode != http.StatusSeeOther {
		t.Errorf("a form on another port: %d", res.StatusCode)
	}
	if res := do("POST", "/login", form, "Origin", "https://evil.example"); res.StatusCode != http.StatusForbidden {
		t.Errorf("a form of another site: %d", res.StatusCode)
	}
	p.site.waitForLog(t, "origin=https://evil.example")
	if !strings.Contains(p.site.err.String(), "host=retwis.example.com:"+p.secure) {
		t.Errorf("the log does not contain the host: %s", p.site.err.String())
	}
	// Without a session the upload is refused, but only after all of it has arrived.
	picture := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"photo.jpg\"\r\n\r\n" + strings.Repeat("x", 16<<20) + "\r\n"
	if res := do("POST", "/media", strings.Repeat(picture, 4)+"--x--\r\n", "Origin", origin, "Content-Type", "multipart/form-data; boundary=x"); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("four pictures: %d", res.StatusCode)
	}
	for _, prefix := range []string{"/reset/81.", "/invite/", "/confirm/81.", "/unsubscribe/81."} {
		do("GET", prefix+"SECRETSECRET", "")
	}
	do("GET", "/timeline", "")
	// nginx logs a request after answering it.
	var logged []byte
	p.until(func() error {
		var err error
		logged, err = os.ReadFile(filepath.Join(p.dir, "access.log"))
		if err == nil && !strings.Contains(string(logged), "/timeline") {
			return fmt.Errorf("the access log lacks /timeline: %s", logged)
		}
		return nil // Caddy has no access log
	})
	if proxyLog, _ := os.ReadFile(filepath.Join(p.dir, "log")); strings.Contains(string(logged)+string(proxyLog), "SECRETSECRET") {
		t.Errorf("a log of the proxy contains a secret: %s%s", logged, proxyLog)
	}
}

// wait waits until the proxy is listening.
func (p proxied) wait() {
	p.until(func() error {
		conn, err := net.Dial("tcp", "127.0.0.1:"+p.secure)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// until calls try until it succeeds.
func (p proxied) until(try func() error) {
	p.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for err := try(); err != nil; err = try() {
		select {
		case <-tick.C:
		case <-hung():
			log, _ := os.ReadFile(filepath.Join(p.dir, "log"))
			p.t.Fatalf("%v: %s", err, log)
		}
	}
}
