// Package backup writes the database of a site to one file while the site is in use, and restores
// it anywhere: on another version of the server, on a single server or a Cluster.
//
// A backup is a tar archive, compressed with zstd:
//
//	manifest.json        the source and the time of the backup; see Manifest
//	part-1/000001.rdb    the snapshot (RDB) of the first server, in pieces of 4 MiB
//	part-1/000002.rdb
//	part-2/000001.rdb    the snapshot of the second master of a Cluster
//	SHA256SUMS           the checksums of all other entries, in the format of sha256sum -c
//
// The last entry proves that the archive is complete. The concatenated pieces of a part are an RDB
// file that a server can load.
//
// A snapshot of one server is its state at a point in time. The parts of a Cluster are taken one
// after another, and a scan (see Method) reads keys one after another. The keys of such a backup
// may be inconsistent with each other, and Restore must be followed by a repair (package check). A
// Cluster cannot be backed up while slots migrate, because keys could be missing from all parts.
package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/redis/rueidis"

	"retwis/bulk/snapshot"
	"retwis/internal/redis/nodes"
	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"
)

// Method is how the keys are read.
type Method string

// The methods.
const (
	// Auto takes a snapshot. It scans if the server refuses a snapshot, or has other databases,
	// which a snapshot would include.
	Auto Method = "auto"
	// Snapshot asks each server for a point-in-time snapshot, as a replica does.
	Snapshot Method = "snapshot"
	// Scan reads one key after another, with the permissions of the site.
	Scan Method = "scan"
)

// Format is the version of the format that this package reads and writes.
const Format = 1

// Manifest describes a backup.
type Manifest struct {
	Format   int       `json:"format"`
	ID       string    `json:"id"` // random
	Created  time.Time `json:"created"`
	Retwis   string    `json:"retwis"` // the version of the program
	Server   string    `json:"server"` // such as "redis 7.0.15"
	Layout   string    `json:"layout"` // of the keys; see docs/keys.md
	Database int       `json:"database"`
	Method   Method    `json:"method"`
	Parts    int       `json:"parts"` // number of servers
}

// AtOneMoment reports whether the backup is a point-in-time snapshot.
func (m Manifest) AtOneMoment() bool { return m.Method == Snapshot && m.Parts == 1 }

// Source is the database to back up.
type Source struct {
	Client  rueidis.Client
	Options rueidis.ClientOption // for the same database
}

// Options configure Write.
type Options struct {
	Method  Method // default: Auto
	Version string // of the program
	// Progress, if set, is called with the number of bytes so far and, during a scan, the number of
	// keys so far and in total.
	Progress func(bytes, keys, total int64)
}

// Result describes the backup written by Write.
type Result struct {
	Manifest
	Bytes   int64 `json:"bytes"`   // of the snapshots
	Written int64 `json:"written"` // compressed
	// Reason says why Auto made a scan.
	Reason string `json:"reason,omitempty"`
}

// ErrRestoring reports that a restore into the database was interrupted, so the database contains
// only part of a backup.
var ErrRestoring = errors.New("a restore into this database was interrupted, so it is incomplete")

// ErrSlotsMove reports that slots migrate, so a backup could lack keys.
var ErrSlotsMove = errors.New("slots of the Cluster are being moved to other servers, so the backup could lack some keys; try again when that has finished")

// Write writes a backup of a database to w. If Write fails, the output is not a backup. Memory use
// does not grow with the database, except for the key being scanned.
func Write(ctx context.Context, from Source, w io.Writer, opt Options) (Result, error) {
	b := &writer{from: from, opt: opt}
	if err := b.prepare(ctx); err != nil {
		return Result{}, fmt.Errorf("backup: %w", err)
	}
	if err := b.write(ctx, w); err != nil {
		return Result{}, fmt.Errorf("backup: %w", err)
	}
	return b.result, nil
}

// pieceSize is the size of the pieces of a snapshot.
const pieceSize = 4 << 20

// writer writes a backup.
type writer struct {
	from    Source
	opt     Options
	masters []nodes.Master
	slots   nodes.Slots
	result  Result
	total   int64 // keys

	tar    *tar.Writer
	sums   bytes.Buffer
	part   int
	pieces int
	piece  []byte
	done   int64 // keys of the previous parts
}

// prepare determines what to back up, and how.
func (b *writer) prepare(ctx context.Context) (err error) {
	client := b.from.Client
	if b.masters, err = nodes.Masters(ctx, client); err != nil {
		return err
	}
	if b.slots, err = nodes.OwnSlots(ctx, b.masters); err != nil {
		return err
	}
	if b.slots.Moving() {
		return ErrSlotsMove
	}
	if err := refuseRestoring(ctx, client); err != nil {
		return err
	}
	layoutVersion, err := reply.TextOrEmpty(client.Do(ctx, client.B().Get().Key(storage.LayoutVersion).Build()))
	if err != nil {
		return err
	}
	otherDatabases := 0
	for _, m := range b.masters {
		size, err := m.Client.Do(ctx, m.Client.B().Dbsize().Build()).AsInt64()
		if err != nil {
			return err
		}
		b.total += size
		n, err := countOtherDatabases(ctx, m.Client, b.from.Options.SelectDB)
		if err != nil {
			return err
		}
		otherDatabases += n
	}
	b.result.Manifest = Manifest{
		Format: Format, ID: rand.Text(), Created: time.Now().UTC().Truncate(time.Second), Retwis: b.opt.Version,
		Server: version(ctx, client), Layout: layoutVersion, Database: b.from.Options.SelectDB, Method: b.opt.Method, Parts: len(b.masters),
	}
	if b.result.Method == "" || b.result.Method == Auto {
		b.result.Method = Snapshot
		if otherDatabases > 0 {
			b.result.Method = Scan
			b.result.Reason = "the server holds other databases, which a snapshot would contain"
		}
	}
	return nil
}

// countOtherDatabases returns how many other databases of a server have keys, or 0 if the server
// refuses INFO.
func countOtherDatabases(ctx context.Context, node rueidis.Client, own int) (n int, err error) {
	info, err := node.Do(ctx, node.B().Info().Section("keyspace").Build()).ToString()
	if _, refused := rueidis.IsRedisErr(err); err != nil && !refused {
		return 0, err
	}
	for line := range strings.Lines(info) {
		name, _, ok := strings.Cut(line, ":")
		if number, isDB := strings.CutPrefix(name, "db"); ok && isDB && number != fmt.Sprint(own) {
			n++
		}
	}
	return n, nil
}

// version returns the name and the version of the server, such as "redis 7.0.15".
func version(ctx context.Context, client rueidis.Client) string {
	hello, err := nodes.First(ctx, client, helloTimeout, func(ctx context.Context, node rueidis.Client) (map[string]rueidis.RedisMessage, error) {
		return node.Do(ctx, node.B().Arbitrary("HELLO").Build()).AsMap()
	})
	if err != nil {
		return ""
	}
	name, number := hello["server"], hello["version"]
	first, _ := name.ToString()
	second, _ := number.ToString()
	return first + " " + second
}

const helloTimeout = 5 * time.Second

func (b *writer) write(ctx context.Context, w io.Writer) error {
	// A server that refuses a snapshot does so before the first byte. Wait for that byte, because
	// the manifest names the method.
	first := &snapshotHead{}
	if b.result.Method == Snapshot {
		readCtx, stop := context.WithCancel(ctx)
		defer stop()
		var err error
		if first, err = b.take(readCtx, b.masters[0]); err != nil {
			if !errors.Is(err, snapshot.ErrRefused) || b.opt.Method == Snapshot {
				return err
			}
			b.result.Method, b.result.Reason = Scan, strings.TrimPrefix(err.Error(), "snapshot: ")
		} else {
			defer first.r.Close()
		}
	}
	counted := &counter{w: w}
	z, err := zstd.NewWriter(counted, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(4<<20))
	if err != nil {
		return err
	}
	defer z.Close()
	b.tar = tar.NewWriter(z)
	manifest, err := json.MarshalIndent(b.result.Manifest, "", "  ")
	if err != nil {
		return err
	}
	// Flushing makes the manifest readable even if the file is cut off after it.
	if err := errors.Join(b.entry(manifestName, append(manifest, '\n')), b.tar.Flush(), z.Flush()); err != nil {
		return err
	}
	for i, master := range b.masters {
		b.part, b.pieces = i+1, 0
		if err := b.writePart(ctx, master, first); err != nil {
			return err
		}
		first = nil
	}
	if err := b.checkSlots(ctx); err != nil {
		return err
	}
	if err := b.entry(sumsName, b.sums.Bytes()); err != nil {
		return err
	}
	if err := errors.Join(b.tar.Close(), z.Close()); err != nil {
		return err
	}
	b.result.Written = counted.n
	return nil
}

// checkSlots returns ErrSlotsMove if slots have migrated since the beginning. Keys of a slot that
// migrated to a master whose part was already written could be in no part.
func (b *writer) checkSlots(ctx context.Context) error {
	masters, err := nodes.Masters(ctx, b.from.Client)
	if err != nil {
		return err
	}
	slots, err := nodes.OwnSlots(ctx, masters)
	if err == nil && !slots.Same(b.slots) {
		err = ErrSlotsMove
	}
	return err
}

const (
	manifestName = "manifest.json"
	sumsName     = "SHA256SUMS"
)

// snapshotHead is a snapshot that a server has begun to send.
type snapshotHead struct {
	r     *io.PipeReader
	first []byte // the first byte
	done  chan error
}

// take starts a snapshot, and returns when the first byte has arrived.
func (b *writer) take(ctx context.Context, m nodes.Master) (*snapshotHead, error) {
	addr := m.Address
	if addr == "-" {
		addr = ""
	}
	r, w := io.Pipe()
	h := &snapshotHead{r: r, first: make([]byte, 1), done: make(chan error, 1)}
	go func() {
		err := snapshot.Take(ctx, b.from.Options, addr, w)
		w.CloseWithError(err)
		h.done <- err
	}()
	if _, err := io.ReadFull(r, h.first); err != nil {
		return nil, <-h.done
	}
	return h, nil
}

// writePart writes the part of one server. begun is its snapshot, or nil if none was started.
func (b *writer) writePart(ctx context.Context, m nodes.Master, begun *snapshotHead) error {
	if b.result.Method == Scan {
		err := snapshot.Scan(ctx, b.from.Client, m.Client, b.result.Database, b, func(keys int64) { b.progress(b.done + keys) })
		if err != nil {
			return err
		}
		if m.Address != "-" {
			n, err := m.Client.Do(ctx, m.Client.B().Dbsize().Build()).AsInt64()
			if err != nil {
				return err
			}
			b.done += n
		}
		return b.endPart()
	}
	readCtx, stop := context.WithCancel(ctx)
	defer stop()
	if begun == nil {
		var err error
		if begun, err = b.take(readCtx, m); err != nil {
			return err
		}
	}
	_, err := io.Copy(b, io.MultiReader(bytes.NewReader(begun.first), begun.r))
	begun.r.CloseWithError(err) // ends a Take that is still writing
	if takeErr := <-begun.done; takeErr != nil && err == nil {
		err = takeErr
	}
	if err != nil {
		return err
	}
	return b.endPart()
}

func (b *writer) progress(keys int64) {
	if b.opt.Progress != nil {
		b.opt.Progress(b.result.Bytes, keys, b.total)
	}
}

// Write appends to the current part.
func (b *writer) Write(p []byte) (int, error) {
	written := len(p)
	if b.piece == nil {
		b.piece = make([]byte, 0, pieceSize)
	}
	for len(p) > 0 {
		n := min(len(p), pieceSize-len(b.piece))
		b.piece = append(b.piece, p[:n]...)
		b.result.Bytes += int64(n)
		if p = p[n:]; len(b.piece) == pieceSize {
			if err := b.endPiece(); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

func (b *writer) endPiece() error {
	b.pieces++
	err := b.entry(pieceName(b.part, b.pieces), b.piece)
	b.piece = b.piece[:0]
	if b.result.Method == Snapshot {
		b.progress(0)
	}
	return err
}

func (b *writer) endPart() error {
	if len(b.piece) == 0 {
		return nil
	}
	return b.endPiece()
}

func pieceName(part, piece int) string { return fmt.Sprintf("part-%d/%06d.rdb", part, piece) }

// entry writes a file of the archive, and records its checksum.
func (b *writer) entry(name string, data []byte) error {
	sum := sha256.Sum256(data)
	fmt.Fprintf(&b.sums, "%s  %s\n", hex.EncodeToString(sum[:]), name)
	header := &tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), ModTime: b.result.Created, Format: tar.FormatPAX}
	if err := b.tar.WriteHeader(header); err != nil {
		return err
	}
	_, err := b.tar.Write(data)
	return err
}

// counter counts the bytes written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// refuseRestoring returns ErrRestoring if a database contains part of a backup.
func refuseRestoring(ctx context.Context, client rueidis.Client) error {
	n, err := client.Do(ctx, client.B().Exists().Key(storage.Restoring).Build()).AsInt64()
	if err == nil && n > 0 {
		err = ErrRestoring
	}
	return err
}
