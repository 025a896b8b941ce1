package bulk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"retwis/bulk/internal/input"
)

const (
	// markEvery is the distance in bytes between possible resume points.
	markEvery = 64 << 10
	// promise is how many bytes a load may send beyond the recorded offset before it writes the
	// file again.
	promise = 16 << 20
	// saveEvery is the minimum time between two writes that record progress.
	saveEvery = 500 * time.Millisecond
)

// saved is the content of a checkpoint file.
type saved struct {
	Version  int    `json:"version"`
	Offset   int64  `json:"offset"`   // of the decompressed input; all commands before it are answered
	SHA256   string `json:"sha256"`   // of the input up to that offset
	Promised int64  `json:"promised"` // nothing after this offset has been sent
	Commands int64  `json:"commands"`
	Line     int64  `json:"line"`
	Record   int64  `json:"record"`
	DB       int    `json:"db"`
	Format   Format `json:"format"`
	File     int    `json:"file,omitempty"` // number of the file that contains Offset, starting at 1
	Base     int64  `json:"base,omitempty"` // total size of the files before it

	Columns       []string `json:"columns,omitempty"`
	Do            []string `json:"do,omitempty"`
	SkipIfMissing []string `json:"skip_if_missing,omitempty"`
}

// mark is a point where a load can resume once all commands before it are answered.
type mark struct {
	pos input.Where
	no  int64 // number of commands before it
	sum string
	db  int
}

// checkpoint records the progress of a load in a file. A nil *checkpoint records nothing.
type checkpoint struct {
	path    string
	now     saved
	marks   []mark // not passed yet, oldest first
	next    int64  // offset of the next mark
	changed bool   // now differs from the file
	written time.Time
	sent    int64 // nothing after this offset has been sent
	err     error // of the last write of progress; the next reach returns it
}

// openCheckpoint reads the file left by an earlier load that did not finish, if it exists.
func openCheckpoint(opt Options) (*checkpoint, *saved, error) {
	if opt.Checkpoint == "" {
		return nil, nil, nil
	}
	c := &checkpoint{path: opt.Checkpoint, now: saved{Version: 1, SHA256: hex.EncodeToString(sha256.New().Sum(nil))}}
	c.now.Do, c.now.SkipIfMissing = opt.Do, opt.SkipIfMissing
	text, err := os.ReadFile(opt.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("bulk: checkpoint: %w", err)
	}
	var from saved
	if err := json.Unmarshal(text, &from); err != nil || from.Version != 1 || from.Offset < 0 {
		return nil, nil, &InputError{Msg: fmt.Sprintf("%s is not the checkpoint of a load; remove it to start again", opt.Checkpoint)}
	}
	if !slices.Equal(from.Do, c.now.Do) || !slices.Equal(from.SkipIfMissing, c.now.SkipIfMissing) ||
		opt.Format != Auto && opt.Format != from.Format && from.Format != RDB || opt.Columns != nil && !slices.Equal(from.Columns, opt.Columns) {
		return nil, nil, &InputError{Msg: fmt.Sprintf("the checkpoint %s is from a load with a different format, columns or templates; "+
			"use the same ones, or remove it to start again", opt.Checkpoint)}
	}
	c.now = from
	return c, &from, nil
}

// start returns where to resume the input.
func (s *saved) start() *input.Start {
	if s == nil {
		return nil
	}
	return &input.Start{SHA256: s.SHA256, Where: input.Where{
		Position: input.Position{Offset: s.Offset, Line: s.Line, Record: s.Record},
		File:     s.File, Base: s.Base, Format: s.Format, Columns: s.Columns,
	}}
}

// begin records what is known only once the input is open. A new load starts after the header of
// the input.
func (c *checkpoint) begin(in *input.Input) {
	if c == nil {
		return
	}
	if pos, ok := in.End(); ok && pos.Offset > c.now.Offset {
		c.now.Offset, c.now.Line, c.now.SHA256 = pos.Offset, pos.Line, in.Digest.Sum(pos.Offset)
	}
	c.now.Format, c.now.Columns = in.Format, in.Columns
	c.next = c.now.Offset + markEvery
}

// mark adds a resume point after command number no.
func (c *checkpoint) mark(pos input.Where, no int64, db int, digest *input.Digester) {
	c.marks = append(c.marks, mark{pos, no, digest.Sum(pos.Offset), db})
	c.next = pos.Offset + markEvery
}

// reach records that commands up to offset may have been sent, before they are sent.
func (c *checkpoint) reach(offset int64) error {
	if c == nil {
		return nil
	}
	if c.sent = offset; c.err != nil {
		return c.err
	}
	if offset <= c.now.Promised && !c.written.IsZero() {
		return nil
	}
	c.now.Promised = offset + promise
	return c.write()
}

// passed records that all commands up to number no are answered.
func (c *checkpoint) passed(no int64) {
	if c == nil {
		return
	}
	for len(c.marks) > 0 && c.marks[0].no <= no {
		m := c.marks[0]
		c.marks = c.marks[1:]
		c.now.Offset, c.now.Line, c.now.Record = m.pos.Offset, m.pos.Line, m.pos.Record
		c.now.Commands, c.now.SHA256, c.now.DB, c.changed = m.no, m.sum, m.db, true
		c.now.File, c.now.Base, c.now.Format, c.now.Columns = m.pos.File, m.pos.Base, m.pos.Format, m.pos.Columns
	}
	if c.changed && time.Since(c.written) >= saveEvery {
		c.err = c.write()
	}
}

// stop writes the file at the end of a load. answered reports whether all commands sent have been
// answered.
func (c *checkpoint) stop(answered bool) error {
	sent := c.sent
	if answered {
		sent = 0
	}
	c.now.Promised = max(min(c.now.Promised, sent), c.now.Offset)
	return errors.Join(c.err, c.write())
}

// write replaces the file atomically and syncs it.
func (c *checkpoint) write() error {
	c.changed, c.written = false, time.Now()
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
