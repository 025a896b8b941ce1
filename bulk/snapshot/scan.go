package snapshot

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"retwis/bulk/internal/rdb"
	"retwis/internal/redis/scan"
)

// Opcodes that a scan writes.
const (
	opExpiryMillis = 252
	opSelect       = 254
	opEnd          = 255
)

const (
	// scanCount is the number of keys that one SCAN requests. dumpBatch is the number of keys that
	// are held in memory at a time.
	scanCount = 256
	dumpBatch = 32
	// footerSize is the size of the end of a DUMP: two bytes of version, eight of checksum.
	footerSize = 10
	// oldestVersion is the version of an empty snapshot: the version of Redis 6.2.
	oldestVersion = 9
)

// Scan writes a snapshot of the keys of one server to w, using SCAN and DUMP. It reads the database
// that the clients have selected, and saves it as database db. client sends the commands for keys,
// and node the commands for the server; they differ only on a Cluster. progress, if set, is called
// with the number of keys so far. Expiry times follow the clock of the server, or the local clock
// if the user may not call TIME. A key can be in the snapshot twice if it moves within the server's
// hash table during the scan, or if the server restarts or fails over, which restarts the scan. A
// key whose slot moves to another server of a Cluster can be missing. Scan holds at most 32 keys in
// memory.
func Scan(ctx context.Context, client, node rueidis.Client, db int, w io.Writer, progress func(keys int64)) error {
	s := &scanner{client: client, db: db, w: bufio.NewWriterSize(w, 1<<16)}
	for page, err := range scan.Server(ctx, node, scan.Pattern{Count: scanCount}) {
		if err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
		if err := s.readClock(ctx, node); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
		for keys := range slices.Chunk(page.Keys, dumpBatch) {
			if err := s.dump(ctx, keys); err != nil {
				return fmt.Errorf("snapshot: %w", err)
			}
		}
		if progress != nil {
			progress(s.keys)
		}
	}
	if err := s.end(); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

type scanner struct {
	client  rueidis.Client
	db      int
	w       *bufio.Writer
	version uint16 // of the snapshot; 0: nothing was written yet
	keys    int64

	// serverTime is the server's time at readAt, a time of the local clock.
	serverTime, readAt time.Time
}

// readClock reads the clock of the server. It is called for each page of keys, because the clock
// may be adjusted, and a failover replaces the server.
func (s *scanner) readClock(ctx context.Context, node rueidis.Client) error {
	parts, err := node.Do(ctx, node.B().Time().Build().ToRetryable()).AsIntSlice()
	s.readAt = time.Now()
	_, refused := rueidis.IsRedisErr(err)
	switch {
	case refused:
		s.serverTime = s.readAt
	case err != nil:
		return err
	case len(parts) != 2:
		return errors.New("the server returns a malformed TIME")
	default:
		s.serverTime = time.Unix(parts[0], parts[1]*1000)
	}
	return nil
}

// now returns the current time of the server.
func (s *scanner) now() time.Time { return s.serverTime.Add(time.Since(s.readAt)) }

// dump writes some keys. It leaves out keys that no longer exist.
func (s *scanner) dump(ctx context.Context, keys []string) error {
	b := s.client.B()
	cmds := make(rueidis.Commands, 0, 2*len(keys))
	for _, key := range keys {
		cmds = append(cmds, b.Dump().Key(key).Build(), b.Pttl().Key(key).Build())
	}
	now := s.now()
	results := s.client.DoMulti(ctx, cmds...)
	for i, key := range keys {
		value, err := results[2*i].ToString()
		if rueidis.IsRedisNil(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("key %.100q: %w", key, err)
		}
		left, err := results[2*i+1].AsInt64()
		if err != nil {
			return fmt.Errorf("key %.100q: %w", key, err)
		}
		if left == -2 { // the key expired or was deleted between the two commands
			continue
		}
		if err := s.write(key, value, now, left); err != nil {
			return err
		}
	}
	return nil
}

// write writes a key with the value that DUMP returned. left is the result of PTTL.
func (s *scanner) write(key, value string, now time.Time, left int64) error {
	if len(value) <= footerSize {
		return fmt.Errorf("key %.100q: the server returns a malformed DUMP", key)
	}
	body := value[:len(value)-footerSize]
	version := binary.LittleEndian.Uint16([]byte(value[len(body) : len(body)+2]))
	if err := s.begin(version); err != nil {
		return err
	}
	if left >= 0 {
		s.byte(opExpiryMillis)
		s.bytes(binary.LittleEndian.AppendUint64(nil, uint64(now.UnixMilli()+left)))
	}
	s.byte(body[0])
	s.length(uint64(len(key)))
	s.text(key)
	s.text(body[1:])
	s.keys++
	return nil
}

// begin writes the header before the first key.
func (s *scanner) begin(version uint16) error {
	switch {
	case s.version == version:
		return nil
	case version > rdb.Version:
		return fmt.Errorf("the server writes values of version %d, and only versions up to %d can be read back", version, rdb.Version)
	case s.version > version:
		return nil // the key comes from another server of a Cluster that is being upgraded
	case s.version != 0:
		return errors.New("the server was upgraded during the scan: repeat it")
	}
	s.version = version
	s.text(fmt.Sprintf("REDIS%04d", version))
	s.byte(opSelect)
	s.length(uint64(s.db))
	return nil
}

// end writes the end of the snapshot, without a checksum.
func (s *scanner) end() error {
	if s.version == 0 {
		if err := s.begin(oldestVersion); err != nil {
			return err
		}
	}
	s.byte(opEnd)
	s.bytes(make([]byte, 8))
	return s.w.Flush()
}

// A bufio.Writer keeps its first error, which Flush returns.

func (s *scanner) byte(b byte)    { _ = s.w.WriteByte(b) }
func (s *scanner) bytes(b []byte) { _, _ = s.w.Write(b) }
func (s *scanner) text(t string)  { _, _ = s.w.WriteString(t) }

// length writes a length in the format of a snapshot.
func (s *scanner) length(n uint64) {
	switch {
	case n < 1<<6:
		s.byte(byte(n))
	case n < 1<<14:
		s.bytes([]byte{0x40 | byte(n>>8), byte(n)})
	case n < 1<<32:
		s.bytes(binary.BigEndian.AppendUint32([]byte{0x80}, uint32(n)))
	default:
		s.bytes(binary.BigEndian.AppendUint64([]byte{0x81}, n))
	}
}
