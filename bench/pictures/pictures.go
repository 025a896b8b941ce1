// Package pictures compares what package picture makes of a photo with one decoding and one
// encoding of it.
package pictures

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"strings"
	"time"

	"retwis/bench/measure"
	"retwis/internal/picture"
)

// Of the photo, and of what it is encoded with in all sides.
const (
	width, height = 4000, 3000
	quality       = 82
)

// photo is what the sides work on.
type photo struct {
	file  []byte
	whole image.Image
	large image.Image // the larger of what is made of it
}

// side is a part of the work.
type side struct {
	name string
	work func(ctx context.Context) error
}

// Pictures measures them in turn.
func Pictures(ctx context.Context, opt measure.Options) (string, error) {
	p, err := newPhoto(ctx)
	if err != nil {
		return "", err
	}
	sides := p.sides()
	rounds, err := measure.InTurn(opt.Rounds, sides, func(s side, _ int) (float64, error) {
		began := time.Now()
		err := s.work(ctx)
		return time.Since(began).Seconds(), err
	})
	if err != nil {
		return "", err
	}
	return p.report(opt, sides, rounds), nil
}

// newPhoto makes gradients, edges and a little noise, as photos have them.
func newPhoto(ctx context.Context) (photo, error) {
	img := image.NewYCbCr(image.Rect(0, 0, width, height), image.YCbCrSubsampleRatio420)
	random := rand.New(rand.NewPCG(3, 4))
	for y := range height {
		for x := range width {
			v := 40 + 120*x/width + 60*y/height + random.IntN(12)
			if (x/97+y/61)%7 == 0 {
				v = 255 - v
			}
			img.Y[img.YOffset(x, y)] = uint8(v)
		}
	}
	for i := range img.Cb {
		img.Cb[i], img.Cr[i] = uint8(100+50*i/len(img.Cb)), uint8(160-50*(i%img.CStride)/img.CStride)
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, img, &jpeg.Options{Quality: 92}); err != nil {
		return photo{}, err
	}
	made, err := picture.New(picture.Options{}).Make(ctx, "", file.Bytes(), picture.Post)
	if err != nil {
		return photo{}, err
	}
	large, err := jpeg.Decode(bytes.NewReader(made.Renditions[0].Data))
	return photo{file: file.Bytes(), whole: img, large: large}, err
}

func (p photo) sides() []side {
	m := picture.New(picture.Options{})
	encode := func(img image.Image) func(ctx context.Context) error {
		return func(context.Context) error {
			return jpeg.Encode(&bytes.Buffer{}, img, &jpeg.Options{Quality: quality})
		}
	}
	return []side{
		{"`picture.Maker.Make`: two sizes and the blurhash", func(ctx context.Context) error {
			_, err := m.Make(ctx, "", p.file, picture.Post)
			return err
		}},
		{"`jpeg.Decode`", func(context.Context) error {
			_, err := jpeg.Decode(bytes.NewReader(p.file))
			return err
		}},
		{"`jpeg.Encode`, 1,600 pixels wide", encode(p.large)},
		{"`jpeg.Encode`, all 12 megapixels", encode(p.whole)},
	}
}

func (p photo) report(opt measure.Options, sides []side, rounds [][]float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## Pictures

A sample photo of 12 megapixels, a JPEG of %.1f MB, becomes a post's picture: decoded, scaled to
1,600 and 400 pixels, encoded twice. Medians of %d rounds, in turn.

`, float64(len(p.file))/1e6, opt.Rounds)
	measure.Head(&b, "", "time")
	medians := make([]float64, len(sides))
	for i, s := range sides {
		medians[i] = measure.Median(rounds[i])
		fmt.Fprintf(&b, "| %s | %.0f ms |\n", s.name, medians[i]*1000)
	}
	fmt.Fprintf(&b, "\nTo one decoding and one encoding of 1,600 pixels: **%.2f**; of all: **%.2f**.\n",
		medians[0]/(medians[1]+medians[2]), medians[0]/(medians[1]+medians[3]))
	return b.String()
}
