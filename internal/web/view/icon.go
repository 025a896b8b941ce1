package view

import (
	"maps"
	"slices"
	"strings"

	"github.com/a-h/templ"
)

// shapes are the paths of the icons in a 24 by 24 square.
var shapes = map[string]string{
	"home":     `<path d="M3.500 10.800 12 3.700l8.500 7.100v8.700a1 1 0 0 1-1 1h-4.700v-6.300H9.200v6.300H4.500a1 1 0 0 1-1-1z"/>`,
	"explore":  `<circle cx="12" cy="12" r="8.700"/><path d="m15.600 8.400-2.100 5.100-5.100 2.100 2.100-5.100z"/>`,
	"search":   `<circle cx="10.500" cy="10.500" r="6.500"/><path d="m15.500 15.500 5 5"/>`,
	"bell":     `<path d="M6 10a6 6 0 0 1 12 0c0 4.800 2 6.300 2 6.300H4S6 14.800 6 10z"/><path d="M10 19.700a2.200 2.200 0 0 0 4 0"/>`,
	"user":     `<circle cx="12" cy="8.200" r="4.200"/><path d="M4 20.500c.6-4 3.800-6 8-6s7.400 2 8 6"/>`,
	"settings": `<path d="M4 7.500h8M18 7.500h2M4 16.500h2M12 16.500h8"/><circle cx="15" cy="7.500" r="2.600"/><circle cx="9" cy="16.500" r="2.600"/>`,
	"out":      `<path d="M10 4H5.500a1 1 0 0 0-1 1v14a1 1 0 0 0 1 1H10M15 8l4 4-4 4M19 12H9.500"/>`,
	"reply":    `<path d="M4 11.500A7.500 7.500 0 0 1 11.500 4h1a7.500 7.500 0 0 1 0 15H5.200l1.300-2.600A7.400 7.400 0 0 1 4 11.500z"/>`,
	"repost":   `<path d="m4 8.500 3-3 3 3M7 5.500v9.500a2 2 0 0 0 2 2h5M20 15.500l-3 3-3-3M17 18.500V9a2 2 0 0 0-2-2h-5"/>`,
	"like":     `<path d="M12 20s-8-4.600-8-10.400A4.600 4.600 0 0 1 12 6.600a4.600 4.600 0 0 1 8 3C20 15.400 12 20 12 20z"/>`,
	"list":     `<path d="M8.500 6.500h12M8.500 12h12M8.500 17.500h12M4 6.500h.01M4 12h.01M4 17.500h.01"/>`,
	"more":     `<path d="M5.500 12h.01M12 12h.01M18.500 12h.01" stroke-width="3"/>`,
	"pin":      `<path d="M12 15v6M8.500 3.500h7l-1 6 3 3V15h-11v-2.500l3-3z"/>`,
	"next":     `<path d="m9.500 5.500 6.500 6.500-6.500 6.500"/>`,
	"plus":     `<path d="M12 5v14M5 12h14"/>`,
	"check":    `<path d="m5 12.500 4.500 4.500L19 7.500"/>`,
	"close":    `<path d="m6.500 6.500 11 11M17.500 6.500l-11 11"/>`,
	"back":     `<path d="M19 12H5.500M11 6l-6 6 6 6"/>`,
	"link":     `<path d="M10 14a4 4 0 0 0 5.700 0l3-3A4 4 0 0 0 13 5.300l-1 1M14 10a4 4 0 0 0-5.700 0l-3 3a4 4 0 0 0 5.700 5.700l1-1"/>`,
	"calendar": `<path d="M4.500 6.500a1 1 0 0 1 1-1h13a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1h-13a1 1 0 0 1-1-1zM4.500 10h15M8.500 3.500v3.500M15.500 3.500v3.500"/>`,
	"feed":     `<path d="M5 18.500h.01" stroke-width="3"/><path d="M5 12a7 7 0 0 1 7 7M5 5.500A13.500 13.500 0 0 1 18.500 19"/>`,
	"save":     `<path d="M6.500 4.500a1 1 0 0 1 1-1h9a1 1 0 0 1 1 1v16L12 16.200 6.500 20.500z"/>`,
	"edit":     `<path d="m4 20 1-4.300L16.200 4.500a1.600 1.600 0 0 1 2.300 0l1 1a1.600 1.600 0 0 1 0 2.300L8.300 19z"/>`,
	"delete":   `<path d="M4.500 6.500h15M9 6.500V4h6v2.500M6.500 6.500l.8 13h9.400l.8-13M10 10.500v5.500M14 10.500v5.500"/>`,
	"flag":     `<path d="M6 21V4.500h11.500l-2.300 4 2.300 4H6"/>`,
	"mute":     `<path d="M4 9.500v5h3.500l5 4v-13l-5 4zM16 9.500l5 5M21 9.500l-5 5"/>`,
	"block":    `<circle cx="12" cy="12" r="8.700"/><path d="m6 6 12 12"/>`,
	"keys":     `<path d="M3 6.500h18v11H3zM6.500 10h.01M10.200 10h.01M13.800 10h.01M17.500 10h.01M8 14h8"/>`,
	"at":       `<circle cx="12" cy="12" r="3.800"/><path d="M15.800 8.500v5a2.500 2.500 0 0 0 5 0V12a8.800 8.800 0 1 0-3.500 7"/>`,
	"tag":      `<path d="M9.500 4 7.500 20M16.500 4l-2 16M4.500 9h16M3.500 15h16"/>`,
}

// sprite holds the shapes once per page; icons refer to them.
var sprite = templ.Raw(spriteSource())

func spriteSource() string {
	var b strings.Builder
	b.WriteString(`<svg class="sprite" aria-hidden="true">`)
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		b.WriteString(`<symbol id="i-` + name + `" viewBox="0 0 24 24">` + shapes[name] + `</symbol>`)
	}
	b.WriteString(`</svg>`)
	return b.String()
}

var icons = func() map[string]templ.Component {
	all := map[string]templ.Component{}
	for name := range shapes {
		all[name] = templ.Raw(iconSource(name))
	}
	return all
}()

func iconSource(name string) string {
	return `<svg class="icon" aria-hidden="true"><use href="#i-` + name + `"/></svg>`
}

// icon returns a small picture. Screen readers ignore the picture, because a text is next to it.
func icon(name string) templ.Component { return icons[name] }
