package picture

import (
	"bytes"
	"compress/lzw"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// quarters holds the colors of the quarters of a sample, from left to right and top to bottom.
var quarters = [4]color.RGBA{{200, 40, 40, 255}, {40, 160, 60, 255}, {40, 60, 200, 255}, {230, 220, 60, 255}}

// sample returns a picture of four quarters.
func sample(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i, c := range quarters {
		r := image.Rect(i%2*w/2, i/2*h/2, (i%2+1)*w/2, (i/2+1)*h/2)
		draw.Draw(img, r, image.NewUniform(c), image.Point{}, draw.Src)
	}
	return img
}

// noise returns an incompressible picture, which is the same in each run.
func noise(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = uint8(random.Uint32())
		if i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	return img
}

// photo returns a picture like a photograph: gradients, edges and a little noise.
func photo(w, h int) *image.YCbCr {
	img := image.NewYCbCr(image.Rect(0, 0, w, h), image.YCbCrSubsampleRatio420)
	random := rand.New(rand.NewPCG(3, 4))
	for y := range h {
		for x := range w {
			v := 40 + 120*x/w + 60*y/h + random.IntN(12)
			if (x/97+y/61)%7 == 0 {
				v = 255 - v
			}
			img.Y[img.YOffset(x, y)] = uint8(v)
		}
	}
	for i := range img.Cb {
		img.Cb[i], img.Cr[i] = uint8(100+50*i/len(img.Cb)), uint8(160-50*(i%img.CStride)/img.CStride)
	}
	return img
}

func encodeJPEG(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	var file bytes.Buffer
	if err := jpeg.Encode(&file, img, &jpeg.Options{Quality: 95}); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

func encodePNG(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	var file bytes.Buffer
	if err := png.Encode(&file, img); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

// animate returns a GIF of n frames of one size.
func animate(tb testing.TB, n, w, h int) []byte {
	tb.Helper()
	all := &gif.GIF{Config: image.Config{Width: w, Height: h}}
	palette := color.Palette{color.RGBA{}, quarters[0], quarters[1], quarters[2], quarters[3]}
	for i := range n {
		frame := image.NewPaletted(image.Rect(0, 0, w, h), palette)
		draw.Draw(frame, frame.Rect, image.NewUniform(quarters[i%4]), image.Point{}, draw.Src)
		all.Image, all.Delay = append(all.Image, frame), append(all.Delay, 5)
		all.Disposal = append(all.Disposal, gif.DisposalNone)
	}
	var file bytes.Buffer
	if err := gif.EncodeAll(&file, all); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

// testdata reads a file that no encoder here can write.
func testdata(tb testing.TB, name string) []byte {
	tb.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

// segment returns a segment of a JPEG.
func segment(marker byte, data []byte) []byte {
	return append([]byte{0xff, marker, byte((len(data) + 2) >> 8), byte(len(data) + 2)}, data...)
}

// afterSOI inserts segments into a JPEG.
func afterSOI(file []byte, segments ...[]byte) []byte {
	return bytes.Join([][]byte{file[:2], bytes.Join(segments, nil), file[2:]}, nil)
}

// chunk returns a chunk of a PNG.
func chunk(name string, data []byte) []byte {
	all := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	all = append(append(all, name...), data...)
	return binary.BigEndian.AppendUint32(all, crc32.ChecksumIEEE(all[4:]))
}

// afterIHDR inserts chunks into a PNG.
func afterIHDR(file []byte, chunks ...[]byte) []byte {
	return bytes.Join([][]byte{file[:33], bytes.Join(chunks, nil), file[33:]}, nil)
}

// riff returns a WebP file of these chunks.
func riff(chunks ...[]byte) []byte {
	all := bytes.Join(chunks, nil)
	file := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(all)+4))
	return append(append(file, "WEBP"...), all...)
}

func riffChunk(name string, data []byte) []byte {
	all := append(binary.LittleEndian.AppendUint32([]byte(name), uint32(len(data))), data...)
	if len(data)%2 == 1 {
		all = append(all, 0)
	}
	return all
}

// vp8x returns the header of an extended WebP file.
func vp8x(flags byte, w, h int) []byte {
	return riffChunk("VP8X", append([]byte{flags, 0, 0, 0}, size24(w, h)...))
}

func size24(w, h int) []byte {
	w, h = w-1, h-1
	return []byte{byte(w), byte(w >> 8), byte(w >> 16), byte(h), byte(h >> 8), byte(h >> 16)}
}

// exif returns EXIF data with an orientation and a GPS position.
func exif(orientation int) []byte {
	const short, rational, long = 3, 5, 4
	le := binary.LittleEndian
	tiff := []byte("II*\x00\x08\x00\x00\x00")
	entry := func(tag, kind uint16, count, value uint32) {
		tiff = le.AppendUint16(le.AppendUint16(tiff, tag), kind)
		tiff = le.AppendUint32(le.AppendUint32(tiff, count), value)
	}
	tiff = le.AppendUint16(tiff, 2)
	entry(0x0112, short, 1, uint32(orientation))
	entry(0x8825, long, 1, 38) // the GPS directory
	tiff = le.AppendUint32(tiff, 0)
	tiff = le.AppendUint16(tiff, 1)
	entry(2, rational, 3, 56)
	tiff = le.AppendUint32(tiff, 0)
	for _, n := range []uint32{52, 31, 1234} { // degrees, minutes, seconds
		tiff = le.AppendUint32(le.AppendUint32(tiff, n), 1)
	}
	return append(tiff, secret...)
}

// secret is metadata that must not be in any rendition.
const secret = "GPS:52.5163N"

// stored returns the upright picture img as a camera stores the picture with an orientation.
func stored(img *image.NRGBA, orientation int) *image.NRGBA {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	at := func(x, y int) (int, int) { // where the pixel of the upright picture is stored
		switch orientation {
		case 2:
			return w - 1 - x, y
		case 3:
			return w - 1 - x, h - 1 - y
		case 4:
			return x, h - 1 - y
		case 5:
			return y, x
		case 6: // the right side is up: the upper row of the stored picture is on the right
			return y, w - 1 - x
		case 7:
			return h - 1 - y, w - 1 - x
		case 8:
			return h - 1 - y, x
		}
		return x, y
	}
	sw, sh := w, h
	if 5 <= orientation && orientation <= 8 {
		sw, sh = h, w
	}
	s := image.NewNRGBA(image.Rect(0, 0, sw, sh))
	for y := range h {
		for x := range w {
			sx, sy := at(x, y)
			s.SetNRGBA(sx, sy, img.NRGBAAt(x, y))
		}
	}
	return s
}

// column is a primary color of a profile, in XYZ.
type column [3]float64

// icc returns an ICC profile with three primary colors and one curve for all channels.
func icc(columns [3]column, curve []byte) []byte {
	be := binary.BigEndian
	tags := [][]byte{}
	for _, c := range columns {
		tag := []byte("XYZ \x00\x00\x00\x00")
		for _, v := range c {
			tag = be.AppendUint32(tag, uint32(int32(v*65536)))
		}
		tags = append(tags, tag)
	}
	tags = append(tags, curve, curve, curve)
	file := make([]byte, 132)
	copy(file[16:], "RGB XYZ ")
	copy(file[36:], "acsp")
	be.PutUint32(file[128:], uint32(len(tags)))
	at := 132 + 12*len(tags)
	var data []byte
	for i, tag := range tags {
		file = append(file, []string{"rXYZ", "gXYZ", "bXYZ", "rTRC", "gTRC", "bTRC"}[i]...)
		file = be.AppendUint32(be.AppendUint32(file, uint32(at+len(data))), uint32(len(tag)))
		data = append(data, tag...)
	}
	file = append(file, data...)
	be.PutUint32(file, uint32(len(file)))
	return file
}

// gamma returns a curve with an exponent.
func gamma(exponent float64) []byte {
	curve := append([]byte("curv\x00\x00\x00\x00"), 0, 0, 0, 1)
	return binary.BigEndian.AppendUint16(curve, uint16(exponent*256+0.5))
}

// parametric returns a curve with a function.
func parametric(function uint16, parameters ...float64) []byte {
	curve := binary.BigEndian.AppendUint16([]byte("para\x00\x00\x00\x00"), function)
	curve = append(curve, 0, 0)
	for _, p := range parameters {
		curve = binary.BigEndian.AppendUint32(curve, uint32(int32(p*65536)))
	}
	return curve
}

func displayP3() []byte {
	return icc([3]column{{0.51512, 0.2412, -0.00105}, {0.29198, 0.69225, 0.04189}, {0.1571, 0.06657, 0.78407}},
		parametric(3, 2.4, 1/1.055, 0.055/1.055, 1/12.92, 0.04045))
}

func adobeRGB() []byte {
	return icc([3]column{{0.60974, 0.31111, 0.01947}, {0.20528, 0.62567, 0.06087}, {0.14919, 0.06322, 0.74457}}, gamma(563.0/256))
}

func sRGB() []byte {
	return icc([3]column{{0.43607, 0.22249, 0.01392}, {0.38515, 0.71687, 0.09708}, {0.14307, 0.06061, 0.7141}},
		parametric(3, 2.4, 1/1.055, 0.055/1.055, 1/12.92, 0.04045))
}

// iccSegment returns a JPEG segment with a profile.
func iccSegment(profile []byte) []byte {
	return segment(app2, append([]byte("ICC_PROFILE\x00\x01\x01"), profile...))
}

// compress returns n zeros as a zlib stream, the compression of PNG.
func compress(n int) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	zeros(w, n)
	return out.Bytes()
}

// zeros writes n zeros in blocks to limit memory, then closes w.
func zeros(w io.WriteCloser, n int) {
	block := make([]byte, 1<<16)
	for ; n > 0; n -= len(block) {
		if _, err := w.Write(block[:min(n, len(block))]); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
}

// iccChunk returns a PNG chunk with a compressed profile.
func iccChunk(profile []byte) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	if _, err := w.Write(profile); err != nil || w.Close() != nil {
		panic("zlib")
	}
	return chunk("iCCP", append([]byte("p\x00\x00"), out.Bytes()...))
}

// ihdr returns the header chunk of a PNG.
func ihdr(w, h uint32, depth, kind, passes byte) []byte {
	data := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	return chunk("IHDR", append(data, depth, kind, 0, 0, passes))
}

func pngFile(chunks ...[]byte) []byte {
	return append([]byte("\x89PNG\r\n\x1a\n"), bytes.Join(append(chunks, chunk("IEND", nil)), nil)...)
}

// gifHeader returns a canvas with a palette of two colors.
func gifHeader(w, h int) []byte {
	return append([]byte("GIF89a"), byte(w), byte(w>>8), byte(h), byte(h>>8), 0x80, 0, 0, 0, 0, 0, 255, 255, 255)
}

// gifFrame returns a GIF frame of one color.
func gifFrame(x, y, w, h int) []byte {
	frame := []byte{0x2c, byte(x), byte(x >> 8), byte(y), byte(y >> 8), byte(w), byte(w >> 8), byte(h), byte(h >> 8), 0, 2}
	var codes bytes.Buffer
	zeros(lzw.NewWriter(&codes, lzw.LSB, 2), w*h)
	return append(frame, gifBlocks(codes.Bytes())...)
}

func gifBlocks(data []byte) []byte {
	var blocks []byte
	for len(data) > 0 {
		n := min(len(data), 255)
		blocks = append(append(blocks, byte(n)), data[:n]...)
		data = data[n:]
	}
	return append(blocks, 0)
}

// bitWriter writes numbers of several bits, lowest bit first, as in VP8L.
type bitWriter struct {
	data []byte
	n    int
}

func (b *bitWriter) write(value uint32, bits int) {
	for i := range bits {
		if b.n%8 == 0 {
			b.data = append(b.data, 0)
		}
		b.data[b.n/8] |= byte(value>>i&1) << (b.n % 8)
		b.n++
	}
}

// simpleCode writes a code with one symbol, which takes no bits.
func (b *bitWriter) simpleCode(symbol uint32) {
	b.write(1, 1) // simple
	b.write(0, 1) // of one symbol
	b.write(1, 1) // of eight bits
	b.write(symbol, 8)
}

// vp8l starts a lossless picture.
func vp8l(w, h int) *bitWriter {
	b := &bitWriter{}
	b.write(0x2f, 8)
	b.write(uint32(w-1), 14)
	b.write(uint32(h-1), 14)
	b.write(0, 4) // no alpha, the version
	return b
}

// blank ends a picture: no transforms, no cache, no groups, and pixels that take no bits.
func (b *bitWriter) blank() []byte {
	b.write(0, 3)
	for range 5 {
		b.simpleCode(0)
	}
	return b.data
}

// manyCodes returns a picture with groups of large codes, whose first tile uses the last group.
func manyCodes(w, h, groups int) []byte {
	b := vp8l(w, h)
	b.write(0, 1)  // no transforms
	b.write(1, 1)  // a cache
	b.write(11, 4) // of 2,048 colors
	b.write(1, 1)  // groups
	b.write(0, 3)  // tiles of four pixels
	b.write(0, 1)  // the tiles have no cache
	last := uint32(groups - 1)
	b.simpleCode(last & 255) // green: the low byte of the group
	b.simpleCode(last >> 8)  // red: the high byte
	for range 3 {
		b.simpleCode(0)
	}
	for range groups {
		for _, symbols := range []int{256 + 24 + 2048, 256, 256, 256, 40} {
			b.fullCode(symbols)
		}
	}
	return b.data
}

// fullCode writes a code in which each symbol has a length. Repeated lengths take few bits.
func (b *bitWriter) fullCode(symbols int) {
	// Lengths are coded with three symbols: 16, which repeats, and two lengths that form a
	// complete code.
	bits := 0
	for 1<<bits < symbols {
		bits++
	}
	short := 1<<bits - symbols // number of symbols whose code is one bit shorter
	b.write(0, 1)              // not simple
	b.write(15, 4)             // nineteen code lengths for the code of lengths
	order := []int{17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	for _, symbol := range order {
		switch symbol {
		case bits, bits - 1:
			b.write(2, 3)
		case 16:
			b.write(1, 3)
		default:
			b.write(0, 3)
		}
	}
	b.write(0, 1) // all symbols have lengths
	run := func(length, n int) {
		// The shortest code is 0; the others are 10 and 11, in symbol order.
		code := uint32(0b01)
		if length == bits {
			code = 0b11
		}
		for n > 0 {
			b.write(code, 2)
			n--
			for n >= 3 {
				repeat := min(n, 6)
				b.write(0, 1)
				b.write(uint32(repeat-3), 2)
				n -= repeat
			}
		}
	}
	run(bits-1, short)
	run(bits, symbols-short)
}
