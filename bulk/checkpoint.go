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
	// markEvery is the minimum distance in bytes between resume points.
	markEvery = 64 << 10
	// promiseBytes is the number of bytes that a load may send before it must record a new value
	// of saved.Promised.
	promiseBytes = 16 << 20
	// saveEvery is the minimum time between two writes that record progress.
	saveEvery = 500 * time.Millisecond
)

// saved is the content of a checkpoint file.
type saved struct {
	Version  int    `json:"version"`
	Offset   int64  `json:"offset"`   // of the decompressed input; all commands before it are answered
	SHA256   string `json:"sha256"`   // of the input up to Offset
	Promised int64  `json:"promised"` // nothing after this offset has been sent
	Commands int64  `json:"commands"`
	Line     int64  `json:"line"`
	Record   int64  `json:"record"`
	DB       int    `json:"db"`
	Format   Format `json:"format"`
	File     int    `json:"file,omitempty"` // number of the file that contains Offset, starting at 1
	Base     int64  `json:"base,omitempty"` // total size of the files before that file

	Columns       []string `json:"columns,omitempty"`
	Do            []string `json:"do,omitempty"`
	SkipIfMissing []string `json:"skip_if_missing,omitempty"`
}

// mark is a point where a load can resume once all commands before it are answered.
type mark struct {
	pos input.Where
	no  int64 // number of commands before pos
	sum string
	db  int
}

// checkpoint records the progress of a load in a file. A nil *checkpoint records nothing.
type checkpoint struct {
	path    string
	state   saved
	marks   []mark // resume points whose commands are not all answered, oldest first
	next    int64  // minimum offset of the next mark
	changed bool   // state differs from the file
	written time.Time
	sent    int64 // nothing after this offset has been sent
	err     error // error of the last write by passed; reach returns it
}

// openCheckpoint returns the checkpoint of a load, and the state saved by an earlier load, if the
// file exists.
func openCheckpoint(opt Options) (*checkpoint, *saved, error) {
	if opt.Checkpoint == "" {
		return nil, nil, nil
	}
	c := &checkpoint{path: opt.Checkpoint, state: saved{Version: 1, SHA256: hex.EncodeToString(sha256.New().Sum(nil))}}
	c.state.Do, c.state.SkipIfMissing = opt.Do, opt.SkipIfMissing
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
	if !slices.Equal(from.Do, c.state.Do) || !slices.Equal(from.SkipIfMissing, c.state.SkipIfMissing) ||
		opt.Format != Auto && opt.Format != from.Format && from.Format != RDB || opt.Columns != nil && !slices.Equal(from.Columns, opt.Columns) {
		return nil, nil, &InputError{Msg: fmt.Sprintf("the checkpoint %s is from a load with a different format, columns or templates; "+
			"use the same ones, or remove it to start again", opt.Checkpoint)}
	}
	c.state = from
	return c, &from, nil
}

// start returns where to resume the input, or nil if s is nil.
func (s *saved) start() *input.Start {
	if s == nil {
		return nil
	}
	return &input.Start{SHA256: s.SHA256, Where: input.Where{
		Position: input.Position{Offset: s.Offset, Line: s.Line, Record: s.Record},
		File:     s.File, Base: s.Base, Format: s.Format, Columns: s.Columns,
	}}
}

// begin records the format and columns of the open input. A new load starts after the header of the
// input.
func (c *checkpoint) begin(in *input.Input) {
	if c == nil {
		return
	}
	if pos, ok := in.End(); ok && pos.Offset > c.state.Offset {
		c.state.Offset, c.state.Line, c.state.SHA256 = pos.Offset, pos.Line, in.Digest.Sum(pos.Offset)
	}
	c.state.Format, c.state.Columns = in.Format, in.Columns
	c.next = c.state.Offset + markEvery
}

// mark adds a resume point after command number no.
func (c *checkpoint) mark(pos input.Where, no int64, db int, digest *input.Digester) {
	c.marks = append(c.marks, mark{pos, no, digest.Sum(pos.Offset), db})
	c.next = pos.Offset + markEvery
}

// reach records that commands up to offset may have been sent. It is called before sending them.
func (c *checkpoint) reach(offset int64) error {
	if c == nil {
		return nil
	}
	if c.sent = offset; c.err != nil {
		return c.err
	}
	if offset <= c.state.Promised && !c.written.IsZero() {
		return nil
	}
	c.state.Promised = offset + promiseBytes
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
		c.state.Offset, c.state.Line, c.state.Record = m.pos.Offset, m.pos.Line, m.pos.Record
		c.state.Commands, c.state.SHA256, c.state.DB, c.changed = m.no, m.sum, m.db, true
		c.state.File, c.state.Base, c.state.Format, c.state.Columns = m.pos.File, m.pos.Base, m.pos.Format, m.pos.Columns
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
	c.state.Promised = max(min(c.state.Promised, sent), c.state.Offset)
	return errors.Join(c.err, c.write())
}

// write replaces the file atomically and syncs it.
func (c *checkpoint) write() error {
	c.changed, c.written = false, time.Now()
	text, err := json.MarshalIndent(c.state, "", "  ")
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
