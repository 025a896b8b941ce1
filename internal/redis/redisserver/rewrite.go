package redisserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A server that is killed while it writes a transaction to its append-only file can leave a
// truncated transaction in the file. The next server ignores the transaction. But if the last
// command of the transaction is truncated, Redis 7.0 only removes that command and appends to the
// complete commands before it: a third server that loads the file then executes the ignored
// transaction together with the later writes. So a server that found its file truncated must rewrite
// the file before the server is used.

const (
	// truncatedMessage is the log message about a truncated file.
	truncatedMessage = "short read while loading the AOF"
	// readyMessage is the log message after loading.
	readyMessage = "ready to accept connections"
	// readyTimeout limits the wait for readyMessage, which precedes the first reply.
	readyTimeout = time.Second
)

// observe records relevant messages of the server's log.
func (s *Server) observe(text string) {
	if strings.Contains(text, truncatedMessage) {
		s.cut.Store(true)
	}
	if isDamage(text) {
		s.damage.CompareAndSwap(nil, &text)
	}
	if strings.Contains(strings.ToLower(text), readyMessage) {
		s.once.Do(func() { close(s.accepting) })
	}
}

// rewriteTruncated makes the server rewrite its append-only file if the file was truncated.
func (s *Server) rewriteTruncated(ctx context.Context, opt Options) error {
	if !slices.Contains(opt.Config, "appendonly yes") {
		return nil
	}
	select {
	case <-s.accepting:
	case <-time.After(readyTimeout):
	}
	if !s.cut.Load() {
		return nil
	}
	name, size := lastFile(opt.Dir)
	if name != s.before.name {
		size = s.before.size // an upgrade has moved the file
	}
	// More bytes than the last command or transaction indicate damage in the middle of the file.
	opt.Logger.Warn("the append-only file was truncated when the last server died; rewriting it", "bytes cut off", s.before.size-size)
	for {
		answer, err := s.ask("BGREWRITEAOF")
		if err != nil {
			return fmt.Errorf("redisserver: rewrite the append-only file: %w", err)
		}
		if bytes.HasPrefix(answer, []byte("-NOAUTH")) {
			opt.Logger.Warn("the append-only file is truncated; make the server rewrite it: BGREWRITEAOF")
			return nil
		}
		if bytes.HasPrefix(answer, []byte("+")) {
			return s.waitRewritten(ctx)
		}
		// The server is writing another file at the moment.
		if err := s.pause(ctx); err != nil {
			return err
		}
	}
}

// lastFile returns the file to which a server appends, and its size.
func lastFile(dir string) (name string, size int64) {
	d, err := readDataDir(dir)
	if err != nil {
		return "", 0
	}
	name = aofName
	if len(d.parts) > 0 {
		name = d.parts[len(d.parts)-1]
	}
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		return name, 0
	}
	return name, info.Size()
}

// waitRewritten waits until the append-only file has been rewritten.
func (s *Server) waitRewritten(ctx context.Context) error {
	for {
		info, err := s.ask("INFO persistence")
		if err != nil {
			return fmt.Errorf("redisserver: rewrite the append-only file: %w", err)
		}
		if bytes.Contains(info, []byte("aof_rewrite_in_progress:0")) && bytes.Contains(info, []byte("aof_rewrite_scheduled:0")) {
			if !bytes.Contains(info, []byte("aof_last_bgrewrite_status:ok")) {
				return errors.New("redisserver: the append-only file could not be rewritten" + s.tail.text())
			}
			return nil
		}
		if err := s.pause(ctx); err != nil {
			return err
		}
	}
}

// pause waits before the next request to the server.
func (s *Server) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("redisserver: rewrite the append-only file: %w", ctx.Err())
	case <-s.done:
		return s.err
	case <-time.After(5 * time.Millisecond):
		return nil
	}
}
