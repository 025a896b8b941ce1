package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"retwis/internal/redis/store"

	"retwis/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.Parallel(4)
	// Most programs end before they have much garbage. With the default, they spend a third of
	// their time in garbage collection.
	os.Setenv("GOGC", "400")
	// Ignore the settings file of a package installed on this machine. Commands in scripts run
	// TestMain too, with a RETWIS_ENV_FILE of their own.
	if _, ok := os.LookupEnv("RETWIS_ENV_FILE"); !ok {
		os.Setenv("RETWIS_ENV_FILE", os.DevNull)
	}
	testscript.Main(m, map[string]func(){"retwis": main})
}

// TestScripts runs every script of testdata, each in its own home directory. These
// commands are added to those of testscript:
//
//	exits N COMMAND...   runs a command that must end with this exit code
//	serve FLAGS...       starts "retwis serve" on a free port
//	end [TERM|INT|KILL]  ends the site; serve.out and serve.err hold its output
//	rotate FILE TEXT     waits until a log contains TEXT, rotates the log as logrotate
//	                     does, and waits for the new file
//	get [STATUS] PATH    prints a page, whose status must be STATUS (200)
//	post PATH FORM       sends a form, and prints the page that it leads to
//	upload PATH FIELD... sends a form of NAME=VALUE and NAME=@FILE
//	follow PATTERN PATH  follows the first matching link on a page and prints the target
//	cookie NAME=VALUE    sets a cookie in the browser
//	admin PATH           prints a page for operators, with --admin-addr
//	posts PATH           prints the posts on a page, without their times
//	redis COMMAND...     sends a command to the server of the script's site
//	model NAME EDITION   opens a model of people with package model, and creates
//	                     three records if there are none; see modelCmd for the
//	                     editions
//	takeport             occupies a port until the script ends, and sets $TAKEN to
//	                     its address
//
// $NODES lists the URLs of three independent servers and $SOCKETS their sockets; $SOCKET
// is the first socket, $SOCKET2 the second. All scripts share the servers, so each script
// that stores data there uses its own database number.
func TestScripts(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	defaultSignals()
	var nodes, sockets []string
	for _, s := range redistest.Nodes(t, 3) {
		nodes, sockets = append(nodes, s.URL()), append(sockets, s.Socket())
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "share"))
			env.Setenv("RETWIS_REDIS_SERVER", os.Getenv("RETWIS_REDIS_SERVER"))
			env.Setenv("GOGC", os.Getenv("GOGC"))
			// Under the race detector a program sleeps for a second before it exits, which is too
			// long for fifty short commands.
			env.Setenv("GORACE", "atexit_sleep_ms=10 "+os.Getenv("GORACE"))
			env.Setenv("RETWIS_ENV_FILE", os.DevNull)
			env.Setenv("NODES", strings.Join(nodes, ","))
			env.Setenv("SOCKETS", strings.Join(sockets, " "))
			env.Setenv("SOCKET", sockets[0])
			env.Setenv("SOCKET2", sockets[1])
			env.Values[running{}] = new(running)
			path, err := withRedisCLI(env.Getenv("PATH"), filepath.Join(env.WorkDir, "bin"))
			if err != nil {
				return err
			}
			env.Setenv("PATH", path)
			// For scripts that change PATH.
			retwis, err := exec.LookPath("retwis")
			env.Setenv("RETWIS", retwis)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"serve":    serveCmd,
			"admin":    adminCmd,
			"cookie":   cookieCmd,
			"end":      endCmd,
			"follow":   followCmd,
			"get":      getCmd,
			"model":    modelCmd,
			"post":     postCmd,
			"posts":    postsCmd,
			"redis":    redisCmd,
			"rotate":   rotateCmd,
			"takeport": takePort,
			"upload":   uploadCmd,
		},
	})
}

// running holds the site of a script. running{} is the key under which the values of a script hold
// its *running.
type running struct{ site *site }

func current(ts *testscript.TestScript) *running { return ts.Value(running{}).(*running) }

func siteOf(ts *testscript.TestScript) *site {
	s := current(ts).site
	if s == nil {
		ts.Fatalf("no site is running: use serve first")
	}
	return s
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// siteVariables lists the variables that a script can set for its site.
var siteVariables = []string{
	"PATH", "HOME", "TMPDIR", "XDG_DATA_HOME", "GOGC", "GORACE",
	"RETWIS_ADMIN_ADDR", "RETWIS_DEMO", "RETWIS_LOG_FORMAT", "RETWIS_LOG_LEVEL",
	"RETWIS_ENV_FILE", "RETWIS_REDIS", "RETWIS_REDIS_SERVER", "RETWIS_SECURE_COOKIES",
}

func serveCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || current(ts).site != nil {
		ts.Fatalf("usage: serve FLAGS..., once before each end")
	}
	var env []string
	for _, name := range siteVariables {
		env = append(env, name+"="+ts.Getenv(name))
	}
	s, err := startSite(ts.MkAbs("."), env, args...)
	ts.Check(err)
	ts.Setenv("URL", s.url)
	current(ts).site = s
	ts.Defer(func() {
		if current(ts).site == s {
			_ = s.stop(syscall.SIGKILL)
		}
	})
}

func endCmd(ts *testscript.TestScript, neg bool, args []string) {
	s := siteOf(ts)
	signal := syscall.SIGTERM
	switch strings.Join(args, " ") {
	case "", "TERM":
	case "INT":
		signal = syscall.SIGINT
	case "KILL":
		signal = syscall.SIGKILL
	default:
		neg = true
	}
	if neg {
		ts.Fatalf("usage: end [TERM|INT|KILL]")
	}
	err := s.stop(signal)
	current(ts).site = nil
	ts.Check(os.WriteFile(ts.MkAbs("serve.out"), []byte(s.out.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("serve.err"), []byte(s.err.String()), 0o600))
	ts.Check(err)
}

func rotateCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: rotate FILE TEXT")
	}
	s, path := siteOf(ts), ts.MkAbs(args[0])
	until := func(ready func() bool) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for !ready() {
			select {
			case <-tick.C:
			case <-s.ended:
				ts.Fatalf("retwis serve ended: %v", s.status)
			}
		}
	}
	// The log line is written after the client gets its response.
	until(func() bool {
		log, err := os.ReadFile(path)
		ts.Check(err)
		return strings.Contains(string(log), args[1])
	})
	ts.Check(os.Rename(path, path+".1"))
	ts.Check(s.cmd.Process.Signal(syscall.SIGHUP))
	until(func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

func getCmd(ts *testscript.TestScript, neg bool, args []string) {
	want := 200
	if len(args) == 2 {
		var err error
		want, err = strconv.Atoi(args[0])
		ts.Check(err)
		args = args[1:]
	}
	if neg || len(args) != 1 {
		ts.Fatalf("usage: get [STATUS] PATH")
	}
	status, page, err := siteOf(ts).get(args[0])
	ts.Check(err)
	fmt.Fprint(ts.Stdout(), page)
	if status != want {
		ts.Fatalf("status %d, want %d", status, want)
	}
}

func postCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: post PATH FORM")
	}
	status, page, err := siteOf(ts).post(args[0], args[1])
	ts.Check(err)
	fmt.Fprint(ts.Stdout(), page)
	if status != 200 {
		ts.Fatalf("status %d", status)
	}
}

func uploadCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: upload PATH FIELD...")
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, field := range args[1:] {
		name, value, _ := strings.Cut(field, "=")
		path, isFile := strings.CutPrefix(value, "@")
		if !isFile {
			ts.Check(form.WriteField(name, value))
			continue
		}
		content, err := os.ReadFile(ts.MkAbs(path))
		ts.Check(err)
		file, err := form.CreateFormFile(name, path)
		ts.Check(err)
		_, err = file.Write(content)
		ts.Check(err)
	}
	ts.Check(form.Close())
	s := siteOf(ts)
	status, page, err := read(s.client.Post(s.url+args[0], form.FormDataContentType(), &body))
	ts.Check(err)
	fmt.Fprint(ts.Stdout(), page)
	if status != 200 {
		ts.Fatalf("status %d", status)
	}
}

func followCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: follow PATTERN PATH")
	}
	_, page, err := siteOf(ts).get(args[1])
	ts.Check(err)
	getCmd(ts, false, []string{regexp.MustCompile(args[0]).FindString(page)})
}

func cookieCmd(ts *testscript.TestScript, neg bool, args []string) {
	name, value, ok := strings.Cut(strings.Join(args, " "), "=")
	if neg || !ok {
		ts.Fatalf("usage: cookie NAME=VALUE")
	}
	s := siteOf(ts)
	address, err := url.Parse(s.url)
	ts.Check(err)
	s.client.Jar.SetCookies(address, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}

func adminCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: admin PATH")
	}
	s := siteOf(ts)
	ts.Check(s.waitFor(func() bool { return adminAddress.MatchString(s.err.String()) }))
	status, page, err := read(http.Get(adminAddress.FindStringSubmatch(s.err.String())[1] + args[0]))
	ts.Check(err)
	fmt.Fprint(ts.Stdout(), page)
	if status != 200 {
		ts.Fatalf("status %d", status)
	}
}

var (
	article = regexp.MustCompile(`(?s)<article class="post" data-id="(\d+)".*?</article>`)
	noise   = regexp.MustCompile(`(?s)<time.*?</time>|<form.*?</form>|<[^>]*>`)
	spaces  = regexp.MustCompile(`\s+`)
)

func postsCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: posts PATH")
	}
	_, page, err := siteOf(ts).get(args[0])
	ts.Check(err)
	for _, post := range article.FindAllStringSubmatch(page, -1) {
		text := spaces.ReplaceAllString(noise.ReplaceAllString(post[0], " "), " ")
		fmt.Fprintln(ts.Stdout(), post[1], strings.TrimSpace(text))
	}
}

// redisCmd sends a command through the server's socket, without redis-cli, which a machine with
// Valkey may not have.
func redisCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: redis COMMAND...")
	}
	ctx := context.Background()
	db, err := store.Open(ctx, "unix://"+ts.MkAbs("share/retwis/redis.sock"), store.Options{})
	ts.Check(err)
	defer func() { ts.Check(db.Close()) }()
	ts.Check(db.Client().Do(ctx, db.Client().B().Arbitrary(args...).Build()).Error())
}

func takePort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: takeport")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { listener.Close() })
	ts.Setenv("TAKEN", listener.Addr().String())
}
