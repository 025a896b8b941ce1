package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newTestMaker returns a Maker with the default options, except for a timeout that is long enough
// for a busy machine.
func newTestMaker() *Maker { return New(Options{Timeout: time.Minute}) }

// mustMake converts a picture.
func mustMake(tb testing.TB, file []byte, kind Kind) Picture {
	tb.Helper()
	p, err := newTestMaker().Make(tb.Context(), "here", file, kind)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// decoded decodes a rendition and checks its type and size.
func decoded(tb testing.TB, r Rendition) image.Image {
	tb.Helper()
	img, format, err := image.Decode(bytes.NewReader(r.Data))
	if err != nil {
		tb.Fatal(err)
	}
	if size := img.Bounds().Size(); "image/"+format != r.Type || size != image.Pt(r.Width, r.Height) {
		tb.Fatalf("rendition is %s of %v, want %s of %d×%d", format, size, r.Type, r.Width, r.Height)
	}
	return img
}

// same reports whether two colors differ by at most tolerance in each channel.
func same(a, b color.Color, tolerance int) bool {
	ar, ag, ab, aa := a.RGBA()
	br, bg, bb, ba := b.RGBA()
	for _, d := range []int{int(ar) - int(br), int(ag) - int(bg), int(ab) - int(bb), int(aa) - int(ba)} {
		if abs(d) > tolerance*257 {
			return false
		}
	}
	return true
}

// checkSample checks that a picture shows the sample.
func checkSample(t *testing.T, img image.Image) {
	t.Helper()
	b := img.Bounds()
	for i, want := range quarters {
		x, y := b.Min.X+b.Dx()*(1+i%2*2)/4, b.Min.Y+b.Dy()*(1+i/2*2)/4
		if got := img.At(x, y); !same(got, want, 8) {
			t.Errorf("quarter %d is %v, want %v", i, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind Kind
		w, h int
		want string
	}{
		{Post, 2000, 1500, "1600: 1600×1200 400: 400×300"},
		{Post, 900, 600, "1600: 900×600 400: 400×267"},
		{Post, 30, 20, "1600: 30×20 400: 30×20"},
		{Post, 1170, 2532, "1600: 1170×2532 400: 370×800"},
		{Post, 100, 6400, "1600: 50×3200 400: 13×800"},
		{Post, 9000, 1, "1600: 1600×1 400: 400×1"},
		{Post, 1, 9000, "1600: 1×3200 400: 1×800"},
		{Avatar, 900, 600, "400: 400×400 80: 80×80"},
		{Avatar, 60, 90, "400: 60×60 80: 60×60"},
		{Avatar, 1, 1, "400: 1×1 80: 1×1"},
		{Header, 1800, 1200, "1600: 1600×533 600: 600×200"},
		{Header, 1500, 500, "1600: 1500×500 600: 600×200"},
		{Header, 9000, 10, "1600: 30×10 600: 30×10"},
		{Header, 1, 2, "1600: 1×1 600: 1×1"},
	} {
		p := mustMake(t, encodePNG(t, sample(test.w, test.h)), test.kind)
		got := ""
		for _, r := range p.Renditions {
			got += fmt.Sprintf(" %s: %d×%d", r.Name, r.Width, r.Height)
			img := decoded(t, r)
			if r.Width > 20 && r.Height > 10 {
				checkSample(t, img)
			}
		}
		if got != " "+test.want || len(p.Blurhash) != 28 {
			t.Errorf("kind %d of %d×%d:%s, want %s; blurhash %q", test.kind, test.w, test.h, got, test.want, p.Blurhash)
		}
	}
}

// Make removes metadata such as a GPS position, and turns a picture upright from any orientation.
func TestUprightWithoutMetadata(t *testing.T) {
	t.Parallel()
	for o := range 10 { // 0 and 9 are not valid orientations
		jpg := afterSOI(encodeJPEG(t, stored(sample(600, 400), o)), segment(app1, append([]byte(exifName), exif(o)...)))
		png := afterIHDR(encodePNG(t, stored(sample(600, 400), o)), chunk("eXIf", exif(o)), chunk("tEXt", []byte("Comment\x00"+secret)))
		for name, file := range map[string][]byte{"jpeg": jpg, "png": png} {
			kinds := []Kind{Post}
			if o == 6 { // all kinds are made from the same upright picture
				kinds = []Kind{Post, Avatar, Header}
			}
			for _, kind := range kinds {
				p := mustMake(t, file, kind)
				for _, r := range p.Renditions {
					if bytes.Contains(r.Data, []byte(secret)) || bytes.Contains(r.Data, []byte("Exif")) {
						t.Errorf("%s with orientation %d: rendition contains metadata", name, o)
					}
					checkSample(t, decoded(t, r))
				}
				if r := p.Renditions[0]; kind == Post && (r.Width != 600 || r.Height != 400) {
					t.Errorf("%s with orientation %d: got %d×%d, want 600×400", name, o, r.Width, r.Height)
				}
			}
		}
	}
}

func TestWebP(t *testing.T) {
	t.Parallel()
	lossy, alpha := testdata(t, "lossy.webp"), testdata(t, "alpha.webp")
	frame := riffChunk("ANMF", append(append([]byte{0, 0, 0, 0, 0, 0}, size24(60, 40)...), append([]byte{0, 0, 0, 0}, lossy[12:]...)...))
	small := riffChunk("ANMF", append(append([]byte{0, 0, 0, 0, 0, 0}, size24(60, 40)...), append([]byte{0, 0, 0, 0}, alpha[30:]...)...))
	for name, test := range map[string]struct {
		file []byte
		kind string
	}{
		"lossy":         {lossy, "image/jpeg"},
		"lossless":      {testdata(t, "lossless.webp"), "image/png"},
		"animated":      {riff(vp8x(2, 60, 40), riffChunk("ANIM", make([]byte, 6)), frame, small), "image/jpeg"},
		"with metadata": {riff(vp8x(8, 60, 40), lossy[12:], riffChunk("EXIF", exif(1))), "image/jpeg"},
	} {
		p := mustMake(t, test.file, Post)
		if p.Renditions[0].Type != test.kind {
			t.Errorf("%s: type %s, want %s", name, p.Renditions[0].Type, test.kind)
		}
		checkSample(t, decoded(t, p.Renditions[0]))
	}
	turned := mustMake(t, riff(vp8x(8, 60, 40), lossy[12:], riffChunk("EXIF", exif(6))), Post).Renditions[0]
	if turned.Width != 40 || turned.Height != 60 {
		t.Errorf("turned to %d×%d, want 40×60", turned.Width, turned.Height)
	}
	for name, file := range map[string][]byte{"alpha": alpha, "animated": riff(vp8x(18, 60, 40), small)} {
		r := mustMake(t, file, Post).Renditions[0]
		if _, _, _, a := decoded(t, r).At(9, 9).RGBA(); r.Type != "image/png" || a>>8 < 126 || a>>8 > 129 {
			t.Errorf("%s: %s with alpha %d, want image/png with alpha 126 to 129", name, r.Type, a>>8)
		}
	}
}

// The inputs are the well-known values of the sRGB primaries in other color spaces. Rounding these
// values can change a dark sRGB value by up to 3.
func TestColors(t *testing.T) {
	t.Parallel()
	inP3 := map[color.RGBA]color.RGBA{
		{234, 51, 35, 255}: {255, 0, 0, 255}, {117, 251, 76, 255}: {0, 255, 0, 255}, {0, 0, 245, 255}: {0, 0, 255, 255},
		{128, 128, 128, 255}: {128, 128, 128, 255}, {255, 0, 0, 255}: {255, 0, 0, 255}, {0, 0, 0, 255}: {0, 0, 0, 255},
	}
	inAdobeRGB := map[color.RGBA]color.RGBA{
		{219, 0, 0, 255}: {255, 0, 0, 255}, {144, 255, 60, 255}: {0, 255, 0, 255}, {0, 0, 250, 255}: {0, 0, 255, 255},
		{255, 255, 255, 255}: {255, 255, 255, 255}, {127, 127, 127, 255}: {128, 128, 128, 255},
	}
	for name, test := range map[string]struct {
		profile []byte
		colors  map[color.RGBA]color.RGBA
	}{"Display P3": {displayP3(), inP3}, "Adobe RGB": {adobeRGB(), inAdobeRGB}} {
		for in, want := range test.colors {
			img := image.NewNRGBA(image.Rect(0, 0, 20, 10))
			for i := 0; i < len(img.Pix); i += 4 {
				copy(img.Pix[i:], []uint8{in.R, in.G, in.B, 255})
			}
			plain := afterIHDR(encodePNG(t, img), iccChunk(test.profile))
			if got := decoded(t, mustMake(t, plain, Post).Renditions[0]).At(5, 5); !same(got, want, 3) {
				t.Errorf("%s in PNG: %v is %v, want %v", name, in, got, want)
			}
			photo := afterSOI(encodeJPEG(t, img), iccSegment(test.profile))
			if got := decoded(t, mustMake(t, photo, Post).Renditions[0]).At(5, 5); !same(got, want, 5) {
				t.Errorf("%s in JPEG: %v is %v, want %v", name, in, got, want)
			}
		}
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{
		"none": nil, "sRGB": sRGB(), "short": displayP3()[:200], "table": append([]byte(nil), make([]byte, 400)...),
		"without a curve": icc([3]column{}, nil), "unknown function": icc([3]column{}, parametric(9, 1, 2, 3, 4, 5, 6, 7)),
	} {
		if newProfile(data) != nil {
			t.Errorf("newProfile accepted the profile %q", name)
		}
	}
	for name, curve := range map[string][]byte{
		"linear": append([]byte("curv\x00\x00\x00\x00"), 0, 0, 0, 0), "gamma": gamma(1.8), "two points": append([]byte("curv\x00\x00\x00\x00"), 0, 0, 0, 2, 0, 0, 255, 255),
		"power": parametric(0, 1.8), "offset": parametric(1, 2.2, 1, 0.01), "lifted": parametric(2, 2.2, 1, 0, 0.05),
		"all": parametric(4, 2.4, 0.9, 0.05, 0.08, 0.04, 0.01, 0.01), "steep": gamma(127), "falls": parametric(0, -1),
	} {
		p := newProfile(icc([3]column{{0.61, 0.31, 0.02}, {0.2, 0.63, 0.06}, {0.15, 0.06, 0.74}}, curve))
		if p == nil {
			t.Errorf("newProfile rejected the curve %q", name)
			continue
		}
		p.convert(image.NewRGBA(image.Rect(0, 0, 2, 2)))
	}
}

// convert gives transparent pixels the same color as opaque pixels.
func TestConvertWithAlpha(t *testing.T) {
	t.Parallel()
	img := image.NewRGBA(image.Rect(0, 0, 3, 1))
	img.Set(0, 0, color.NRGBA{234, 51, 35, 128})
	img.Set(1, 0, color.NRGBA{234, 51, 35, 255})
	newProfile(displayP3()).convert(img)
	for x, want := range []color.Color{color.NRGBA{255, 0, 0, 128}, color.NRGBA{255, 0, 0, 255}, color.NRGBA{}} {
		if got := img.At(x, 0); !same(got, want, 2) {
			t.Errorf("pixel %d is %v, want %v", x, got, want)
		}
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	clear := sample(300, 200)
	clear.Set(3, 3, color.NRGBA{9, 9, 9, 100})
	gray := image.NewGray(image.Rect(0, 0, 300, 200))
	deep := image.NewRGBA64(gray.Rect)
	for i := range gray.Pix {
		gray.Pix[i] = uint8(i)
	}
	for i := range deep.Pix {
		deep.Pix[i] = 255
	}
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"photo": {encodeJPEG(t, photo(300, 200)), "image/jpeg"}, "progressive": {testdata(t, "progressive.jpg"), "image/jpeg"},
		"CMYK": {testdata(t, "cmyk.jpg"), "image/jpeg"}, "gray JPEG": {encodeJPEG(t, gray), "image/jpeg"},
		"noise": {encodePNG(t, noise(300, 200)), "image/jpeg"}, "drawing": {encodePNG(t, sample(300, 200)), "image/png"},
		"transparent": {encodePNG(t, clear), "image/png"}, "gray PNG": {encodePNG(t, gray), "image/jpeg"}, "16 bits": {encodePNG(t, deep), "image/jpeg"},
		"GIF": {animate(t, 1, 300, 200), "image/png"}, "animated GIF": {animate(t, 5, 300, 200), "image/gif"},
		"GIF of many frames": {animate(t, 101, 30, 20), "image/png"}, "GIF of many pixels": {animate(t, 2, 1600, 1300), "image/png"},
		"wide GIF": {animate(t, 3, 1700, 20), "image/png"},
	} {
		p := mustMake(t, test.file, Post)
		if p.Renditions[0].Type != test.want {
			t.Errorf("%s: type %s, want %s", name, p.Renditions[0].Type, test.want)
		}
		for _, r := range p.Renditions {
			decoded(t, r)
		}
	}
}

func TestCMYK(t *testing.T) {
	t.Parallel()
	img := decoded(t, mustMake(t, testdata(t, "cmyk.jpg"), Post).Renditions[0])
	for i, want := range quarters {
		if got := img.At(15+30*(i%2), 10+20*(i/2)); !same(got, want, 8) {
			t.Errorf("quarter %d is %v, want %v", i, got, want)
		}
	}
}

// Make keeps the frames of an animation, with their delays, and removes other data such as
// comments.
func TestAnimation(t *testing.T) {
	t.Parallel()
	file := animate(t, 7, 120, 80)
	comment := append([]byte{0x21, 0xfe}, gifBlocks([]byte(secret))...)
	p := mustMake(t, append(append([]byte{}, file[:len(file)-1]...), append(comment, 0x3b)...), Post)
	all, err := gif.DecodeAll(bytes.NewReader(p.Renditions[0].Data))
	if err != nil || len(all.Image) != 7 || all.Delay[3] != 5 || bytes.Contains(p.Renditions[0].Data, []byte(secret)) {
		t.Errorf("%d frames, %v; want 7 frames without the comment", len(all.Image), err)
	}
	if still := p.Renditions[1]; still.Ext() != "png" || still.Width != 120 {
		t.Errorf("small rendition: %s, width %d; want png, width 120", still.Ext(), still.Width)
	}
	if avatar := mustMake(t, file, Avatar).Renditions[0]; avatar.Ext() != "png" || avatar.Width != 80 {
		t.Errorf("avatar: %s, width %d; want png, width 80", avatar.Ext(), avatar.Width)
	}
}

// The first frame may cover only part of the canvas.
func TestPartialFrame(t *testing.T) {
	t.Parallel()
	file := append(append(gifHeader(40, 30), gifFrame(10, 10, 20, 10)...), 0x3b)
	img := decoded(t, mustMake(t, file, Post).Renditions[0])
	if got := img.At(2, 2); img.Bounds().Dx() != 40 || !same(got, color.Transparent, 0) || !same(img.At(15, 15), color.Black, 0) {
		t.Errorf("pixel outside the frame is %v in %v", got, img.Bounds())
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	jpg := encodeJPEG(t, sample(60, 40))
	for name, test := range map[string]struct {
		file []byte
		want error
	}{
		"nothing": {nil, ErrType}, "text": {[]byte("hello, this is a text"), ErrType}, "SVG": {[]byte("<svg onload='alert(1)'/>"), ErrType},
		"bytes": {make([]byte, MaxBytes+1), ErrTooLarge}, "cut": {jpg[:len(jpg)/2], ErrDamaged},
		"pixels": {pngFile(ihdr(8000, 5001, 8, 2, 0)), ErrTooLarge}, "memory": {pngFile(ihdr(8000, 5000, 16, 6, 0)), ErrTooLarge},
	} {
		if _, err := newTestMaker().Make(t.Context(), "", test.file, Post); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	m := New(Options{Memory: 64 << 20, Waiting: 1, Timeout: time.Minute})
	if err := m.queue.Acquire(t.Context(), "", m.memory); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := m.Make(ctx, "a", jpg, Post)
		done <- err
	}()
	for m.Waiting() == 0 {
		runtime.Gosched()
	}
	if _, err := m.Make(t.Context(), "b", jpg, Post); !errors.Is(err, ErrBusy) {
		t.Errorf("full queue: %v, want ErrBusy", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, ErrBusy) || !errors.Is(err, context.Canceled) {
		t.Errorf("canceled while waiting: %v, want ErrBusy and Canceled", err)
	}
	m.queue.Release(m.memory)
	if _, err := m.Make(ctx, "b", jpg, Post); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled before Make: %v, want Canceled", err)
	}
}
