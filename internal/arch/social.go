package arch

import "strings"

// importsOfSocial lists what each package of the application imports of the others, by
// their names below internal/social. All may import internal/social, which has the nouns.
var importsOfSocial = map[string]string{
	"accounts":     "audit auth completion directory export hash invite layout people removal storage timeline users",
	"adopt":        "auth directory home layout reply",
	"audit":        "layout",
	"auth":         "audit directory layout limits password reply secondfactor session storage users",
	"backup":       "layout reply",
	"celebrity":    "layout reply",
	"check":        "internal/app",
	"completion":   "directory layout pause reply text",
	"directory":    "hash layout reply task",
	"export":       "follow layout reply session",
	"fanout":       "celebrity follow layout live/stream mirror pause reply task text",
	"follow":       "layout mirror",
	"home":         "celebrity layout reply",
	"invite":       "layout reply",
	"live":         "internal/app",
	"live/stream":  "layout notify",
	"load":         "internal/app",
	"mirror":       "reply",
	"moderation":   "audit auth fanout layout removal reply report storage task timeline users",
	"notify":       "layout reply storage timeline users",
	"people":       "completion fanout follow layout notify relation storage users",
	"posts":        "fanout layout notify reaction reply storage text timeline users",
	"reaction":     "layout mirror reply",
	"relation":     "layout mirror",
	"removal":      "completion directory fanout follow layout limits notify pause reaction relation reply task",
	"report":       "layout",
	"secondfactor": "layout reply",
	"session":      "directory layout reply",
	"task":         "layout pause",
	"timeline":     "home layout relation reply storage users",
	"users":        "directory follow layout reply storage",
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
