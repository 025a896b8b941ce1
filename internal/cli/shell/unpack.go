package shell

import (
	"bufio"
	"fmt"
	"io"

	"retwis/index"
	"retwis/internal/unpack"
)

// unpacking reads a file that may be compressed. Read fails for other file types, such as archives.
type unpacking struct {
	file    io.Closer
	plain   *unpack.Reader
	r       *bufio.Reader
	checked bool
	err     error // set if the file has another type
}

func newUnpacking(file io.ReadCloser) *unpacking {
	plain := unpack.NewReader(file)
	return &unpacking{file: file, plain: plain, r: bufio.NewReaderSize(plain, 64<<10)}
}

func (u *unpacking) Read(p []byte) (int, error) {
	if !u.checked {
		u.checked = true
		_, _ = u.r.Peek(4) // the next read returns any error
		head, _ := u.r.Peek(u.r.Buffered())
		if err := unpack.CheckHead(head); err != nil {
			u.err = fmt.Errorf("%w: %w", index.ErrValue, err)
		}
	}
	if u.err != nil {
		return 0, u.err
	}
	return u.r.Read(p)
}

func (u *unpacking) Close() error {
	u.plain.Close()
	return u.file.Close()
}
