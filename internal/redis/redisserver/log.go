package redisserver

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// log forwards the server's log line by line.
func (s *Server) log(from io.ReadCloser, to *slog.Logger) {
	defer close(s.logged)
	defer from.Close()
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 4096), 1<<20)
	for lines.Scan() {
		level, text, ok := parseLine(lines.Text())
		if text == "" {
			continue
		}
		s.observe(text)
		text = redact(text)
		if ok || !strings.HasPrefix(text, " ") {
			s.tail.add(text)
		}
		if level == slog.LevelWarn && (!s.running.Load() || ofSnapshot(text)) {
			level = slog.LevelDebug // warnings are routine at start and stop
		}
		to.Log(context.Background(), level, text, "from", "redis")
	}
	_, _ = io.Copy(io.Discard, from) // a line that is too long must not block the server
}

// ofSnapshot reports whether a line is about a client that reads a snapshot, as a backup does. The
// server treats such a client as a replica, and reports a lost connection when the client is done.
// No other replica connects through the unix socket.
func ofSnapshot(text string) bool {
	return strings.HasPrefix(text, "Connection with replica /") || strings.HasPrefix(text, "Diskless rdb transfer, done reading from pipe")
}

// parseLine parses "4242:M 20 Nov 2026 21:33:00.000 * Ready to accept connections". The marks are
// . for debug, - for verbose, * for notice and # for warning.
func parseLine(line string) (level slog.Level, text string, ok bool) {
	head, rest, found := strings.Cut(line, " ")
	fields := strings.SplitN(rest, " ", 6)
	if !found || !strings.Contains(head, ":") || len(fields) < 6 || len(fields[4]) != 1 {
		return slog.LevelDebug, strings.TrimRight(line, " "), false
	}
	switch fields[4] {
	case "#":
		level = slog.LevelWarn
	default:
		level = slog.LevelDebug
	}
	return level, fields[5], true
}

// redact removes the value of a setting that may be secret from a line: a server logs
// configuration lines that it does not understand.
func redact(text string) string {
	setting, isSetting := strings.CutPrefix(text, ">>> '")
	name, _, _ := strings.Cut(setting, " ")
	for _, secret := range []string{"pass", "auth", "user"} {
		if isSetting && strings.Contains(strings.ToLower(name), secret) {
			return ">>> '" + name + " …'"
		}
	}
	return text
}

// tail keeps the last lines of the log, to explain why the server exited.
type tail struct {
	mu    sync.Mutex
	lines []string
}

const tailLines = 6

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == 0 {
		return ""
	}
	return "; last log lines: " + strings.Join(t.lines, " | ")
}
