package bulk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// markEvery is how much input lies between two places from which a load can go
	// on.
	markEvery = 64 << 10
	// promise is how much further than was written down a load may go before it
	// writes again.
	promise = 16 << 20
	// saveEvery is how often progress is written down, at most.
	saveEvery = 500 * time.Millisecond
)

// saved is what a checkpoint file holds.
type saved struct {
	Version  int    `json:"version"`
	Offset   int64  `json:"offset"`   // of the decompressed input; all before it is answered
	SHA256   string `json:"sha256"`   // of the input up to there
	Promised int64  `json:"promised"` // nothing behind this offset has been sent
	Commands int64  `json:"commands"`
	Line     int64  `json:"line"`
	Record   int64  `json:"record"`
	DB       int    `json:"db"`
	Format   Format `json:"format"`

	Columns       []string `json:"columns,omitempty"`
	Do            []string `json:"do,omitempty"`
	SkipIfMissing []string `json:"skip_if_missing,omitempty"`
}

// mark is a place from which a load can go on once all before it is answered.
type mark struct {
	pos position
	no  int64 // the commands before it
	sum string
	db  int
}

// checkpoint writes down how far a load has come.
type checkpoint struct {
	path   string
	now    saved
	marks  []mark // not passed yet, oldest first
	next   int64  // the offset of the next mark
	fresh  bool   // now has not been written
	lately time.Time
}

// openCheckpoint reads the file of a load that did not end, if there is one.
func openCheckpoint(opt Options) (*checkpoint, *saved, error) {
	c := &checkpoint{path: opt.Checkpoint, now: saved{Version: 1, SHA256: hex.EncodeToString(sha256.New().Sum(nil))}}
	for _, t := range opt.Do {
		c.now.Do = append(c.now.Do, t.String())
	}
	c.now.SkipIfMissing = opt.SkipIfMissing
	text, err := os.ReadFile(opt.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("bulk: checkpoint: %w", err)
	}
	var from saved
	if err := json.Unmarshal(text, &from); err != nil || from.Version != 1 || from.Offset < 0 {
		return nil, nil, &InputError{Msg: fmt.Sprintf("%s is not the checkpoint of a load; remove it to begin anew", opt.Checkpoint)}
	}
	if !slices.Equal(from.Do, c.now.Do) || !slices.Equal(from.SkipIfMissing, c.now.SkipIfMissing) ||
		opt.Format != Auto && opt.Format != from.Format || opt.Columns != nil && !slices.Equal(from.Columns, opt.Columns) {
		return nil, nil, &InputError{Msg: fmt.Sprintf("the checkpoint %s is of a load with another format, other columns or other templates; "+
			"use the same as then, or remove it to begin anew", opt.Checkpoint)}
	}
	c.now = from
	return c, &from, nil
}

// begin notes what is only known when the input is open. A load that begins has its
// header behind it.
func (c *checkpoint) begin(in *input) {
	if pos, ok := in.end(); ok && pos.Offset > c.now.Offset {
		c.now.Offset, c.now.Line, c.now.SHA256 = pos.Offset, pos.Line, in.digest.sum(pos.Offset)
	}
	c.now.Format, c.now.Columns = in.format, in.columns
	c.next = c.now.Offset + markEvery
}

// mark notes a place that the load has come to, no being the commands before it.
func (c *checkpoint) mark(pos position, no int64, db int, digest *digester) {
	c.marks = append(c.marks, mark{pos, no, digest.sum(pos.Offset), db})
	c.next = pos.Offset + markEvery
}

// reach writes the promise down that nothing behind what is about to be sent has been.
func (c *checkpoint) reach(offset int64) error {
	if offset <= c.now.Promised && !c.lately.IsZero() {
		return nil
	}
	c.now.Promised = offset + promise
	return c.write()
}

// passed notes that all commands up to number no are answered.
func (c *checkpoint) passed(no int64) error {
	for len(c.marks) > 0 && c.marks[0].no <= no {
		m := c.marks[0]
		c.marks = c.marks[1:]
		c.now.Offset, c.now.Line, c.now.Record = m.pos.Offset, m.pos.Line, m.pos.Record
		c.now.Commands, c.now.SHA256, c.now.DB, c.fresh = m.no, m.sum, m.db, true
	}
	if c.fresh && time.Since(c.lately) >= saveEvery {
		return c.write()
	}
	return nil
}

// stop writes the last word of a load that has sent nothing behind an offset, but for
// what is answered.
func (c *checkpoint) stop(sent int64) error {
	c.now.Promised = max(min(c.now.Promised, sent), c.now.Offset)
	return c.write()
}

// write replaces the file as a whole, on the disk.
func (c *checkpoint) write() error {
	c.fresh, c.lately = false, time.Now()
	text, err := json.MarshalIndent(c.now, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(c.path), filepath.Base(c.path)+".*")
	if err != nil {
		return fmt.Errorf("bulk: checkpoint: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), c.path)
	}
	if err != nil {
		return fmt.Errorf("bulk: checkpoint: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// digester computes the digest of an input up to places that are behind what has been
// read.
type digester struct {
	r       io.Reader
	hash    hash.Hash
	base    int64  // what is in hash
	pending []byte // read, and not in hash yet
}

func newDigester(r io.Reader) *digester { return &digester{r: r, hash: sha256.New()} }

func (d *digester) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	d.pending = append(d.pending, p[:n]...)
	return n, err
}

// sum is the digest of the input up to an offset.
func (d *digester) sum(offset int64) string {
	n := int(offset - d.base)
	d.hash.Write(d.pending[:n])
	d.pending = append(d.pending[:0], d.pending[n:]...)
	d.base = offset
	return hex.EncodeToString(d.hash.Sum(nil))
}

// skip passes over what a checkpoint says is done, and refuses another input.
func (d *digester) skip(from *saved) error {
	n, err := io.CopyN(d.hash, d.r, from.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	d.base = n
	if n < from.Offset || hex.EncodeToString(d.hash.Sum(nil)) != from.SHA256 {
		return &InputError{Offset: n, Msg: "the input is not the one of the checkpoint: it differs before the place where the load stopped; remove the checkpoint to begin anew"}
	}
	return nil
}
