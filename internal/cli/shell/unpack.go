package shell

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"retwis/bulk"
	"retwis/index"
)

// unpacking reads input that may be compressed with gzip or zstd, as its first bytes
// show. It does not read ahead of the first Read, because standard input may be a
// terminal. A file of another kind, such as an archive, is an error.
type unpacking struct {
	packed io.ReadCloser
	plain  io.Reader
	err    error // of begin; it stays, for readers that look ahead
	end    func()
}

func unpack(packed io.ReadCloser) *unpacking { return &unpacking{packed: packed, end: func() {}} }

func (u *unpacking) Read(p []byte) (int, error) {
	if u.plain == nil && u.err == nil {
		u.err = u.begin()
	}
	if u.err != nil {
		return 0, u.err
	}
	return u.plain.Read(p)
}

func (u *unpacking) begin() error {
	in := bufio.NewReaderSize(u.packed, 64<<10)
	_, _ = in.Peek(4) // the next read returns the error, if there is one
	head, _ := in.Peek(in.Buffered())
	if foreign := (*bulk.InputError)(nil); errors.As(bulk.CheckHead(head), &foreign) {
		return fmt.Errorf("%w: %s", index.ErrValue, foreign.Msg)
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		u.plain = z
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(16<<20))
		if err != nil {
			return err
		}
		u.plain, u.end = z, z.Close
	default:
		u.plain = in
	}
	return nil
}

func (u *unpacking) Close() error {
	u.end()
	return u.packed.Close()
}
