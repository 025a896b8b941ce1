package picture

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"image/color"
	"image/png"
	"io"
)

// maxChunks limits the chunks of a file: the decoder allocates 4 KB for each unknown chunk. Large
// pictures have about 2,000.
const maxChunks = 10_000

var errChunks = errors.New("png: too many chunks")

// readPNG scans the chunks before the decoder does, because many chunks make the decoder slow.
func readPNG(file []byte) (header, error) {
	h := header{file: file, format: png.Decode, orientation: 1, lossless: true}
	var icc []byte // the first profile only: a file may have one, and each takes long to inflate
	chunks := 0
	for rest := file[8:]; len(rest) >= 12; chunks++ {
		length := int64(binary.BigEndian.Uint32(rest))
		if length > int64(len(rest)-12) {
			break
		}
		if chunks == maxChunks {
			return header{}, errChunks
		}
		name, data := string(rest[4:8]), rest[8:8+length]
		switch {
		case name == "iCCP" && icc == nil:
			icc = data
		case name == "eXIf":
			h.orientation = orientation(data)
		}
		rest = rest[12+length:]
	}
	config, err := png.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return header{}, err
	}
	h.width, h.height = config.Width, config.Height
	h.memory = int64(h.width) * int64(h.height) * pngBytes(config.ColorModel)
	// The last byte of IHDR, the first chunk, is not 0 if the picture is interlaced. The decoder
	// decodes each pass as a picture, which it copies into the result.
	if file[28] != 0 {
		h.memory *= 2
	}
	h.profile = newProfile(pngICC(icc))
	return h, nil
}

// pngBytes returns the bytes per pixel. A grayscale picture with a transparent gray is decoded as a
// color picture.
func pngBytes(model color.Model) int64 {
	switch model {
	case color.Gray16Model, color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	return 4
}

// pngICC returns the profile in a chunk: a name, a zero, the method and the compressed bytes.
func pngICC(data []byte) []byte {
	_, rest, ok := bytes.Cut(data, []byte{0})
	if !ok || len(rest) < 1 {
		return nil
	}
	r, err := zlib.NewReader(bytes.NewReader(rest[1:]))
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(r, maxProfile))
	if err != nil {
		return nil
	}
	return text
}
