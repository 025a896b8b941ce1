package picture

import (
	"bytes"
	"errors"
	"image/color"
	"image/jpeg"
	"sort"
)

// Markers of JPEG segments.
const (
	sof0, sof1, sof2 = 0xc0, 0xc1, 0xc2 // the frame: baseline, extended, progressive
	rst0, rst7       = 0xd0, 0xd7
	soi, eoi, sos    = 0xd8, 0xd9, 0xda
	app1, app2       = 0xe1, 0xe2
	app14            = 0xee
)

var errNoFrame = errors.New("jpeg: no frame before the first scan")

// readJPEG scans the segments before the first scan, as the decoder does.
func readJPEG(file []byte) (header, error) {
	config, err := jpeg.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return header{}, err
	}
	h := header{file: file, format: jpeg.Decode, width: config.Width, height: config.Height, orientation: 1}
	var frame jpegFrame
	var parts []iccPart
	rgb := config.ColorModel == color.RGBAModel
	for segment := range jpegSegments(file) {
		data := segment.data
		switch {
		case sof0 <= segment.marker && segment.marker <= sof2:
			frame = newJPEGFrame(segment.marker, data)
		case segment.marker == app1 && bytes.HasPrefix(data, []byte(exifName)):
			h.orientation = orientation(data)
		case segment.marker == app2:
			if part, ok := newICCPart(data); ok && len(parts) < maxICCParts {
				parts = append(parts, part)
			}
		case segment.marker == sos:
			// A later segment may declare that the components are red, green and blue.
			rgb = rgb || bytes.Contains(data, []byte{0xff, app14})
		}
	}
	if len(frame.sampling) == 0 || frame.width != h.width || frame.height != h.height {
		return header{}, errNoFrame
	}
	h.memory = frame.memory(rgb)
	h.profile = newProfile(joinICC(parts))
	return h, nil
}

type jpegSegment struct {
	marker byte
	data   []byte
}

// jpegSegments returns the segments up to the first scan, whose data is the rest of the file.
func jpegSegments(file []byte) func(yield func(jpegSegment) bool) {
	return func(yield func(jpegSegment) bool) {
		rest := file[2:]
		for len(rest) >= 4 {
			if rest[0] != 0xff || rest[1] == 0 || rest[1] == 0xff { // fill bytes
				rest = rest[1:]
				continue
			}
			marker := rest[1]
			rest = rest[2:]
			switch {
			case marker == sos:
				yield(jpegSegment{marker, rest})
				return
			case marker == eoi:
				return
			case rst0 <= marker && marker <= rst7:
				continue
			}
			length := int(rest[0])<<8 | int(rest[1])
			if length < 2 || length > len(rest) || !yield(jpegSegment{marker, rest[2:length]}) {
				return
			}
			rest = rest[length:]
		}
	}
}

// jpegFrame is the size of a picture and of its components.
type jpegFrame struct {
	width, height int
	progressive   bool
	sampling      [][2]int // horizontal and vertical sampling factors of each component
}

func newJPEGFrame(marker byte, data []byte) jpegFrame {
	if len(data) < 6 || len(data) != 6+3*int(data[5]) {
		return jpegFrame{}
	}
	f := jpegFrame{
		height: int(data[1])<<8 | int(data[2]), width: int(data[3])<<8 | int(data[4]),
		progressive: marker == sof2,
	}
	for c := data[6:]; len(c) > 0; c = c[3:] {
		f.sampling = append(f.sampling, [2]int{int(c[1] >> 4), int(c[1] & 15)})
	}
	if len(f.sampling) == 1 {
		f.sampling[0] = [2]int{1, 1} // sampling is relative to the other components
	}
	return f
}

// memory returns the bytes that the decoder allocates: for the components; for their 32-bit
// coefficients, if the picture is progressive; and for the converted pixels, if it is CMYK or RGB.
func (f jpegFrame) memory(rgb bool) int64 {
	h, v := max(1, int64(f.sampling[0][0])), max(1, int64(f.sampling[0][1]))
	blocks := int64(0)
	units := ((int64(f.width) + 8*h - 1) / (8 * h)) * ((int64(f.height) + 8*v - 1) / (8 * v))
	for _, s := range f.sampling {
		blocks += units * int64(s[0]) * int64(s[1])
	}
	memory := blocks * 64
	if f.progressive {
		memory += blocks * 64 * 4
	}
	if rgb || len(f.sampling) == 4 {
		memory += int64(f.width) * int64(f.height) * 4
	}
	return memory
}

// maxICCParts is the maximum number of parts of a color profile: part numbers have one byte.
// Sorting more parts would be slow.
const maxICCParts = 255

// iccPart is a part of a color profile, which may be longer than a segment.
type iccPart struct {
	number byte
	data   []byte
}

func newICCPart(data []byte) (iccPart, bool) {
	const name = "ICC_PROFILE\x00"
	if !bytes.HasPrefix(data, []byte(name)) || len(data) < len(name)+2 {
		return iccPart{}, false
	}
	return iccPart{number: data[len(name)], data: data[len(name)+2:]}, true
}

func joinICC(parts []iccPart) []byte {
	sort.SliceStable(parts, func(i, j int) bool { return parts[i].number < parts[j].number })
	var all []byte
	for _, part := range parts {
		if len(all)+len(part.data) > maxProfile {
			return nil
		}
		all = append(all, part.data...)
	}
	return all
}
