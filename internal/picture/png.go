package picture

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"image/color"
	"image/png"
	"io"
)

// readPNG walks through the chunks up to the first of pixels. What describes the colours
// must come before them; EXIF may come after them too, where other programs look for it.
func readPNG(file []byte) (header, error) {
	config, err := png.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return header{}, err
	}
	h := header{file: file, format: png.Decode, width: config.Width, height: config.Height, orientation: 1, lossless: true}
	h.memory = int64(h.width) * int64(h.height) * pngBytes(config.ColorModel)
	// IHDR is the first chunk: its last byte says whether pixels come in passes, each of
	// which is a picture that is copied into the whole.
	if file[28] != 0 {
		h.memory *= 2
	}
	for rest := file[8:]; len(rest) >= 12; {
		length := int64(binary.BigEndian.Uint32(rest))
		if length > int64(len(rest)-12) {
			break
		}
		name, data := string(rest[4:8]), rest[8:8+length]
		switch name {
		case "iCCP":
			h.profile = newProfile(pngICC(data))
		case "eXIf":
			h.orientation = orientation(data)
		}
		rest = rest[12+length:]
	}
	return h, nil
}

// pngBytes returns the bytes of a pixel. Gray ones become coloured if one is transparent.
func pngBytes(model color.Model) int64 {
	switch model {
	case color.Gray16Model, color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	return 4
}

// pngICC returns the profile of a chunk: a name, a zero, the method and compressed bytes.
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
