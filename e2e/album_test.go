//go:build !long

package e2e

// judged are the looks of which pages are judged: each screen, each light.
var judged = []look{looks[0], looks[2]}

// slowness is how many times slower the processor of a phone is.
const slowness = 1.0

// album draws nothing; that of the long run does.
type album struct{}

func newAlbum() album { return album{} }

func (album) draw(*browser) []byte            { return nil }
func (album) keep(*browser, string, [][]byte) {}
func (album) shoot(*browser, string)          {}
