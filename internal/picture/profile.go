package picture

import (
	"encoding/binary"
	"image"
	"math"
)

// maxProfile is how much of a profile is read. Table-based profiles may be larger, but are not
// applied.
const maxProfile = 1 << 20

// profile converts the colors of a picture to sRGB: curves make them linear, a matrix changes the
// primaries, and the curve of sRGB is applied.
type profile struct {
	curves [3][256]float32
	matrix [9]float32
}

// toLinearSRGB converts from XYZ with the white point of profiles, D50, to linear sRGB.
// http://www.brucelindbloom.com/Eqn_RGB_XYZ_Matrix.html
var toLinearSRGB = [9]float64{
	3.1338561, -1.6168667, -0.4906146,
	-0.9787684, 1.9161415, 0.0334540,
	0.0719453, -0.2289914, 1.4052427,
}

// newProfile parses an ICC profile. It returns nil for sRGB, and for profiles that are not applied:
// profiles with tables, profiles for pictures other than RGB and gray, and damaged profiles.
func newProfile(icc []byte) *profile {
	const space, connection, signature = 16, 20, 36
	if len(icc) < 132 || string(icc[signature:signature+4]) != "acsp" || string(icc[connection:connection+4]) != "XYZ " {
		return nil
	}
	p := &profile{matrix: [9]float32{1, 0, 0, 0, 1, 0, 0, 0, 1}}
	tags := iccTags(icc)
	var ok bool
	switch string(icc[space : space+4]) {
	case "RGB ":
		ok = p.readCurves(tags, "rTRC", "gTRC", "bTRC") && p.readMatrix(tags)
	case "GRAY":
		ok = p.readCurves(tags, "kTRC", "kTRC", "kTRC")
	}
	if !ok || p.isSRGB() {
		return nil
	}
	return p
}

// iccTags returns the tags of a profile, by name.
func iccTags(icc []byte) map[string][]byte {
	tags := map[string][]byte{}
	entries := icc[132:]
	for range min(binary.BigEndian.Uint32(icc[128:]), 100) {
		if len(entries) < 12 {
			break
		}
		from, length := int64(binary.BigEndian.Uint32(entries[4:])), int64(binary.BigEndian.Uint32(entries[8:]))
		if from+length <= int64(len(icc)) {
			tags[string(entries[:4])] = icc[from : from+length]
		}
		entries = entries[12:]
	}
	return tags
}

// fixed returns the i-th fixed-point number, with 16 bits before and 16 bits after the point.
func fixed(data []byte, i int) float64 {
	return float64(int32(binary.BigEndian.Uint32(data[4*i:]))) / (1 << 16)
}

func (p *profile) readCurves(tags map[string][]byte, names ...string) bool {
	for i, name := range names {
		curve := iccCurve(tags[name])
		if curve == nil {
			return false
		}
		for value := range 256 {
			y := curve(float64(value) / 255)
			if math.IsNaN(y) {
				return false
			}
			p.curves[i][value] = float32(min(max(y, 0), 1))
		}
	}
	return true
}

// readMatrix multiplies the columns of a profile by the matrix of sRGB.
func (p *profile) readMatrix(tags map[string][]byte) bool {
	for column, name := range []string{"rXYZ", "gXYZ", "bXYZ"} {
		data := tags[name]
		if len(data) < 20 {
			return false
		}
		for row := range 3 {
			sum := 0.0
			for k := range 3 {
				sum += toLinearSRGB[3*row+k] * fixed(data[8:], k)
			}
			p.matrix[3*row+column] = float32(sum)
		}
	}
	return true
}

// iccCurve returns a tone curve on 0 to 1, or nil.
func iccCurve(data []byte) func(x float64) float64 {
	if len(data) < 12 {
		return nil
	}
	switch string(data[:4]) {
	case "curv":
		return sampledCurve(data[12:], int64(binary.BigEndian.Uint32(data[8:])))
	case "para":
		return parametricCurve(data[12:], binary.BigEndian.Uint16(data[8:]))
	}
	return nil
}

// sampledCurve returns the identity for no points, a power function for one point, and an
// interpolation between several points.
func sampledCurve(points []byte, n int64) func(x float64) float64 {
	if n*2 > int64(len(points)) {
		return nil
	}
	at := func(i int) float64 { return float64(binary.BigEndian.Uint16(points[2*i:])) }
	switch n {
	case 0:
		return func(x float64) float64 { return x }
	case 1:
		exponent := at(0) / 256
		return func(x float64) float64 { return math.Pow(x, exponent) }
	}
	return func(x float64) float64 {
		position := x * float64(n-1)
		i := min(int(position), int(n)-2)
		part := position - float64(i)
		return (at(i)*(1-part) + at(i+1)*part) / 65535
	}
}

// parametricCurve implements the five functions of ICC.1:2022, table 68: (a·x+b)^g + e from d on,
// and c·x + f below.
func parametricCurve(data []byte, function uint16) func(x float64) float64 {
	counts := []int{1, 3, 4, 5, 7}
	if int(function) >= len(counts) || len(data) < 4*counts[function] {
		return nil
	}
	n := func(i int) float64 { return fixed(data, i) }
	g, a, b, c, d, e, f := n(0), 1.0, 0.0, 0.0, math.Inf(-1), 0.0, 0.0
	if function > 0 {
		a, b = n(1), n(2)
		d = -b / a
	}
	switch function {
	case 2:
		e, f = n(3), n(3)
	case 3:
		c, d = n(3), n(4)
	case 4:
		c, d, e, f = n(3), n(4), n(5), n(6)
	}
	return func(x float64) float64 {
		if x < d {
			return c*x + f
		}
		return math.Pow(max(a*x+b, 0), g) + e
	}
}

// steps is the resolution of the sRGB curve. Where the curve is steepest, neighboring steps are less
// than half an 8-bit value apart.
const steps = 1 << 13

// curveOfSRGB returns the sRGB value for each step of linear light.
func curveOfSRGB() []uint8 {
	curve := make([]uint8, steps)
	for i := range curve {
		x := float64(i) / (steps - 1)
		y := 12.92 * x
		if x > 0.0031308 {
			y = 1.055*math.Pow(x, 1/2.4) - 0.055
		}
		curve[i] = uint8(y*255 + 0.5)
	}
	return curve
}

// color converts one color.
func (p *profile) color(curve []uint8, pix []uint8) (r, g, b uint8) {
	x, y, z := p.curves[0][pix[0]], p.curves[1][pix[1]], p.curves[2][pix[2]]
	m := &p.matrix
	step := func(v float32) uint8 { return curve[int(min(max(v, 0), 1)*(steps-1)+0.5)] }
	return step(m[0]*x + m[1]*y + m[2]*z), step(m[3]*x + m[4]*y + m[5]*z), step(m[6]*x + m[7]*y + m[8]*z)
}

// isSRGB reports whether the conversion changes no component of a color by more than one.
func (p *profile) isSRGB() bool {
	curve := curveOfSRGB()
	near := func(a, b uint8) bool { return max(a, b)-min(a, b) <= 1 }
	for r := 0; r < 256; r += 17 {
		for g := 0; g < 256; g += 17 {
			for b := 0; b < 256; b += 17 {
				pix := []uint8{uint8(r), uint8(g), uint8(b)}
				if x, y, z := p.color(curve, pix); !near(x, pix[0]) || !near(y, pix[1]) || !near(z, pix[2]) {
					return false
				}
			}
		}
	}
	return true
}

// convert converts the colors of a picture. The colors are multiplied by alpha, but curves apply to
// unmultiplied values.
func (p *profile) convert(img *image.RGBA) {
	curve := curveOfSRGB()
	for i := 0; i+4 <= len(img.Pix); i += 4 {
		pix := img.Pix[i : i+4 : i+4]
		alpha := uint32(pix[3])
		switch alpha {
		case 0:
			continue
		case 255:
			pix[0], pix[1], pix[2] = p.color(curve, pix)
			continue
		}
		for c, v := range pix[:3] {
			pix[c] = uint8(min(uint32(v)*255/alpha, 255))
		}
		r, g, b := p.color(curve, pix)
		pix[0], pix[1], pix[2] = uint8(uint32(r)*alpha/255), uint8(uint32(g)*alpha/255), uint8(uint32(b)*alpha/255)
	}
}
