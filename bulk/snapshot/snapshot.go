// Package snapshot reads a snapshot (RDB) from a running server, for a backup.
//
// [Take] requests a snapshot like a replica or "redis-cli --rdb": the server forks, and sends all
// of its databases as they are at that moment. Take needs the permissions of a replica. [Scan]
// reads the keys of one database in sequence with SCAN and DUMP, and needs only permission to read
// keys: a key that changes during the scan is saved as it was at some time during the scan, and a
// key that exists throughout the scan is always included. On a Cluster, Take and Scan save a single
// server: a key whose slot moves between two servers can be missing from both snapshots.
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

// ErrRefused means that the server does not send a snapshot to this user, or to any user. Scan may
// still work.
var ErrRefused = errors.New("the server refuses to send a snapshot")

// maxSilence is the maximum time without data from the server. While the server prepares the
// snapshot, it sends a newline every second.
const maxSilence = time.Minute

// Take writes a snapshot of a server to w. The server is addr, such as a node of a Cluster; if addr
// is empty, it is the server of the options or their sentinels. Take needs permission for REPLCONF
// and SYNC; without permission, or if a hosting service refuses the commands, the error is
// ErrRefused. The server forks once; it may first wait some seconds for other replicas
// (repl-diskless-sync-delay).
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
	// Servers before 7.0 do not support rdb-only, and buffer changes that are never read. A server
	// that refuses REPLCONF refuses SYNC, too.
	for _, what := range [][2]string{{"capa", "eof"}, {"rdb-only", "1"}} {
		if _, err := c.Do("REPLCONF", what[0], what[1]); err != nil && !server.IsReply(err, "") {
			return err
		}
	}
	if _, err := io.WriteString(c, "*1\r\n$4\r\nSYNC\r\n"); err != nil {
		return err
	}
	in := bufio.NewReaderSize(&timeoutReader{c, c.Replies.Rest()}, 1<<16)
	length, mark, err := readPreamble(in)
	if err != nil {
		return err
	}
	if err := checkVersion(in); err != nil {
		return err
	}
	if mark != nil {
		return copyToMark(w, in, mark)
	}
	if _, err := io.CopyN(w, in, length); err != nil {
		return endError(err)
	}
	return nil
}

// timeoutReader limits the duration of each read to maxSilence.
type timeoutReader struct {
	c *server.Conn
	r io.Reader
}

func (t *timeoutReader) Read(b []byte) (int, error) {
	if err := t.c.SetReadDeadline(time.Now().Add(maxSilence)); err != nil {
		return 0, err
	}
	n, err := t.r.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the server has sent nothing for %v", maxSilence)
	}
	return n, err
}

// readPreamble reads the line before the snapshot. It returns the length of the snapshot, or the
// mark that follows its end. Empty lines before that line are keep-alives.
func readPreamble(in *bufio.Reader) (length int64, mark []byte, err error) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, nil, endError(err)
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
		return 0, nil, fmt.Errorf("%w: the reply to SYNC is %.60q", ErrRefused, line)
	}
}

// markSize is the size of the mark after a snapshot of unknown length.
const markSize = 40

// isTemporary reports whether an error reply to SYNC is temporary, and not about permissions.
func isTemporary(reply string) bool {
	class := rediserr.OfReply(reply)
	return class == rediserr.Unavailable || class == rediserr.WritesRefused
}

// checkVersion returns an error if this program cannot read the version of the snapshot.
func checkVersion(in *bufio.Reader) error {
	head, err := in.Peek(9)
	if err != nil {
		return endError(err)
	}
	version, newer := rdb.Header(head)
	switch {
	case version == 0:
		return fmt.Errorf("%w: the data that it sent is not a snapshot (RDB)", ErrRefused)
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
			return endError(err)
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

// endError explains a connection that ended within the snapshot.
func endError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the server closed the connection before the end of the snapshot; see the server's log for the reason")
	}
	return err
}
