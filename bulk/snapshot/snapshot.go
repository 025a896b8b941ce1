// Package snapshot reads a snapshot (RDB) from a running server, for a backup.
//
// [Take] requests it as a replica does, and as "redis-cli --rdb" does: the server forks, and
// sends all of its databases as they are at that moment. It needs the permissions of a replica.
// [Scan] reads the keys of one database in sequence with SCAN and DUMP, and only needs permission
// to read keys: a key that changes meanwhile is saved as it was at some time during the scan, and
// a key that exists throughout is always included. On a Cluster, both save a single server: a key
// whose slot moves between two servers can be missing from both snapshots.
//
// Package bulk loads both kinds of snapshots into any server: [bulk.Options].Database selects one
// database.
package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/bulk/internal/rdb"
	"retwis/bulk/internal/server"
	"retwis/internal/redis/rediserr"
)

// ErrRefused means that the server sends no snapshot to this user, or to anyone. Scan may work.
var ErrRefused = errors.New("the server refuses to send a snapshot")

// silence is how long a server may send nothing. While it prepares the snapshot, it sends a
// newline every second.
const silence = time.Minute

// Take writes a snapshot of a server to w. The server is addr, a node of a Cluster, or the one of
// the options, or of their sentinels, if addr is empty. It needs permission for REPLCONF and
// SYNC; without it, or if a hosting service refuses them, the error is ErrRefused. The server
// forks once; it may first wait some seconds for other replicas (repl-diskless-sync-delay).
func Take(ctx context.Context, options rueidis.ClientOption, addr string, w io.Writer) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("snapshot: %w", errors.Join(err, ctx.Err()))
		}
	}()
	d := server.Dialer{Options: options}
	if addr == "" {
		if addr, err = d.Master(ctx); err != nil {
			return err
		}
	}
	c, err := d.Connect(ctx, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	// Servers before 7.0 do not know rdb-only, and buffer changes for a replica that then never
	// asks for them. A server that refuses REPLCONF refuses SYNC, too.
	for _, what := range [][2]string{{"capa", "eof"}, {"rdb-only", "1"}} {
		if _, err := c.Do("REPLCONF", what[0], what[1]); err != nil && !server.IsReply(err, "") {
			return err
		}
	}
	if _, err := io.WriteString(c, "*1\r\n$4\r\nSYNC\r\n"); err != nil {
		return err
	}
	in := bufio.NewReaderSize(&patient{c, c.Replies.Rest()}, 1<<16)
	length, mark, err := announced(in)
	if err != nil {
		return err
	}
	if err := known(in); err != nil {
		return err
	}
	if mark != nil {
		return copyToMark(w, in, mark)
	}
	if _, err := io.CopyN(w, in, length); err != nil {
		return cut(err)
	}
	return nil
}

// patient limits the wait for each read.
type patient struct {
	c *server.Conn
	r io.Reader
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.c.SetReadDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	n, err := p.r.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the server has sent nothing for %v", silence)
	}
	return n, err
}

// announced reads the line before the snapshot: its length, or the mark that follows its end.
// Empty lines before it are keep-alives.
func announced(in *bufio.Reader) (length int64, mark []byte, err error) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, nil, cut(err)
		}
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "":
			continue
		case line[0] == '-' && isTemporary(line[1:]):
			return 0, nil, errors.New(line[1:])
		case line[0] == '-':
			return 0, nil, fmt.Errorf("%w: %s", ErrRefused, line[1:])
		case strings.HasPrefix(line, "$EOF:") && len(line) == len("$EOF:")+markSize:
			return 0, []byte(line[len("$EOF:"):]), nil
		case line[0] == '$':
			if length, err = strconv.ParseInt(line[1:], 10, 64); err == nil && length > 0 {
				return length, nil, nil
			}
		}
		return 0, nil, fmt.Errorf("%w: it answered SYNC with %.60q", ErrRefused, line)
	}
}

// markSize is the size of the mark after a snapshot of unknown length.
const markSize = 40

// isTemporary reports whether an error of SYNC is not about missing permissions.
func isTemporary(reply string) bool {
	class := rediserr.OfReply(reply)
	return class == rediserr.Unavailable || class == rediserr.WritesRefused
}

// known returns an error if the snapshot has a version that this program cannot read.
func known(in *bufio.Reader) error {
	head, err := in.Peek(9)
	if err != nil {
		return cut(err)
	}
	version, newer := rdb.Header(head)
	switch {
	case version == 0:
		return fmt.Errorf("%w: what it sent is not a snapshot (RDB)", ErrRefused)
	case newer:
		return fmt.Errorf("the server writes snapshots (RDB) of version %d, and only versions up to %d can be read back", version, rdb.Version)
	}
	return nil
}

// copyToMark copies a snapshot up to the mark that follows it. Nothing follows the mark.
func copyToMark(w io.Writer, in io.Reader, mark []byte) error {
	buf := make([]byte, 1<<16)
	held := 0 // bytes at the start of buf that may be part of the mark
	for {
		n, err := in.Read(buf[held:])
		got := buf[:held+n]
		if bytes.HasSuffix(got, mark) {
			_, err := w.Write(got[:len(got)-markSize])
			return err
		}
		if err != nil {
			return cut(err)
		}
		if safe := len(got) - markSize; safe > 0 {
			if _, err := w.Write(got[:safe]); err != nil {
				return err
			}
			held = copy(buf, got[safe:])
		} else {
			held = len(got)
		}
	}
}

// cut explains a connection that ended within the snapshot.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the server closed the connection before the end of the snapshot; its log has the reason")
	}
	return err
}
