package doctor

import (
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/store"
	"retwis/internal/redistest"
)

// serverSettings names the findings about the settings of the server, as opposed to the machine.
var serverSettings = map[string]bool{
	"memory": true, "maxmemory-policy": true, "append-only file": true, "appendfsync": true,
	"zset-max-listpack-entries": true, "client-output-buffer-limit": true, "tracking-table-max-keys": true,
}

// wrongSettings returns the findings about settings of a server that doctor would change.
func wrongSettings(t *testing.T, db *store.Store) []finding {
	t.Helper()
	found, err := checkServer(t.Context(), db.Client(), db.Embedded())
	if err != nil {
		t.Fatal(err)
	}
	var wrong []finding
	for _, f := range found {
		if serverSettings[f.What] && f.Status != OK {
			wrong = append(wrong, f)
		}
	}
	return wrong
}

// follow applies doctor's advice and returns the flags with which the server must be started.
func follow(t *testing.T, client rueidis.Client, found []finding) (flags []string) {
	t.Helper()
	for _, f := range found {
		for line := range strings.Lines(f.Do) {
			line = strings.TrimSpace(line)
			if rest, ok := strings.CutPrefix(line, "and start the server with --"); ok {
				setting, _, _ := strings.Cut(rest, ": ")
				name, value, _ := strings.Cut(setting, " ")
				flags = append(append(flags, "--"+name), strings.Fields(value)...)
				continue
			}
			if !strings.HasPrefix(line, "CONFIG ") {
				continue
			}
			words := strings.SplitN(line, " ", 4)
			words[len(words)-1] = strings.Trim(words[len(words)-1], `"`)
			if err := client.Do(t.Context(), client.B().Arbitrary(words...).Build()).Error(); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
	return flags
}

// serve starts a server as an operator does. It returns the database and a function that stops the
// server.
func serve(t *testing.T, dir string, args ...string) (db *store.Store, end func()) {
	t.Helper()
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(redistest.Require(t), append(args, "--port", "0", "--unixsocket", socket, "--dir", dir)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var err error
		if db, err = store.Open(t.Context(), "unix://"+socket, store.Options{}); err == nil {
			break
		}
		select {
		case <-tick.C:
		case end := <-ended:
			t.Fatalf("%v; the server ended: %v", err, end)
		}
	}
	return db, func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		// A server ignores the signal while it writes its first append-only file.
		for {
			_ = cmd.Process.Signal(os.Interrupt)
			select {
			case <-ended:
				return
			case <-time.After(500 * time.Millisecond):
			}
		}
	}
}

// Doctor's advice has a lasting effect: after a restart nothing is wrong, and the data is still
// there. A server without a configuration file is started with the flags that doctor names.
func TestAdviceLasts(t *testing.T) {
	t.Parallel()
	for name, inFile := range map[string]bool{"configuration file": true, "command line": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "doctor") // socket paths must be short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			args := []string{
				"--appendonly", "no", "--save", "", "--appendfsync", "no", "--maxmemory-policy", "allkeys-lru",
				"--client-output-buffer-limit", "normal", "1mb", "1mb", "60",
			}
			if inFile {
				path := filepath.Join(dir, "redis.conf")
				text := "appendonly no\nsave \"\"\nappendfsync no\nmaxmemory-policy allkeys-lru\nclient-output-buffer-limit normal 1mb 1mb 60\n"
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				args = []string{path}
			}
			db, end := serve(t, dir, args...)
			found := wrongSettings(t, db)
			if len(found) < 6 {
				t.Fatalf("findings = %+v, want at least 6", found)
			}
			flags := follow(t, db.Client(), found)
			if !inFile {
				args = flags
			}
			setKey(t, db.Client())
			end()
			db, end = serve(t, dir, args...)
			defer end()
			checkAfterRestart(t, db)
		})
	}
}

func setKey(t *testing.T, client rueidis.Client) {
	t.Helper()
	if err := client.Do(t.Context(), client.B().Set().Key("key").Value("value").Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

func checkAfterRestart(t *testing.T, db *store.Store) {
	t.Helper()
	if found := wrongSettings(t, db); len(found) > 0 {
		t.Errorf("findings after a restart: %+v", found)
	}
	if got, err := db.Client().Do(t.Context(), db.Client().B().Get().Key("key").Build()).ToString(); got != "value" {
		t.Errorf("key after a restart = %q, %v; want value", got, err)
	}
}

// Advice for an embedded server does not mention a configuration file, because there is none.
func TestAdviceForEmbedded(t *testing.T) {
	t.Parallel()
	url := "embedded:" + t.TempDir()
	opt := store.Options{Create: true, MaxMemory: 64 << 20, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	db, err := store.Open(t.Context(), url, opt)
	if err != nil {
		t.Fatal(err)
	}
	client := db.Client()
	for _, setting := range [][]string{
		{"appendonly", "no"},
		{"appendfsync", "no"},
		{"maxmemory-policy", "allkeys-lru"},
		{"maxmemory", "0"},
		{"zset-max-ziplist-entries", "128"},
		{"client-output-buffer-limit", "normal 1mb 1mb 60"},
	} {
		if err := client.Do(t.Context(), client.B().Arbitrary("CONFIG", "SET").Args(setting...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	setKey(t, client)
	found := wrongSettings(t, db)
	if len(found) != 6 {
		t.Errorf("findings = %+v, want 6", found)
	}
	for _, f := range found {
		if strings.Contains(f.Do, "REWRITE") || strings.Contains(f.Do, "CONFIG SET") && f.What != "append-only file" {
			t.Errorf("advice about %s: %s", f.What, f.Do)
		}
	}
	if flags := follow(t, client, found); len(flags) > 0 {
		t.Errorf("flags = %q, want none", flags)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = store.Open(t.Context(), url, opt); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	checkAfterRestart(t, db)
}

// Advice about a full disk does not name a setting.
func TestAdviceForFullDisk(t *testing.T) {
	t.Parallel()
	info := "aof_enabled:1\r\naof_last_write_status:err\r\n"
	found := persistence(info)
	if len(found) != 2 || found[1].Status != Problem || strings.Contains(found[1].Do, "CONFIG SET") || !strings.Contains(found[1].Do, "free space") {
		t.Errorf("findings = %+v, want advice to free space", found)
	}
}
