package picture

import (
	"bytes"
	"errors"
	"image"
	"slices"
	"testing"
	"time"
)

// fuzz submits files that start with magic. Each file must be rejected with an error of this
// package or be converted to pictures that can be decoded.
func fuzz(f *testing.F, magic string, bombs func(testing.TB, func(name string, file []byte))) {
	f.Helper()
	add := func(_ string, file []byte) {
		if matches(magic, file) && len(file) < 1<<14 {
			f.Add(file)
		}
	}
	damagedFiles(f, add)
	bombs(f, add)
	// The low memory limit rejects large pictures, which would take a long time.
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
				t.Fatalf("rendition is %s of %d×%d (%v), want %s of %d×%d", format, config.Width, config.Height, err, r.Type, r.Width, r.Height)
			}
			if bytes.Contains(r.Data, []byte(secret)) {
				t.Fatal("rendition contains metadata")
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
			t.Fatalf("orientation = %d, want 1 to 8", o)
		}
	})
}

func FuzzICC(f *testing.F) {
	for _, profile := range [][]byte{displayP3(), adobeRGB(), sRGB(), icc([3]column{}, parametric(4, 1, 2, 3, 4, 5, 6, 7))} {
		f.Add(profile)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if p := newProfile(data); p != nil {
			p.convert(pictureOf(data))
		}
	})
}

// pictureOf returns a picture of the given bytes, with each color limited to alpha as in
// premultiplied pictures.
func pictureOf(data []byte) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, 8, 8))
	copy(img.Pix, data)
	for i := 3; i < len(img.Pix); i += 4 {
		for c := range 3 {
			img.Pix[i-3+c] = min(img.Pix[i-3+c], img.Pix[i])
		}
	}
	return img
}
