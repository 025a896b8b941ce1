package cli

import (
	"bufio"
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// unpacking reads what may be compressed with gzip or zstd, which its first bytes
// tell: not before somebody reads, as standard input may be a person.
type unpacking struct {
	packed io.ReadCloser
	plain  io.Reader
	end    func()
}

func unpack(packed io.ReadCloser) *unpacking { return &unpacking{packed: packed, end: func() {}} }

func (u *unpacking) Read(p []byte) (int, error) {
	if u.plain == nil {
		if err := u.begin(); err != nil {
			return 0, err
		}
	}
	return u.plain.Read(p)
}

func (u *unpacking) begin() error {
	in := bufio.NewReaderSize(u.packed, 64<<10)
	head, _ := in.Peek(4) // a short input, or an error, is for whoever reads on
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
