package picture

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"io"
)

// maxSide limits width and height, because some decoders keep whole rows.
const maxSide = 1<<16 - 1

// header describes a file before any of its pixels is decoded.
type header struct {
	file          []byte // the file, or a part of it that is a complete picture
	format        func(r io.Reader) (image.Image, error)
	width, height int
	orientation   int      // 1 to 8, as in EXIF
	profile       *profile // nil for sRGB
	memory        int64    // bytes that decoding may take
	animated      bool     // the picture is animated, and small enough to stay animated
	lossless      bool
}

// reader reads the header of a file type.
type reader struct {
	magic string // "?" matches any byte
	read  func(file []byte) (header, error)
}

func readers() []reader {
	return []reader{
		{"\xff\xd8\xff", readJPEG},
		{"\x89PNG\r\n\x1a\n", readPNG},
		{"GIF87a", readGIF},
		{"GIF89a", readGIF},
		{"RIFF????WEBP", readWebP},
	}
}

// parse reads the header of a file.
func parse(file []byte) (header, error) {
	for _, r := range readers() {
		if !matches(r.magic, file) {
			continue
		}
		h, err := r.read(file)
		switch {
		case err != nil:
			return header{}, fmt.Errorf("%w: %w", ErrDamaged, err)
		case h.width <= 0 || h.height <= 0:
			return header{}, fmt.Errorf("%w: it has no pixels", ErrDamaged)
		case h.width > MaxPixels/h.height || max(h.width, h.height) > maxSide:
			return header{}, ErrTooLarge
		}
		return h, nil
	}
	return header{}, ErrType
}

func matches(magic string, file []byte) bool {
	if len(file) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && magic[i] != file[i] {
			return false
		}
	}
	return true
}

// decode decodes the first picture. The result is a picture of the size in the header, or an error,
// even if the decoder panics.
func (h header) decode(ctx context.Context) (img image.Image, err error) {
	defer func() {
		if r := recover(); r != nil { // the file has crashed the decoder
			img, err = nil, fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	img, err = h.format(&limited{ctx: ctx, r: bytes.NewReader(h.file)})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if size := img.Bounds().Size(); size != image.Pt(h.width, h.height) {
		return nil, fmt.Errorf("%w: its size differs from its header", ErrDamaged)
	}
	return img, nil
}

// maxRead is the maximum number of bytes in one read of a decoder. It is small because a few bytes
// can cause much work, such as a scan of a progressive JPEG in which nothing changes.
const maxRead = 512

// limited reads and writes until a context is done. Decoders do not support contexts.
type limited struct {
	ctx context.Context
	r   io.Reader
	w   io.Writer
}

func (l *limited) Read(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	return l.r.Read(p[:min(len(p), maxRead)])
}

func (l *limited) Write(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	return l.w.Write(p)
}
