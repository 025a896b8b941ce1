package takeout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxItem limits the size of an activity, in bytes. Activities of Mastodon have a few kilobytes.
const maxItem = 4 << 20

// item is the position of an activity in the outbox.
type item struct {
	at   int64
	size int
}

var errItem = errors.New("it has more than 4 MB")

// each calls visit with each activity of the outbox. An error includes the position.
func (a *Archive) each(ctx context.Context, visit func(at item, raw []byte) error) error {
	in := &bounded{Reader: ctxReader{ctx, io.NewSectionReader(a.outbox, 0, a.size)}}
	d := json.NewDecoder(in)
	number := 0
	err := a.members(d, in, func(raw json.RawMessage) error {
		number++
		return visit(item{d.InputOffset() - int64(len(raw)), len(raw)}, raw)
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s: after activity %d, at byte %d: %w", outboxName, number, d.InputOffset(), err)
}

// members reads the object that the outbox consists of, and the activities in it.
func (a *Archive) members(d *json.Decoder, in *bounded, visit func(raw json.RawMessage) error) error {
	if err := expect(d, in, '{'); err != nil {
		return err
	}
	found := false
	for d.More() {
		in.allow(d)
		name, err := d.Token()
		if err != nil {
			return err
		}
		if name != "orderedItems" {
			if err := skip(d, in); err != nil {
				return err
			}
			continue
		}
		found = true
		if err := expect(d, in, '['); err != nil {
			return err
		}
		for in.allow(d); d.More(); in.allow(d) {
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				return err
			}
			if err := visit(raw); err != nil {
				return err
			}
		}
		if err := expect(d, in, ']'); err != nil {
			return err
		}
	}
	if err := expect(d, in, '}'); err != nil {
		return err
	}
	in.allow(d)
	if token, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.Join(err, fmt.Errorf("found %.40q after the end", fmt.Sprint(token)))
	}
	if !found {
		return errors.New("there are no orderedItems: it is not an outbox")
	}
	return nil
}

func expect(d *json.Decoder, in *bounded, want json.Delim) error {
	in.allow(d)
	token, err := d.Token()
	if err == nil && token != want {
		err = fmt.Errorf("found %.40q, want %s", fmt.Sprint(token), want)
	}
	return err
}

func skip(d *json.Decoder, in *bounded) error {
	in.allow(d)
	var raw json.RawMessage
	return d.Decode(&raw)
}

// bounded is a reader that fails at a limit.
type bounded struct {
	io.Reader
	read, limit int64
}

// allow lets the decoder read another value.
func (b *bounded) allow(d *json.Decoder) { b.limit = d.InputOffset() + maxItem }

// Read implements [io.Reader].
func (b *bounded) Read(p []byte) (int, error) {
	if b.read >= b.limit {
		return 0, errItem
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.limit-b.read)])
	b.read += int64(n)
	return n, err
}

// read reads an activity again.
func (a *Archive) read(at item) ([]byte, error) {
	raw := make([]byte, at.size)
	if _, err := a.outbox.ReadAt(raw, at.at); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: at byte %d: %w", outboxName, at.at, err)
	}
	return raw, nil
}
