package picture

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
)

// Drawn returns the default picture of a user, as an SVG of less than a kilobyte: a pattern that
// depends only on the name, ignoring case. The SVG has no IDs and no styles, so that a page can
// embed any number of pictures.
func Drawn(name string) []byte {
	d := drawingOf(name)
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %[1]d"><path fill="#%06x" d="M0 0h%[1]dv%[1]dH0z"/>`, side, d.ground)
	for _, layer := range d.layers {
		if len(layer.shapes) > 0 {
			fmt.Fprintf(&svg, `<path fill="#%06x" d="%s"/>`, layer.color, layer.path())
		}
	}
	svg.WriteString("</svg>")
	return []byte(svg.String())
}

// A drawing is a square of four by four tiles.
const (
	tile = 20
	side = 4 * tile
)

// drawing is a background and colored layers on it.
type drawing struct {
	ground uint32
	layers []layer
}

type layer struct {
	color  uint32
	shapes []shape
}

// shape is a closed outline.
type shape []point

// point is the end of a line or of an arc.
type point struct {
	x, y int
	turn int // quarters of a circle: 1 or 2 to the right, -1 to the left; 0 for a line
}

// palettes returns palettes of a background and three foreground colors. Backgrounds are neither
// light nor dark, so that they stand out from white and black pages.
func palettes() [][4]uint32 {
	return [][4]uint32{
		{0x0f6b5c, 0x6ad3bc, 0xe3efec, 0xf2b84b}, // teal
		{0x1d4e89, 0x7fb2e5, 0xe4eefa, 0xf79d65}, // ocean
		{0x3d3b8e, 0xa3a0f0, 0xecebfd, 0xf6c453}, // indigo
		{0x6b2d73, 0xd59be0, 0xf7e9fa, 0x7fd1ae}, // plum
		{0x9b2c54, 0xf29bb7, 0xfdeaf0, 0xffd166}, // rose
		{0xb4442e, 0xf7a58b, 0xfdebe4, 0x8fd9d2}, // coral
		{0xa8650b, 0xf5c469, 0xfdf3dd, 0x8fcfe0}, // amber
		{0x5d6b1a, 0xc3d36a, 0xf4f7df, 0xe07a5f}, // olive
		{0x23613a, 0x8fd19e, 0xe6f4e9, 0xf4a259}, // forest
		{0x37474f, 0xa9bcc6, 0xeef2f4, 0xff8a65}, // slate
		{0x7a4b35, 0xdcae90, 0xf8ede5, 0x5aa9a2}, // clay
		{0x15687d, 0x7cd0e0, 0xe2f5f8, 0xf08a9b}, // sky
	}
}

// drawingOf chooses the colors and the tiles of one quarter. The other quarters have the same tiles,
// turned or mirrored.
func drawingOf(name string) drawing {
	digest := sha256.Sum256([]byte(strings.ToLower(name)))
	colors := palettes()[int(digest[0])%len(palettes())]
	d := drawing{ground: colors[0], layers: []layer{{color: colors[1]}, {color: colors[3]}, {color: colors[2]}}}
	mirrored := digest[1]%2 == 0
	for i := range 4 {
		s := shapeOf(int(digest[2+2*i])).moved(tile*(i%2), tile*(i/2))
		// The lightest color is used for the middle tile and for edges, but not for the corner,
		// where the picture would have no visible border on a light page.
		l := &d.layers[int(digest[3+2*i])%min(2+i, 3)]
		for q := range 4 {
			part := s
			if mirrored && q%2 == 1 {
				part = s.mirrored()
			}
			for range q {
				part = part.quarterTurn(side)
			}
			l.shapes = append(l.shapes, part)
		}
	}
	return d
}

// shapeOf returns the shape of a tile.
func shapeOf(n int) shape {
	const t, half = tile, tile / 2
	kinds := []shape{
		{{x: 0, y: 0}, {x: t, y: 0}, {x: t, y: t}, {x: 0, y: t}},                                           // square
		{{x: 0, y: 0}, {x: t, y: 0}, {x: 0, y: t, turn: 1}},                                                // quarter of a disc
		{{x: 0, y: 0}, {x: t, y: 0}, {x: 0, y: t, turn: 1}},                                                // the same, which is thus chosen twice as often
		{{x: 0, y: 0}, {x: t, y: t, turn: 1}, {x: 0, y: 0, turn: 1}},                                       // leaf
		{{x: 0, y: 0}, {x: t, y: 0}, {x: 0, y: t}},                                                         // triangle
		{{x: half, y: 0}, {x: t, y: half}, {x: half, y: t}, {x: 0, y: half}},                               // diamond
		{{x: half, y: 0}, {x: half, y: t, turn: 2}, {x: half, y: 0, turn: 2}},                              // disc
		{{x: half, y: 0}, {x: t, y: 0}, {x: 0, y: t, turn: 1}, {x: 0, y: half}, {x: half, y: 0, turn: -1}}, // quarter of a ring
	}
	s := kinds[n%len(kinds)]
	for range n / len(kinds) % 4 {
		s = s.quarterTurn(tile)
	}
	return s
}

func (s shape) moved(x, y int) shape {
	moved := make(shape, len(s))
	for i, p := range s {
		moved[i] = point{x: p.x + x, y: p.y + y, turn: p.turn}
	}
	return moved
}

// mirrored returns the shape mirrored along the diagonal, which keeps the shape in its quarter.
func (s shape) mirrored() shape {
	mirrored := make(shape, len(s))
	for i, p := range s {
		mirrored[i] = point{x: p.y, y: p.x, turn: -p.turn}
	}
	return mirrored
}

// quarterTurn returns the shape turned clockwise in a square with this side.
func (s shape) quarterTurn(side int) shape {
	turned := make(shape, len(s))
	for i, p := range s {
		turned[i] = point{x: side - p.y, y: p.x, turn: p.turn}
	}
	return turned
}

// path returns the shapes as SVG, as short as possible.
func (l layer) path() string {
	var d []byte
	for _, s := range l.shapes {
		from := s[0]
		d = append(d, fmt.Sprintf("M%d %d", from.x, from.y)...)
		for _, p := range s[1:] {
			x, y := p.x-from.x, p.y-from.y
			switch {
			case p.turn != 0:
				r, right := max(abs(x), abs(y))/max(abs(p.turn), 1), 0
				if p.turn > 0 {
					right = 1
				}
				d = append(d, fmt.Sprintf("a%d %[1]d 0 0%d", r, right)...)
				d = appendNumber(appendNumber(d, x), y)
			case y == 0:
				d = appendNumber(append(d, 'h'), x)
			case x == 0:
				d = appendNumber(append(d, 'v'), y)
			default:
				d = appendNumber(appendNumber(append(d, 'l'), x), y)
			}
			from = p
		}
		d = append(d, 'z')
	}
	return string(d)
}

// appendNumber appends a number, after a space if it could be read as part of the previous number.
func appendNumber(d []byte, n int) []byte {
	if last := d[len(d)-1]; '0' <= last && last <= '9' && n >= 0 {
		d = append(d, ' ')
	}
	return strconv.AppendInt(d, int64(n), 10)
}

func abs(n int) int { return max(n, -n) }
