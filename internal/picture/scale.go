package picture

import (
	"context"
	"image"
	"image/draw"
)

// shrink scales the part r of a picture down to w × h pixels. Each pixel is the mean of the pixels
// that it covers, which is as sharp as possible without aliasing. Besides the result, shrink needs
// memory for one row. The scalers of golang.org/x/image/draw take 32 bytes for each pixel of the new
// width times the old height, 280 MB for 40 megapixels.
func shrink(ctx context.Context, src image.Image, r image.Rectangle, w, h int) (*image.RGBA, error) {
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	row := image.NewRGBA(image.Rect(0, 0, r.Dx(), 1))
	sums, total := make([]uint32, 4*w), make([]uint64, 4*w)
	scale := 1 / (float64(r.Dx()) * float64(r.Dy()))
	// Count heights in units such that a row of src has h units and a row of dst has r.Dy() units:
	// then all rows begin and end at integers. sumRow does the same for columns.
	line, room := 0, r.Dy()
	for y := range r.Dy() {
		if y%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		draw.Draw(row, row.Rect, src, image.Pt(r.Min.X, r.Min.Y+y), draw.Src)
		sumRow(sums, row.Pix, w)
		for left := h; left > 0; {
			part := min(left, room)
			for i, sum := range sums {
				total[i] += uint64(sum) * uint64(part)
			}
			left -= part
			if room -= part; room > 0 {
				continue
			}
			out := dst.Pix[line*dst.Stride:]
			for i, sum := range total {
				out[i] = uint8(float64(sum)*scale + 0.5)
			}
			clear(total)
			line, room = line+1, r.Dy()
		}
	}
	return dst, nil
}

// sumRow sums the columns of a row into w sums, weighted by coverage: a column of the row is w
// units wide, and a column of the result is as many units wide as the row has columns.
func sumRow(sums []uint32, pix []uint8, w int) {
	columns := len(pix) / 4
	if columns == w {
		for i, v := range pix {
			sums[i] = uint32(v) * uint32(w)
		}
		return
	}
	at, left := 0, w // left is the uncovered part of the column at
	for x := range w {
		var r, g, b, a uint32
		for room := columns; room > 0; {
			part := min(left, room)
			p := pix[4*at : 4*at+4 : 4*at+4]
			weight := uint32(part)
			r += uint32(p[0]) * weight
			g += uint32(p[1]) * weight
			b += uint32(p[2]) * weight
			a += uint32(p[3]) * weight
			room -= part
			if left -= part; left == 0 {
				at, left = at+1, w
			}
		}
		sum := sums[4*x : 4*x+4 : 4*x+4]
		sum[0], sum[1], sum[2], sum[3] = r, g, b, a
	}
}

// upright rotates and mirrors a picture according to its EXIF orientation.
func upright(img *image.RGBA, orientation int) *image.RGBA {
	if orientation <= 1 {
		return img
	}
	w, h := img.Rect.Dx(), img.Rect.Dy()
	if orientation >= 5 {
		w, h = h, w
	}
	rotated := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			fx, fy := x, y // the position in img
			switch orientation {
			case 2:
				fx = w - 1 - x
			case 3:
				fx, fy = w-1-x, h-1-y
			case 4:
				fy = h - 1 - y
			case 5:
				fx, fy = y, x
			case 6:
				fx, fy = y, w-1-x
			case 7:
				fx, fy = h-1-y, w-1-x
			case 8:
				fx, fy = h-1-y, x
			}
			copy(rotated.Pix[rotated.PixOffset(x, y):][:4], img.Pix[img.PixOffset(fx, fy):][:4])
		}
	}
	return rotated
}
