package picture

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"

	blurhash "github.com/bbrks/go-blurhash"
)

// JPEG quality. Below quality, edges of text show artifacts. Pages have many small avatars, which
// contain no text to read.
const (
	quality      = 82
	smallQuality = 70
	small        = 80 // maximum side in pixels
)

// plan describes how a picture is converted.
type plan struct {
	crop  image.Rectangle // of the picture as stored in the file
	sizes []size          // upright, largest first
}

type size struct {
	name          string
	width, height int
}

// planOf returns the plan for a kind of picture. It crops opposite sides equally, so that the
// orientation only matters if it swaps width and height.
func planOf(h header, kind Kind) plan {
	w, ht := h.width, h.height
	turned := h.orientation >= 5
	if turned {
		w, ht = ht, w
	}
	cw, ch := w, ht
	var bounds []size
	switch kind {
	case Avatar:
		cw, ch = min(w, ht), min(w, ht)
		bounds = []size{{"400", 400, 400}, {"80", 80, 80}}
	case Header:
		cw, ch = min(w, 3*ht), min(ht, max(w/3, 1))
		bounds = []size{{"1600", 1600, 534}, {"600", 600, 200}}
	default:
		// Screenshots of phones, twice as high as wide, stay readable.
		bounds = []size{{"1600", 1600, 3200}, {"400", 400, 800}}
	}
	p := plan{}
	for _, b := range bounds {
		p.sizes = append(p.sizes, fit(cw, ch, b))
	}
	if turned {
		cw, ch = ch, cw
	}
	x, y := (h.width-cw)/2, (h.height-ch)/2
	p.crop = image.Rect(x, y, x+cw, y+ch)
	return p
}

// fit scales a picture to fit into bounds, without enlarging it.
func fit(w, h int, bounds size) size {
	scale := min(1, float64(bounds.width)/float64(w), float64(bounds.height)/float64(h))
	bounds.width, bounds.height = max(1, int(float64(w)*scale+0.5)), max(1, int(float64(h)*scale+0.5))
	return bounds
}

// memory returns the bytes that scaling and encoding take: for the picture in its largest size, a
// rotated copy, the file, which is copied as it grows, and the encoders.
func (p plan) memory() int64 {
	const encoders = 4 << 20
	return 24*int64(p.sizes[0].width)*int64(p.sizes[0].height) + encoders
}

// job converts one file.
type job struct {
	header
	kind Kind
	plan plan
}

func (j job) run(ctx context.Context) (Picture, error) {
	img, exact, err := j.source(ctx)
	if err != nil {
		return Picture{}, err
	}
	var p Picture
	for i, s := range j.plan.sizes {
		if i > 0 {
			if img, err = shrink(ctx, img, img.Rect, s.width, s.height); err != nil {
				return Picture{}, err
			}
		}
		r, err := j.encode(ctx, img, exact)
		if err != nil {
			return Picture{}, err
		}
		r.Name = s.name
		p.Renditions = append(p.Renditions, r)
	}
	if p.Blurhash, err = blur(ctx, img); err != nil {
		return Picture{}, err
	}
	// If a later frame of an animation is damaged, only the first frame is used.
	if j.animated && j.kind == Post && j.plan.sizes[0].width == j.width && j.plan.sizes[0].height == j.height {
		if r, err := j.animation(ctx); err == nil {
			p.Renditions[0] = r
		} else if ctx.Err() != nil {
			return Picture{}, err
		}
	}
	return p, nil
}

// source returns the picture in its largest size, upright and in sRGB, and whether it has few
// colors, which JPEG would spoil.
func (j job) source(ctx context.Context) (img *image.RGBA, exact bool, err error) {
	src, err := j.decode(ctx)
	if err != nil {
		return nil, false, err
	}
	exact = j.lossless && hasFewColors(src)
	largest := j.plan.sizes[0]
	w, h := largest.width, largest.height
	if j.orientation >= 5 {
		w, h = h, w
	}
	if img, err = shrink(ctx, src, j.plan.crop.Add(src.Bounds().Min), w, h); err != nil {
		return nil, false, err
	}
	if j.profile != nil {
		j.profile.convert(img)
	}
	return upright(img, j.orientation), exact, nil
}

// hasFewColors reports whether a picture has at most 256 colors, as drawings have. It returns false
// for grayscale formats.
func hasFewColors(img image.Image) bool {
	const few = 256
	var pix []uint8
	switch img := img.(type) {
	case *image.Paletted:
		return true
	case *image.RGBA:
		pix = img.Pix
	case *image.NRGBA:
		pix = img.Pix
	default:
		return false
	}
	seen := make(map[[4]uint8]struct{}, few)
	var last [4]uint8
	for i := 0; i+4 <= len(pix) && len(seen) <= few; i += 4 {
		if color := [4]uint8(pix[i : i+4]); i == 0 || color != last {
			seen[color], last = struct{}{}, color
		}
	}
	return len(seen) <= few
}

// encode encodes a picture: as PNG if exact, or if pixels are transparent.
func (j job) encode(ctx context.Context, img *image.RGBA, exact bool) (Rendition, error) {
	var file bytes.Buffer
	r := Rendition{Type: "image/jpeg", Width: img.Rect.Dx(), Height: img.Rect.Dy()}
	w := &limited{ctx: ctx, w: &file}
	var err error
	if exact || !img.Opaque() {
		r.Type = "image/png"
		err = png.Encode(w, img)
	} else {
		options := jpeg.Options{Quality: quality}
		if max(r.Width, r.Height) <= small {
			options.Quality = smallQuality
		}
		err = jpeg.Encode(w, img, &options)
	}
	if err != nil {
		return Rendition{}, fmt.Errorf("picture: encode: %w", err)
	}
	r.Data = file.Bytes()
	return r, nil
}

// animation encodes the frames of a GIF again. The frames keep their size, because scaling would
// require composing each frame and choosing its colors again.
func (j job) animation(ctx context.Context) (Rendition, error) {
	frames, err := j.frames(ctx)
	if err != nil {
		return Rendition{}, err
	}
	var file bytes.Buffer
	if err := gif.EncodeAll(&limited{ctx: ctx, w: &file}, frames); err != nil {
		return Rendition{}, fmt.Errorf("picture: encode: %w", err)
	}
	return Rendition{Name: j.plan.sizes[0].name, Type: "image/gif", Width: j.width, Height: j.height, Data: file.Bytes()}, nil
}

// blur returns the blurhash of a picture. The components of a blurhash are so coarse that a tiny
// copy of the picture is enough.
func blur(ctx context.Context, img *image.RGBA) (string, error) {
	const tiny = 32
	s := fit(img.Rect.Dx(), img.Rect.Dy(), size{"", tiny, tiny})
	small, err := shrink(ctx, img, img.Rect, s.width, s.height)
	if err != nil {
		return "", err
	}
	hash, err := blurhash.Encode(4, 3, small)
	if err != nil {
		return "", fmt.Errorf("picture: %w", err)
	}
	return hash, nil
}
