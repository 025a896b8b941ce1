package arch

import "strings"

// importsOfSocial lists what each package of the application imports of the others, by
// their names below internal/social. All may import internal/social, which has the nouns.
var importsOfSocial = map[string]string{
	"accounts":    "audit auth blocklist completion export layout limits media people removal searchindex storage timeline users",
	"adopt":       "home layout layout2009 storage users",
	"archive":     "blocklist fanout layout media storage text",
	"audit":       "layout",
	"auth":        "audit auth/password layout limits storage users",
	"backup":      "layout work",
	"blocklist":   "audit layout storage text users",
	"check":       "internal/app",
	"completion":  "layout text users",
	"email":       "audit auth layout limits notify site storage timeline users work",
	"export":      "auth email layout lists media storage",
	"fanout":      "layout live/stream searchindex storage text work",
	"home":        "layout storage",
	"import2009":  "internal/app load",
	"imports":     "layout limits people posts timeline users work",
	"layout2009":  "layout",
	"lists":       "layout search storage timeline",
	"live":        "internal/app",
	"live/stream": "layout notify",
	"load":        "internal/app",
	"media":       "layout storage timeline users work",
	"moderation":  "audit auth fanout layout removal storage timeline users work",
	"notify":      "layout storage timeline users",
	"people":      "completion fanout layout notify storage timeline users",
	"posts":       "blocklist fanout layout media notify storage text timeline trends users",
	"removal":     "completion fanout layout limits notify storage users work",
	"search":      "layout people searchindex storage text timeline users",
	"searchindex": "layout text work",
	"site":        "audit layout storage users",
	"storage":     "layout",
	"suggestions": "layout storage text timeline users",
	"timeline":    "home layout storage text users",
	"trends":      "audit blocklist layout storage text timeline users",
	"users":       "layout storage",
	"work":        "layout",
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
