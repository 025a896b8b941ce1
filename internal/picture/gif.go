package picture

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/gif"
	"io"
)

// Limits on an animation. A larger animation is reduced to its first frame.
const (
	maxFrames      = 100
	maxFramePixels = 4_000_000
)

// readGIF counts the frames, because the header does not state their number.
func readGIF(file []byte) (header, error) {
	config, err := gif.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return header{}, err
	}
	h := header{file: file, width: config.Width, height: config.Height, orientation: 1, lossless: true}
	frames, pixels := gifFrames(file)
	h.animated = 1 < frames && frames <= maxFrames && pixels <= maxFramePixels
	h.format = func(r io.Reader) (image.Image, error) { return firstFrame(r, image.Rect(0, 0, h.width, h.height)) }
	// One byte per pixel for the color index, plus four for the canvas.
	h.memory = 5 * int64(h.width) * int64(h.height)
	if h.animated {
		h.memory += 2 * maxFramePixels
	}
	return h, nil
}

// firstFrame decodes the first picture of a GIF onto its canvas.
func firstFrame(r io.Reader, canvas image.Rectangle) (image.Image, error) {
	frame, err := gif.Decode(r)
	if err != nil || frame.Bounds() == canvas {
		return frame, err
	}
	full := image.NewRGBA(canvas)
	draw.Draw(full, frame.Bounds(), frame, frame.Bounds().Min, draw.Src)
	return full, nil
}

// gifFrames counts the frames of a GIF and their pixels, until there are too many.
func gifFrames(file []byte) (frames, pixels int) {
	const extension, picture = 0x21, 0x2c
	rest := skipTable(file[10], cut(file, 13))
	for len(rest) > 0 && frames <= maxFrames {
		kind := rest[0]
		rest = rest[1:]
		switch {
		case kind == extension:
			rest = skipBlocks(cut(rest, 1))
		case kind == picture && len(rest) >= 9:
			frames++
			pixels += (int(rest[4]) | int(rest[5])<<8) * (int(rest[6]) | int(rest[7])<<8)
			rest = skipTable(rest[8], rest[9:])
			rest = skipBlocks(cut(rest, 1)) // after the code size
		default: // the trailer
			return frames, pixels
		}
	}
	return frames, pixels
}

// skipTable skips a color table, if the flags indicate one.
func skipTable(flags byte, rest []byte) []byte {
	if flags&0x80 == 0 {
		return rest
	}
	return cut(rest, 3<<(1+flags&7))
}

// skipBlocks skips blocks, each preceded by its length, through the first empty block.
func skipBlocks(rest []byte) []byte {
	for len(rest) > 0 && rest[0] > 0 {
		rest = cut(rest, 1+int(rest[0]))
	}
	return cut(rest, 1)
}

// cut returns data without its first n bytes.
func cut(data []byte, n int) []byte { return data[min(n, len(data)):] }

// frames decodes an animation.
func (h header) frames(ctx context.Context) (all *gif.GIF, err error) {
	defer func() {
		if r := recover(); r != nil { // as in decode
			all, err = nil, fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	all, err = gif.DecodeAll(&limited{ctx: ctx, r: bytes.NewReader(h.file)})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	pixels := 0
	for _, frame := range all.Image {
		pixels += len(frame.Pix)
	}
	if len(all.Image) > maxFrames || pixels > maxFramePixels {
		return nil, ErrTooLarge
	}
	return all, nil
}
