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
	"backup":      "layout",
	"blocklist":   "audit layout storage text users",
	"check":       "internal/app",
	"completion":  "layout text users",
	"email":       "audit auth layout limits notify site storage task timeline users",
	"export":      "auth email layout lists media storage",
	"fanout":      "layout live/stream searchindex storage task text",
	"home":        "layout storage",
	"import2009":  "internal/app load",
	"imports":     "layout limits people posts task timeline users",
	"layout2009":  "layout",
	"lists":       "layout search storage timeline",
	"live":        "internal/app",
	"live/stream": "layout notify",
	"load":        "internal/app",
	"media":       "layout storage task timeline users",
	"moderation":  "audit auth fanout layout removal storage task timeline users",
	"notify":      "layout storage timeline users",
	"people":      "completion fanout layout notify storage users",
	"posts":       "blocklist fanout layout media notify storage text timeline trends users",
	"removal":     "completion fanout layout limits notify storage task users",
	"search":      "layout people searchindex storage text timeline users",
	"searchindex": "layout task text",
	"site":        "audit layout storage users",
	"storage":     "layout",
	"suggestions": "layout storage text timeline users",
	"task":        "layout",
	"timeline":    "home layout storage text users",
	"trends":      "audit blocklist layout storage text timeline users",
	"users":       "layout storage task",
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
