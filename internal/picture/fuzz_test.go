package picture

import (
	"bytes"
	"errors"
	"image"
	"slices"
	"testing"
	"time"
)

// fuzz submits files that start like a given type: they are rejected with an error of this
// package, or converted to pictures that can be decoded.
func fuzz(f *testing.F, magic string, bombs func(testing.TB, func(name string, file []byte))) {
	f.Helper()
	add := func(_ string, file []byte) {
		if matches(magic, file) && len(file) < 1<<14 {
			f.Add(file)
		}
	}
	damagedFiles(f, add)
	bombs(f, add)
	// Little memory, so that large pictures, which take a long time, are rejected.
	m := New(Options{Memory: 32 << 20, Timeout: time.Second})
	f.Fuzz(func(t *testing.T, file []byte) {
		if !matches(magic, file) {
			return
		}
		p, err := m.Make(t.Context(), "", file, Kind(len(file)%3))
		known := []error{ErrTooLarge, ErrDamaged, ErrTime}
		if err != nil && !slices.ContainsFunc(known, func(e error) bool { return errors.Is(err, e) }) {
			t.Fatal(err)
		}
		for _, r := range p.Renditions {
			config, format, err := image.DecodeConfig(bytes.NewReader(r.Data))
			if err != nil || "image/"+format != r.Type || config.Width != r.Width || config.Height != r.Height {
				t.Fatalf("%s of %d×%d: %v", r.Type, r.Width, r.Height, err)
			}
			if bytes.Contains(r.Data, []byte(secret)) {
				t.Fatal("metadata is kept")
			}
		}
	})
}

func FuzzJPEG(f *testing.F) { fuzz(f, "\xff\xd8\xff", jpegBombs) }
func FuzzPNG(f *testing.F)  { fuzz(f, "\x89PNG\r\n\x1a\n", pngBombs) }
func FuzzGIF(f *testing.F)  { fuzz(f, "GIF89a", gifBombs) }
func FuzzWebP(f *testing.F) { fuzz(f, "RIFF????WEBP", webPBombs) }

func FuzzEXIF(f *testing.F) {
	for o := range 10 {
		f.Add(exif(o))
		f.Add(append([]byte(exifName), exif(o)...))
	}
	f.Add([]byte("MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if o := orientation(data); o < 1 || o > 8 {
			t.Fatal(o)
		}
	})
}

func FuzzICC(f *testing.F) {
	for _, profile := range [][]byte{displayP3(), adobeRGB(), sRGB(), icc([3]column{}, parametric(4, 1, 2, 3, 4, 5, 6, 7))} {
		f.Add(profile)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if p := newProfile(data); p != nil {
			p.convert(noiseOf(data))
		}
	})
}

// noiseOf returns a picture of these bytes, multiplied by alpha.
func noiseOf(data []byte) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, 8, 8))
	copy(img.Pix, data)
	for i := 3; i < len(img.Pix); i += 4 {
		for c := range 3 {
			img.Pix[i-3+c] = min(img.Pix[i-3+c], img.Pix[i])
		}
	}
	return img
}
