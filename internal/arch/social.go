package arch

import "strings"

// importsOfSocial lists which other packages of the application each package imports, by their
// names below internal/social. All packages may import internal/social, which defines the domain
// types.
var importsOfSocial = map[string]string{
	"accounts":    "audit auth blocklist limits media removal search storage takeout timeline",
	"adopt":       "layout2009 storage timeline",
	"audit":       "storage",
	"auth":        "audit limits storage",
	"backup":      "storage work",
	"blocklist":   "audit storage text",
	"check":       "internal/app",
	"email":       "audit auth limits notify site storage timeline work",
	"import2009":  "internal/app load",
	"layout2009":  "storage",
	"live":        "internal/app",
	"live/stream": "notify storage",
	"load":        "internal/app",
	"media":       "storage timeline work",
	"moderation":  "audit auth notify posts removal storage timeline",
	"notify":      "storage timeline",
	"people":      "notify posts search storage text timeline",
	"posts":       "blocklist live/stream media notify search storage text timeline work",
	"removal":     "limits notify posts search storage work",
	"search":      "audit blocklist storage text timeline work",
	"site":        "audit storage",
	"takeout":     "auth blocklist email limits media people posts storage text timeline work",
	"timeline":    "storage text",
	"work":        "storage",
}

// siblingsOfSocial returns the pairs of importsOfSocial.
func siblingsOfSocial() [][2]string {
	const dir = "internal/social/"
	pairs := [][2]string{{dir + "...", "internal/social"}}
	for pkg, imports := range importsOfSocial {
		for imported := range strings.FieldsSeq(imports) {
			if !strings.HasPrefix(imported, "internal/") {
				imported = dir + imported
			}
			pairs = append(pairs, [2]string{dir + pkg, imported})
		}
	}
	return pairs
}
