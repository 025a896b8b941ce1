package redisserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	opt.Logger.Info("the append-only file was cut short when the last server died; writing it anew")
	for asked := false; ; {
		if !asked {
			answer, err := s.ask("BGREWRITEAOF")
			if err != nil {
				return fmt.Errorf("redisserver: write the append-only file anew: %w", err)
			}
			if bytes.HasPrefix(answer, []byte("-NOAUTH")) {
				opt.Logger.Warn("the append-only file was cut short; have the server write it anew: BGREWRITEAOF")
				return nil
			}
			// One that is writing something else right now says so.
			asked = bytes.HasPrefix(answer, []byte("+"))
		}
		info, err := s.ask("INFO persistence")
		if err != nil {
			return fmt.Errorf("redisserver: write the append-only file anew: %w", err)
		}
		if asked && bytes.Contains(info, []byte("aof_rewrite_in_progress:0")) && bytes.Contains(info, []byte("aof_rewrite_scheduled:0")) {
			if !bytes.Contains(info, []byte("aof_last_bgrewrite_status:ok")) {
				return errors.New("redisserver: the append-only file was cut short, and could not be written anew" + s.tail.text())
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("redisserver: write the append-only file anew: %w", ctx.Err())
		case <-s.done:
			return s.err
		case <-time.After(5 * time.Millisecond):
		}
	}
}
