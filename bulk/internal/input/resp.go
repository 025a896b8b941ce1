package input

import (
	"errors"
	"io"

	"retwis/bulk/internal/rdb"
	"retwis/bulk/resp"
)

// respSource is an input in the protocol.
type respSource struct{ s *resp.Scanner }

func (r *respSource) Next(f *resp.Frame) (Place, error) {
	err := r.s.Next(f)
	return Place{Offset: r.s.Offset()}, err
}

func (r *respSource) End() (Position, bool) { return Position{Offset: r.s.End()}, true }

func (r *respSource) Skipped() int64 { return 0 }

// snapshot is an input that begins with a snapshot: the snapshot alone, or an append-only file.
type snapshot struct {
	head    *rdb.Reader
	tail    *resp.Scanner // reads the commands after the snapshot; nil until the snapshot ends
	earlier int64         // number of records in earlier files
}

func newSnapshot(r io.Reader, opt rdb.Options, earlier int64) *snapshot {
	return &snapshot{head: rdb.NewReader(r, opt), earlier: earlier}
}

func (s *snapshot) Next(f *resp.Frame) (Place, error) {
	if s.tail == nil {
		err := s.head.Next(f)
		p := Place{Offset: s.head.Offset(), Record: s.earlier + s.head.Keys(), InKey: s.head.InKey(), Repeatable: s.head.Repeatable()}
		if key := (*rdb.KeyError)(nil); errors.As(err, &key) {
			bad := &BadRecord{InputError: resp.InputError{Offset: key.Offset, Msg: key.Error()}, Record: p.Record, Key: key.Key, DB: key.DB}
			return p, bad
		}
		if !errors.Is(err, io.EOF) {
			return p, err
		}
		s.tail = resp.NewScannerAt(s.head.Rest())
	}
	err := s.tail.Next(f)
	return Place{Offset: s.tail.Offset(), Record: s.earlier + s.head.Keys()}, err
}

func (s *snapshot) End() (Position, bool) {
	p := Position{Record: s.earlier + s.head.Keys()}
	if s.tail != nil {
		p.Offset = s.tail.End()
		return p, true
	}
	var ok bool
	p.Offset, ok = s.head.End()
	return p, ok
}

func (s *snapshot) Skipped() int64 { return s.head.Expired() }
