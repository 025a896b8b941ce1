package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"io"

	"golang.org/x/image/webp"
)

// Besides its pixels, lossless WebP has groups of codes. At most 2,600 groups are decoded. They take
// up to 140 MB: at least 3 KB per group, and up to 300 bytes per byte of the file.
const (
	maxWebPCodes  = 140 << 20
	minWebPCodes  = 8 << 20
	webPCodeBytes = 300
)

var errFrame = errors.New("webp: the first frame of an animation is damaged")

// readWebP scans the chunks.
func readWebP(file []byte) (header, error) {
	h := header{file: file, format: decodeWebP, orientation: 1}
	var alpha bool
	var icc []byte // the first profile only: a file may have one, and each takes long to read
	for chunk := range webPChunks(file[12:]) {
		switch chunk.name {
		case "ICCP":
			if icc == nil {
				icc = chunk.data
			}
		case "EXIF":
			h.orientation = orientation(chunk.data)
		case "ALPH":
			alpha = true
		case "VP8L":
			h.lossless = true
		case "ANMF":
			frame := webPFrame(chunk.data)
			if frame == nil {
				return header{}, errFrame
			}
			first, err := readWebP(frame)
			first.profile = newProfile(icc)
			return first, err
		}
	}
	config, err := webp.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return header{}, err
	}
	h.width, h.height = config.Width, config.Height
	h.profile = newProfile(icc)
	h.memory = webPMemory(config, h.lossless || alpha, len(file))
	return h, nil
}

// decodeWebP decodes a picture. Lossy pictures have luma from 16 to 235 and chroma from 16 to 240,
// as in video; the decoder keeps these values, but image.YCbCr is defined as in JPEG, from 0 to 255.
func decodeWebP(r io.Reader) (image.Image, error) {
	img, err := webp.Decode(r)
	switch img := img.(type) {
	case *image.YCbCr:
		widen(img)
	case *image.NYCbCrA:
		widen(&img.YCbCr)
	}
	return img, err
}

func widen(img *image.YCbCr) {
	var luma, chroma [256]uint8
	for i := range 256 {
		luma[i] = uint8(min(max((i-16)*255+109, 0)/219, 255))
		chroma[i] = uint8(min(max((i-16)*255+112, 0)/224, 255))
	}
	for i, v := range img.Y {
		img.Y[i] = luma[v]
	}
	for i := range img.Cb {
		img.Cb[i], img.Cr[i] = chroma[img.Cb[i]], chroma[img.Cr[i]]
	}
}

// webPMemory returns the memory for decoding. A lossless picture takes twice its pixels if colors
// are looked up in a table. Alpha is a lossless picture in addition to the picture of the colors.
func webPMemory(config image.Config, lossless bool, bytes int) int64 {
	pixels := int64(config.Width) * int64(config.Height)
	memory := int64(bytes)
	if config.ColorModel != color.NRGBAModel {
		memory += 3 * pixels
	}
	if lossless {
		memory += 9*pixels + min(maxWebPCodes, minWebPCodes+webPCodeBytes*int64(bytes))
	}
	return memory
}

type webPChunk struct {
	name string
	data []byte
}

func webPChunks(rest []byte) func(yield func(webPChunk) bool) {
	return func(yield func(webPChunk) bool) {
		for len(rest) >= 8 {
			length := int64(binary.LittleEndian.Uint32(rest[4:]))
			if length > int64(len(rest)-8) || !yield(webPChunk{string(rest[:4]), rest[8 : 8+length]}) {
				return
			}
			rest = cut(rest, int(8+length+length&1))
		}
	}
}

// webPFrame returns a frame of an animation as a file, or nil.
func webPFrame(data []byte) []byte {
	const start, extended = 16, 10 // offset of the picture in the chunk, and the length of VP8X
	if len(data) < start {
		return nil
	}
	size, chunks := data[6:12], data[start:]
	hasAlpha := byte(0)
	for chunk := range webPChunks(chunks) {
		switch chunk.name {
		case "ANMF":
			return nil // an animation within an animation
		case "ALPH":
			hasAlpha = 1 << 4
		}
	}
	file := append([]byte("RIFF\x00\x00\x00\x00WEBPVP8X"), extended, 0, 0, 0, hasAlpha, 0, 0, 0)
	file = append(append(file, size...), chunks...)
	binary.LittleEndian.PutUint32(file[4:], uint32(len(file)-8))
	return file
}
