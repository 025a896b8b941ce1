package web

import (
	"fmt"
	"image/color"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/boombuler/barcode/qr"
)

// qrCode is a QR code as a picture in the page itself. It is black on white in both
// colour schemes: not every camera reads the opposite.
func qrCode(text string) (templ.Component, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return nil, fmt.Errorf("web: QR code: %w", err)
	}
	const border = 4 // modules, as the standard asks
	size := code.Bounds().Dx()
	var path strings.Builder
	for y := range size {
		for x := range size {
			if code.At(x, y) == color.Black {
				path.WriteString("M" + strconv.Itoa(x+border) + " " + strconv.Itoa(y+border) + "h1v1h-1z")
			}
		}
	}
	whole := strconv.Itoa(size + 2*border)
	return templ.Raw(`<svg class="qr" role="img" aria-label="QR code with the key" viewBox="0 0 ` + whole + ` ` + whole +
		`" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h` + whole + `v` + whole + `H0z"/><path fill="#000" d="` + path.String() + `"/></svg>`), nil
}
