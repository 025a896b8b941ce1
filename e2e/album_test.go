//go:build !long

package e2e

// checkedLooks are the looks in which pages are checked: each screen and each color scheme once.
var checkedLooks = []look{looks[0], looks[2]}

// cpuSlowdown is the CPU throttling rate of the simulated phone.
const cpuSlowdown = 1.0

// album takes pictures only with the build tag long.
type album struct{}

func newAlbum() album { return album{} }

func (album) capture(*browser) []byte         { return nil }
func (album) save(*browser, string, [][]byte) {}
func (album) screenshot(*browser, string)     {}
