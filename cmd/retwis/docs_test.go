package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"retwis/internal/redistest"
)

// documents returns the paths of the pages whose commands are run.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	if len(all) < 6 {
		t.Fatalf("found only these documents: %q", all)
	}
	return all
}

// example is a command on a page and the output that the page shows.
type example struct {
	line    int
	kind    string // console or redis
	command string
	output  string
}

// prompts maps the kinds of blocks whose commands are run to their prompts.
var prompts = map[string]string{"console": "$ ", "redis": "> "}

// examples returns the commands of a page with their output.
func examples(text string) []example {
	var all []example
	fence := ""
	for i, line := range strings.Split(text, "\n") {
		mark, isFence := strings.CutPrefix(line, "```")
		prompt := prompts[fence]
		switch {
		case isFence && fence == "":
			fence = mark + " " // never empty inside a block
			if prompts[mark] != "" {
				fence = mark
			}
		case isFence:
			fence = ""
		case prompt == "":
		case strings.HasPrefix(line, prompt):
			all = append(all, example{line: i + 1, kind: fence, command: line[len(prompt):]})
		case len(all) > 0:
			all[len(all)-1].output += line + "\n"
		}
	}
	return all
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, path := range documents(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			checkTargets(t, string(text))
			checkLinks(t, path, string(text))
			all := examples(string(text))
			if !programs {
				all = withoutPrograms(filepath.Base(path), all)
			}
			if len(all) > 0 {
				r := newReader(t, string(text))
				r.follow(all)
			}
		})
	}
}

var (
	target   = regexp.MustCompile("(?m)(?:`|^|\\$ )make ([a-z][a-z0-9-]*)")
	fenced   = regexp.MustCompile("(?ms)^```.*?^```")
	link     = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	makeRule = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)

	notInAnchors = regexp.MustCompile(`[^\pL\pN_ -]`)
)

// checkTargets checks that the make targets on a page exist.
func checkTargets(t *testing.T, text string) {
	t.Helper()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, rule := range makeRule.FindAllStringSubmatch(string(makefile), -1) {
		known[rule[1]] = true
	}
	for _, found := range target.FindAllStringSubmatch(text, -1) {
		if !known[found[1]] {
			t.Errorf("the page says make %s, but the Makefile has no such target", found[1])
		}
	}
}

// checkLinks checks that the link targets, images and linked headings of a page exist.
func checkLinks(t *testing.T, path, text string) {
	t.Helper()
	for _, found := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		target, anchor := path, found[2]
		if found[1] != "" {
			target = filepath.Join(filepath.Dir(path), found[1])
		}
		if _, err := os.Stat(target); err != nil {
			t.Errorf("broken link: %v", err)
		} else if anchor != "" && !slices.Contains(anchors(t, target), anchor) {
			t.Errorf("%s has no heading #%s", target, anchor)
		}
	}
}

// anchors returns the anchors of a page's headings, as GitHub generates them.
func anchors(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		name := notInAnchors.ReplaceAllString(strings.ToLower(h[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

// home is the reader's home directory on the pages.
const home = "/home/ada"

// reader runs the commands of a page in its own home directory, on free ports instead of those on
// the page.
type reader struct {
	t     *testing.T
	home  string
	env   []string
	site  *site
	ports map[string]string // maps ports on the page to ports in the test

	blocks []goBlock
	jars   map[string]http.CookieJar // by cookie file
}

func newReader(t *testing.T, text string) *reader {
	t.Helper()
	redistest.Require(t)
	// Socket paths must be short; those of t.TempDir are too long.
	dir, err := os.MkdirTemp("", "retwis-doc")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, home: dir, ports: map[string]string{}, blocks: goBlocks(text)}
	t.Cleanup(func() {
		r.stop()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if !slices.Contains([]string{"HOME", "PATH", "XDG_DATA_HOME"}, name) {
			r.env = append(r.env, pair)
		}
	}
	path, err := withRedisCLI(os.Getenv("PATH"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r.env = append(r.env, "HOME="+dir, "PATH="+path)
	for _, port := range []string{"6379", "6380", "6381"} {
		if strings.Contains(text, "127.0.0.1:"+port) {
			r.ports[port] = strconv.Itoa(redistest.TCP(t).Port())
		}
	}
	if strings.Contains(text, "127.0.0.1:9090") {
		r.ports["9090"] = strconv.Itoa(redistest.FreePort(t))
	}
	return r
}

// withRedisCLI returns a PATH with redis-cli, which the documents use. If only valkey-cli is
// installed, withRedisCLI links it as redis-cli in the directory bin.
func withRedisCLI(path, bin string) (string, error) {
	if _, err := exec.LookPath("redis-cli"); err == nil {
		return path, nil
	}
	client, err := exec.LookPath("valkey-cli")
	if err != nil {
		return "", fmt.Errorf("found neither redis-cli nor valkey-cli: %w", err)
	}
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return "", err
	}
	return bin + string(os.PathListSeparator) + path, os.Symlink(client, filepath.Join(bin, "redis-cli"))
}

func (r *reader) stop() {
	if r.site != nil {
		if err := r.site.stop(syscall.SIGTERM); err != nil {
			r.t.Error(err)
		}
		r.site = nil
	}
}

func (r *reader) follow(all []example) {
	r.t.Helper()
	for _, e := range all {
		output, err := r.run(e)
		if err != nil {
			r.t.Fatalf("line %d: %s: %v\n%s", e.line, e.command, err, output)
		}
		if !matches(e.output, output) {
			r.t.Fatalf("line %d: %s printed\n%s\nwant\n%s", e.line, e.command, output, e.output)
		}
	}
}

// run runs one command and returns its output with the ports and the home directory of the page.
func (r *reader) run(e example) (string, error) {
	command := r.translate(e.command)
	words := strings.Fields(command)
	switch {
	case e.kind == "redis":
		return r.redis(command)
	case words[0] == "make" && words[1] == "run":
		return r.serve("--demo")
	case words[0] == "retwis" && words[1] == "serve":
		return r.serve(words[2:]...)
	case words[0] == "curl" && !programs:
		return "", r.curl(command)
	case words[0] == "go" && words[1] == "run":
		return r.goRun(words)
	case words[0] == "export" && len(words) == 2:
		r.env = append(r.env, words[1])
		return "", nil
	case words[0] == "make":
		return "", fmt.Errorf("make run is the only make command that tests can run; put others into a block of another kind")
	}
	cmd := exec.CommandContext(r.t.Context(), "/bin/sh", "-c", command)
	cmd.Dir, cmd.Env = r.home, r.env
	output, err := cmd.CombinedOutput()
	if strings.HasPrefix(command, "curl ") && e.output == "" {
		output = nil // an HTML page, which no document repeats
	}
	return r.translateBack(string(output)), err
}

// serve stops the site that an earlier command started, if any, and starts a new one.
func (r *reader) serve(args ...string) (string, error) {
	r.stop()
	s, err := startSite(r.home, r.env, args...)
	if err != nil {
		return "", err
	}
	r.site = s
	// The second line of output may follow later.
	if strings.Contains(strings.Join(args, " "), "--demo") {
		if err := s.waitFor(func() bool { return strings.Count(s.out.String(), "\n") >= 2 }); err != nil {
			return s.out.String(), err
		}
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), ":")
	r.ports["8080"] = port
	return r.translateBack(s.out.String()), nil
}

// redis runs a redis-cli command on the site's server.
func (r *reader) redis(command string) (string, error) {
	sockets, err := filepath.Glob(filepath.Join(r.home, "*", "redis.sock"))
	if err != nil || len(sockets) != 1 {
		return "", fmt.Errorf("%d sockets in %s, want 1: %w", len(sockets), r.home, err)
	}
	cmd := exec.CommandContext(r.t.Context(), "/bin/sh", "-c", `exec redis-cli -s "$0" --no-raw`, sockets[0])
	cmd.Env, cmd.Stdin = r.env, strings.NewReader(command+"\n")
	output, err := cmd.CombinedOutput()
	return string(output), err
}

var pagePort = regexp.MustCompile(`127\.0\.0\.1(:| )(\d+)`)

// translate replaces the ports on the page with those in the test.
func (r *reader) translate(command string) string {
	return pagePort.ReplaceAllStringFunc(command, func(found string) string {
		parts := pagePort.FindStringSubmatch(found)
		if port := r.ports[parts[2]]; port != "" {
			return "127.0.0.1" + parts[1] + port
		}
		return found
	})
}

// translateBack replaces the ports and the home directory in the test with those on the page.
func (r *reader) translateBack(output string) string {
	for documented, actual := range r.ports {
		output = strings.ReplaceAll(output, "127.0.0.1:"+actual, "127.0.0.1:"+documented)
	}
	return strings.ReplaceAll(output, r.home, home)
}

// matches reports whether the output of a command is what its page shows. On the page, … stands for
// any text within a line; a line that is only … stands for any lines. If the page shows no output,
// the output must be empty.
func matches(page, output string) bool {
	pattern := regexp.QuoteMeta(strings.TrimSpace(page))
	pattern = regexp.MustCompile(`(?m)^…$`).ReplaceAllString(pattern, `[\s\S]*`)
	pattern = strings.ReplaceAll(pattern, "…", ".*")
	return regexp.MustCompile(`^` + pattern + `$`).Match(bytes.TrimSpace([]byte(output)))
}

// TestMatches checks that output that differs from the page is detected.
func TestMatches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		page, output string
		want         bool
	}{
		{"", "", true},
		{"", "something", false},
		{"ok\n", "ok\n", true},
		{"ok\n", "ok\nand more\n", false},
		{"in … s", "in 1.2 s", true},
		{"in … s", "in 1.2 s\nin 3 s", false},
		{"a\n…\nz", "a\nb\nc\nz", true},
		{"(integer) 1", "(integer) 12", false},
	} {
		if got := matches(test.page, test.output); got != test.want {
			t.Errorf("matches(%q, %q) = %v, want %v", test.page, test.output, got, test.want)
		}
	}
}
