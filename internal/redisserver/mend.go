package redisserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A server that was killed while it wrote a transaction to its append-only file
// can leave the beginning of one there. The next server passes over it, but
// where the last command of it was cut in two (Redis 7.0) it leaves the whole
// ones in the file, and appends to them: when a third server loads the file,
// the forgotten transaction comes back with what was written since. So a server
// that found its file cut short is made to write a new one before it is used.

const (
	// cutShort is what a server says of such a file.
	cutShort = "short read while loading the AOF"
	// accepting is what every server says when it has loaded.
	accepting = "ready to accept connections"
	// hearing bounds the wait for that word, which has been said by the time
	// the server answers.
	hearing = time.Second
)

// heard notes what matters in the server's log.
func (s *Server) heard(text string) {
	if strings.Contains(text, cutShort) {
		s.cut.Store(true)
	}
	if isDamage(text) {
		s.damage.CompareAndSwap(nil, &text)
	}
	if strings.Contains(strings.ToLower(text), accepting) {
		s.once.Do(func() { close(s.accepting) })
	}
}

// mend has the server write its append-only file anew if it found it cut short.
func (s *Server) mend(ctx context.Context, opt Options) error {
	if !slices.Contains(opt.Config, "appendonly yes") {
		return nil
	}
	select {
	case <-s.accepting:
	case <-time.After(hearing):
	}
	if !s.cut.Load() {
		return nil
	}
	name, size := lastFile(opt.Dir)
	if name != s.before.name {
		size = s.before.size // it was upgraded, which moves the file
	}
	// More than the last command or transaction means damage in the middle.
	opt.Logger.Warn("the append-only file was cut short when the last server died; writing it anew", "bytes cut off", s.before.size-size)
	for {
		answer, err := s.ask("BGREWRITEAOF")
		if err != nil {
			return fmt.Errorf("redisserver: write the append-only file anew: %w", err)
		}
		if bytes.HasPrefix(answer, []byte("-NOAUTH")) {
			opt.Logger.Warn("the append-only file was cut short; have the server write it anew: BGREWRITEAOF")
			return nil
		}
		if bytes.HasPrefix(answer, []byte("+")) {
			return s.rewritten(ctx)
		}
		// It is writing something else right now.
		if err := s.pause(ctx); err != nil {
			return err
		}
	}
}

// lastFile is the file to which a server appends, and its size.
func lastFile(dir string) (name string, size int64) {
	d, err := readDataDir(dir)
	if err != nil {
		return "", 0
	}
	name = aofName
	if len(d.parts) > 0 {
		name = d.parts[len(d.parts)-1]
	}
	return name, sizeOf(filepath.Join(dir, name))
}

// rewritten waits until the append-only file is written anew.
func (s *Server) rewritten(ctx context.Context) error {
	for {
		info, err := s.ask("INFO persistence")
		if err != nil {
			return fmt.Errorf("redisserver: write the append-only file anew: %w", err)
		}
		if bytes.Contains(info, []byte("aof_rewrite_in_progress:0")) && bytes.Contains(info, []byte("aof_rewrite_scheduled:0")) {
			if !bytes.Contains(info, []byte("aof_last_bgrewrite_status:ok")) {
				return errors.New("redisserver: the append-only file could not be written anew" + s.tail.text())
			}
			return nil
		}
		if err := s.pause(ctx); err != nil {
			return err
		}
	}
}

// pause waits a moment before the server is asked again.
func (s *Server) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("redisserver: write the append-only file anew: %w", ctx.Err())
	case <-s.done:
		return s.err
	case <-time.After(5 * time.Millisecond):
		return nil
	}
}
