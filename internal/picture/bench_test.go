package picture

import (
	"bytes"
	"image"
	"image/jpeg"
	"testing"
	"time"
)

// BenchmarkPhoto makes a post of a photo of twelve megapixels, and compares it with one
// decoding and one encoding: of the larger rendition, and of the whole photo.
func BenchmarkPhoto(b *testing.B) {
	file := encodeJPEG(b, photo(4000, 3000))
	m := New(Options{})
	var all, decoding, small, whole time.Duration
	timed := func(sum *time.Duration, work func()) {
		began := time.Now()
		work()
		*sum += time.Since(began)
	}
	for b.Loop() {
		var p Picture
		timed(&all, func() {
			var err error
			if p, err = m.Make(b.Context(), "", file, Post); err != nil {
				b.Fatal(err)
			}
		})
		var img, large image.Image
		timed(&decoding, func() { img, _ = jpeg.Decode(bytes.NewReader(file)) })
		large = decoded(b, p.Renditions[0])
		encode := func(img image.Image) func() {
			return func() {
				if err := jpeg.Encode(&bytes.Buffer{}, img, &jpeg.Options{Quality: quality}); err != nil {
					b.Fatal(err)
				}
			}
		}
		timed(&small, encode(large))
		timed(&whole, encode(img))
	}
	b.ReportMetric(float64(all)/float64(decoding+small), "times-a-decode-and-encode-of-1600")
	b.ReportMetric(float64(all)/float64(decoding+whole), "times-a-decode-and-encode-of-all")
}

func BenchmarkDrawn(b *testing.B) {
	for b.Loop() {
		Drawn("antirez")
	}
}
