package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// damagedFiles adds pictures that are truncated, modified or followed by other data.
func damagedFiles(tb testing.TB, add func(name string, file []byte)) {
	tb.Helper()
	for name, file := range map[string][]byte{
		"jpeg": encodeJPEG(tb, sample(90, 60)), "png": encodePNG(tb, sample(90, 60)), "gif": animate(tb, 3, 90, 60),
		"webp": testdata(tb, "lossy.webp"), "lossless webp": testdata(tb, "lossless.webp"), "webp with alpha": testdata(tb, "alpha.webp"),
		"progressive jpeg": testdata(tb, "progressive.jpg"), "cmyk": testdata(tb, "cmyk.jpg"),
	} {
		for i := range 20 {
			add(fmt.Sprintf("%s cut at %d/20", name, i), file[:len(file)*i/20])
		}
		for i := 2; i < len(file); i += max(1, len(file)/12) {
			broken := slices.Clone(file)
			broken[i] ^= 0xff
			add(fmt.Sprintf("%s with byte %d wrong", name, i), broken)
		}
		for other, suffix := range map[string][]byte{
			"script": []byte("*/=1;alert(document.domain)/*"), "page": []byte("<html><script>alert(1)</script>"),
			"archive": []byte("PK\x03\x04" + string(make([]byte, 40)) + "PK\x05\x06" + string(make([]byte, 18))), "itself": file,
		} {
			add(name+" followed by "+other, append(slices.Clone(file), suffix...))
		}
	}
}

// otherFiles adds files that are not pictures or not of an accepted type.
func otherFiles(add func(name string, file []byte)) {
	for name, text := range map[string]string{
		"svg": `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>`, "page": "<!DOCTYPE html><script>alert(1)</script>",
		"pdf": "%PDF-1.7 /JS (app.alert(1))", "zip": "PK\x03\x04", "program": "\x7fELF\x02\x01\x01", "bmp": "BM\x00\x00\x00\x00", "tiff": "II*\x00\x08\x00\x00\x00",
		"avif": "\x00\x00\x00\x1cftypavif", "heic": "\x00\x00\x00\x1cftypheic", "ico": "\x00\x00\x01\x00\x01\x00", "psd": "8BPS\x00\x01", "mp4": "\x00\x00\x00\x18ftypmp42",
		"push graphic-context": "push graphic-context\nfill 'url(https://127.0.0.1/x)'", "entities": `<?xml version="1.0"?><!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>`,
		"GIF89a and a script": "GIF89a=1;alert(1)", "riff": "RIFF\xff\xff\xff\xffWEBP", "riff of audio": "RIFF\x24\x00\x00\x00WAVEfmt ",
		"space": " \n\t", "only a signature": "\x89PNG\r\n\x1a\n", "only a marker": "\xff\xd8\xff",
	} {
		add(name, []byte(text))
	}
}

// withSize returns a JPEG with another size in its frame header.
func withSize(file []byte, w, h int) []byte {
	file = slices.Clone(file)
	for _, marker := range []byte{sof0, sof2} {
		if at := bytes.Index(file, []byte{0xff, marker, 0}); at >= 0 {
			binary.BigEndian.PutUint16(file[at+5:], uint16(h))
			binary.BigEndian.PutUint16(file[at+7:], uint16(w))
		}
	}
	return file
}

// frame returns a JPEG frame header with one component.
func frame(marker byte, w, h int) []byte {
	return segment(marker, []byte{8, byte(h >> 8), byte(h), byte(w >> 8), byte(w), 1, 1, 0x11, 0})
}

// scans returns a progressive JPEG with n scans of a few bytes, each of which visits all blocks.
func scans(w, h, n int) []byte {
	const dc, ac = 0, 0x10
	table := func(class, symbol byte) []byte { // a Huffman table with the single code 0
		return segment(0xc4, append(append([]byte{class, 1}, make([]byte, 15)...), symbol))
	}
	file := append([]byte{0xff, soi}, segment(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...))...)
	file = append(file, frame(sof2, w, h)...)
	file = append(append(file, table(dc, 0)...), table(ac, 0xe0)...) // difference 0; end of at least 2^14 blocks
	blocks := ((w + 7) / 8) * ((h + 7) / 8)
	first := append(segment(sos, []byte{1, 1, 0, 0, 0, 0}), make([]byte, blocks/8+1)...)
	next := append(segment(sos, []byte{1, 1, 0, 1, 63, 0}), make([]byte, (blocks/(1<<14)+1)*2)...)
	file = append(file, first...)
	for range n {
		file = append(file, next...)
	}
	return append(file, 0xff, eoi)
}

func jpegBombs(tb testing.TB, add func(name string, file []byte)) {
	tb.Helper()
	small, progressive := encodeJPEG(tb, sample(90, 60)), testdata(tb, "progressive.jpg")
	for _, s := range []image.Point{{65535, 65535}, {65535, 1}, {1, 65535}, {0, 0}, {0, 9}, {9, 0}, {7000, 5700}, {6000, 4000}, {40, 40}, {91, 61}} {
		add(fmt.Sprintf("jpeg of %v", s), withSize(small, s.X, s.Y))
		add(fmt.Sprintf("progressive jpeg of %v", s), withSize(progressive, s.X, s.Y))
		add(fmt.Sprintf("cmyk of %v", s), withSize(testdata(tb, "cmyk.jpg"), s.X, s.Y))
	}
	add("jpeg with an RGB marker after the scan", append(slices.Clone(small[:len(small)-2]), append(segment(app14, []byte("Adobe\x00\x64\x00\x00\x00\x00\x00")), 0xff, eoi)...))
	add("jpeg of two frames", afterSOI(small, frame(sof0, 10, 10)))
	add("jpeg with a frame after the scan", append(slices.Clone(small[:len(small)-2]), append(frame(sof0, 60000, 60000), 0xff, eoi)...))
	add("jpeg of many frames", afterSOI(small, bytes.Repeat(frame(sof2, 6000, 6000), 500)))
	add("jpeg of many scans", scans(8000, 5000, 4000))
	add("jpeg of many scans of a line", scans(65535, 8, 100_000))
	add("jpeg of empty segments", afterSOI(small, bytes.Repeat(segment(0xe5, nil), 1_000_000)))
	add("jpeg of fill bytes", afterSOI(small, bytes.Repeat([]byte{0xff}, 8<<20)))
	add("jpeg of zeros", afterSOI(small, make([]byte, 8<<20)))
	add("jpeg of restart markers", afterSOI(small, bytes.Repeat([]byte{0xff, rst0}, 1<<20)))
	add("jpeg of tables", afterSOI(small, bytes.Repeat(segment(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)), 10_000)))
	add("jpeg that never ends", append(slices.Clone(small[:len(small)-2]), make([]byte, 4<<20)...))
	add("jpeg with a page", afterSOI(small, segment(0xfe, []byte("<script>alert(1)</script>"))))
	add("jpeg with 300 orientations", afterSOI(small, bytes.Repeat(segment(app1, append([]byte(exifName), exif(6)...)), 300)))
	for i, tiff := range []string{"II*\x00\xff\xff\xff\xff", "MM\x00*\x00\x00\x00\x00", "II*\x00\x08\x00\x00\x00\xff\xff", "II*\x00\x04\x00\x00\x00", "XX*\x00\x08\x00\x00\x00", ""} {
		add(fmt.Sprint("jpeg with wrong exif ", i), afterSOI(small, segment(app1, []byte(exifName+tiff))))
	}
	endless := displayP3()
	binary.BigEndian.PutUint32(endless[128:], 1<<32-1)
	add("jpeg with a profile of 2^32 tags", afterSOI(small, iccSegment(endless)))
	far := displayP3()
	binary.BigEndian.PutUint32(far[136:], 1<<32-8)
	add("jpeg with a profile of far tags", afterSOI(small, iccSegment(far)))
	add("jpeg with parts of profiles", afterSOI(small, bytes.Repeat(iccSegment(make([]byte, 60_000)), 200)))
	disorder := segment(app2, []byte("ICC_PROFILE\x00\x02\x02"))
	disorder = append(disorder, segment(app2, []byte("ICC_PROFILE\x00\x01\x02"))...)
	add("jpeg with parts of profiles out of order", afterSOI(small, bytes.Repeat(disorder, 400_000)))
	add("jpeg with a profile of many points", afterSOI(small, iccSegment(icc([3]column{}, append([]byte("curv\x00\x00\x00\x00\xff\xff\xff\xff"), make([]byte, 9000)...)))))
}

func pngBombs(tb testing.TB, add func(name string, file []byte)) {
	tb.Helper()
	empty := chunk("IDAT", compress(0))
	zeros := chunk("IDAT", compress(200<<20))
	for _, s := range []struct {
		w, h                uint32
		depth, kind, passes byte
	}{
		{65535, 65535, 8, 6, 0},
		{1 << 31, 1 << 31, 8, 6, 0},
		{1<<31 - 1, 1<<31 - 1, 1, 0, 1},
		{1<<31 - 1, 1, 1, 0, 0},
		{0, 0, 8, 2, 0},
		{0, 1, 8, 2, 0},
		{8000, 5000, 16, 6, 1},
		{8000, 5000, 8, 6, 1},
		{8000, 5000, 8, 6, 0},
		{8000, 5000, 1, 0, 0},
		{8000, 5000, 8, 3, 0},
		{40_000_000, 1, 8, 2, 0},
		{1, 40_000_000, 8, 2, 0},
		{5000, 5000, 16, 6, 0},
		{5000, 5000, 16, 0, 1},
		{100, 100, 7, 9, 0},
		{100, 100, 8, 6, 9},
		{1, 1, 16, 6, 1},
		{4000, 4000, 4, 0, 1},
	} {
		name := fmt.Sprintf("png of %d×%d, %d bits, kind %d, passes %d", s.w, s.h, s.depth, s.kind, s.passes)
		palette := []byte{}
		if s.kind == 3 {
			palette = chunk("PLTE", make([]byte, 768))
		}
		add(name, pngFile(ihdr(s.w, s.h, s.depth, s.kind, s.passes), palette, empty))
		add(name+" of zeros", pngFile(ihdr(s.w, s.h, s.depth, s.kind, s.passes), palette, zeros))
	}
	one := chunk("IDAT", compress(4))
	small := ihdr(1, 1, 8, 2, 0)
	add("png with text that inflates", pngFile(small, chunk("zTXt", append([]byte("a\x00\x00"), compress(100<<20)...)), one))
	add("png with a profile that inflates", pngFile(small, chunk("iCCP", append([]byte("a\x00\x00"), compress(100<<20)...)), one))
	add("png of 9,000 profiles that inflate", pngFile(small, bytes.Repeat(chunk("iCCP", append([]byte("a\x00\x00"), compress(1<<20)...)), 9000), one))
	add("png of many chunks before its palette", pngFile(ihdr(1, 1, 8, 3, 0), bytes.Repeat(chunk("tEXt", nil), 1_000_000), chunk("PLTE", make([]byte, 768)), one))
	add("png with a profile that does not inflate", pngFile(small, chunk("iCCP", []byte("a\x00\x00nothing")), one))
	add("png of many chunks", pngFile(small, bytes.Repeat(chunk("tEXt", nil), 1_000_000), one))
	add("png of 9,000 chunks", pngFile(small, bytes.Repeat(chunk("tEXt", nil), 9000), one))
	add("png of many empty pixels", pngFile(small, bytes.Repeat(chunk("IDAT", nil), 1_000_000), one))
	add("png of many headers", pngFile(bytes.Repeat(small, 1000), one))
	add("png with wrong checksums", bytes.ReplaceAll(pngFile(small, one), []byte("IEND"), []byte("IENX")))
	add("png with a long chunk", append([]byte("\x89PNG\r\n\x1a\n"), append(small, 0xff, 0xff, 0xff, 0xff, 'I', 'D', 'A', 'T')...))
	add("png without pixels", pngFile(small))
	add("png in the CgBI format of iOS", pngFile(chunk("CgBI", make([]byte, 4)), small, one))
}

// largeFrame returns a GIF frame of forty million pixels in a few kilobytes.
var largeFrame = sync.OnceValue(func() []byte { return gifFrame(0, 0, 8000, 5000) })

func gifBombs(tb testing.TB, add func(name string, file []byte)) {
	tb.Helper()
	end := []byte{0x3b}
	small := gifFrame(0, 0, 1, 1)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	add("gif of 100,000 frames", join(gifHeader(1, 1), bytes.Repeat(small, 100_000), end))
	add("gif without an end", join(gifHeader(1, 1), bytes.Repeat(small, 50)))
	add("gif of a million extensions", join(gifHeader(1, 1), bytes.Repeat([]byte{0x21, 0xfe, 0}, 1_000_000), small, end))
	add("gif of a comment", join(gifHeader(1, 1), []byte{0x21, 0xfe}, gifBlocks(make([]byte, 8<<20)), small, end))
	for _, s := range []image.Point{{65535, 65535}, {65535, 1}, {0, 0}, {8000, 5000}, {65535, 610}} {
		add(fmt.Sprintf("gif of %v", s), join(gifHeader(s.X, s.Y), small, end))
		add(fmt.Sprintf("gif of 99 frames on %v", s), join(gifHeader(s.X, s.Y), bytes.Repeat(small, 99), end))
	}
	large := largeFrame()
	add("gif of a large frame", join(gifHeader(8000, 5000), large, end))
	add("gif of 90 large frames", join(gifHeader(8000, 5000), bytes.Repeat(large, 90), end))
	add("gif of a frame that exceeds the canvas", join(gifHeader(10, 10), gifFrame(9, 9, 5, 5), end))
	add("gif of a frame that is larger than the canvas", join(gifHeader(10, 10), large, end))
	add("gif of a frame without pixels", join(gifHeader(10, 10), gifFrame(0, 0, 0, 0), end))
	add("gif without a palette", join([]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00"), small, end))
	add("gif of too many pixels", join(gifHeader(1, 1), small[:10], gifBlocks(bytes.Repeat([]byte{0x44}, 1<<20)), end))
	add("gif that loops", join(gifHeader(1, 1), []byte("\x21\xff\x0bNETSCAPE2.0\x03\x01\xff\xff\x00"), small, small, end))
	add("gif of two canvases", join(gifHeader(1, 1), gifHeader(9, 9), small, end))
	add("gif of codes of 12 bits", join(gifHeader(1, 1), small[:9], []byte{0, 12}, gifBlocks(make([]byte, 99)), end))
}

func webPBombs(tb testing.TB, add func(name string, file []byte)) {
	tb.Helper()
	lossy, alpha := testdata(tb, "lossy.webp"), testdata(tb, "alpha.webp")
	for _, s := range []image.Point{{16384, 16384}, {16384, 1}, {1, 1}, {7000, 5700}, {5000, 5000}, {4000, 3000}, {61, 40}} {
		blank := riffChunk("VP8L", vp8l(s.X, s.Y).blank())
		add(fmt.Sprintf("lossless webp of %v", s), riff(blank))
		add(fmt.Sprintf("webp of %v and another lossless one", s), riff(vp8x(0, s.X, s.Y), riffChunk("VP8L", vp8l(999, 999).blank())))
		add(fmt.Sprintf("webp of %v and another", s), riff(vp8x(0, s.X, s.Y), lossy[12:]))
		add(fmt.Sprintf("webp of %v and another alpha", s), riff(vp8x(16, s.X, s.Y), alpha[30:]))
		raw := riffChunk("ALPH", append([]byte{0}, make([]byte, 1000)...))
		add(fmt.Sprintf("webp of %v with short alpha", s), riff(vp8x(16, s.X, s.Y), raw, lossy[12:]))
		large := slices.Clone(lossy)
		binary.LittleEndian.PutUint16(large[26:], uint16(min(s.X, 16383)))
		binary.LittleEndian.PutUint16(large[28:], uint16(min(s.Y, 16383)))
		add(fmt.Sprintf("lossy webp of %v", s), large)
	}
	add("webp of 2^24 pixels square", riff(vp8x(0, 1<<24, 1<<24), lossy[12:]))
	add("webp of many codes", riff(riffChunk("VP8L", manyCodes(128, 128, 1000))))
	add("webp of too many codes", riff(riffChunk("VP8L", manyCodes(128, 128, 65536))))
	add("webp of unused codes", riff(riffChunk("VP8L", manyCodes(1, 1, 2600))))
	add("webp of many chunks", riff(bytes.Repeat(riffChunk("JUNK", nil), 1_000_000), lossy[12:]))
	add("webp of 30,000 profiles", riff(vp8x(32, 60, 40), bytes.Repeat(riffChunk("ICCP", displayP3()), 30_000), lossy[12:]))
	add("webp of many headers", riff(bytes.Repeat(vp8x(0, 60, 40), 1000), lossy[12:]))
	add("webp of a frame in a frame", riff(vp8x(2, 9, 9), riffChunk("ANMF", append(make([]byte, 16), riffChunk("ANMF", make([]byte, 99))...))))
	add("webp of short frames", riff(vp8x(2, 9, 9), riffChunk("ANMF", nil)))
	add("webp of a frame of another size", riff(vp8x(2, 9, 9), riffChunk("ANMF", append(make([]byte, 16), lossy[12:]...))))
	add("webp of a large frame", riff(vp8x(2, 9, 9), riffChunk("ANMF", append(append(append(make([]byte, 6), size24(16384, 16384)...), 0, 0, 0, 0), lossy[12:]...))))
	add("webp of frames only", riff(bytes.Repeat(riffChunk("ANMF", make([]byte, 20)), 1000)))
	long := riff(lossy[12:])
	binary.LittleEndian.PutUint32(long[16:], 1<<31-1)
	add("webp of a chunk that is longer than the file", long)
}

// The sum of all allocations for a file is at most the memory that the file is charged for. The
// test is not parallel because it measures memory.
func TestMemoryIsCharged(t *testing.T) {
	clear := sample(1700, 200)
	clear.Pix[3] = 100
	clearNoise := noise(1600, 150)
	clearNoise.Pix[3] = 100
	ratio444 := image.NewYCbCr(image.Rect(0, 0, 1700, 200), image.YCbCrSubsampleRatio444)
	for name, file := range map[string][]byte{
		"photo": encodeJPEG(t, photo(1700, 200)), "photo without subsampling": encodeJPEG(t, ratio444), "scans": scans(1700, 200, 1),
		"cmyk": withSize(testdata(t, "cmyk.jpg"), 60, 40), "png": encodePNG(t, sample(1700, 200)), "clear png": encodePNG(t, clear),
		"noise":    afterIHDR(encodePNG(t, clearNoise), chunk("eXIf", exif(6))),
		"deep png": encodePNG(t, image.NewNRGBA64(image.Rect(0, 0, 1700, 200))), "gray png": encodePNG(t, image.NewGray16(image.Rect(0, 0, 1700, 200))),
		"gif": bytes.Join([][]byte{gifHeader(1700, 200), gifFrame(0, 0, 1699, 199), {0x3b}}, nil), "animation": animate(t, 40, 300, 300),
		"lossless webp": riff(riffChunk("VP8L", vp8l(1700, 200).blank())), "small": encodePNG(t, sample(9, 9)),
	} {
		for _, kind := range []Kind{Post, Avatar} {
			h, err := parse(file)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			charged := h.memory + planOf(h, kind).memory()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = newTestMaker().Make(t.Context(), "", file, kind)
			runtime.ReadMemStats(&after)
			allocated := int64(after.TotalAlloc - before.TotalAlloc)
			if err != nil || allocated > charged {
				t.Errorf("%s: charged for %d bytes, allocated %d, %v", name, charged, allocated, err)
			}
		}
	}
}

// Files that are not pictures, or not of an accepted type, are rejected.
func TestOtherFiles(t *testing.T) {
	t.Parallel()
	otherFiles(func(name string, file []byte) {
		_, err := newTestMaker().Make(t.Context(), "", file, Post)
		if !errors.Is(err, ErrType) && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ErrType, ErrTooLarge or ErrDamaged", name, err)
		}
	})
}
