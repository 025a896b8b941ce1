package social

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// TypedName returns the name in what somebody has typed, or a program has filled in, where a name is
// asked for: blanks around it, also those that show nothing, and an @ before it are not part of it.
func TypedName(typed string) string {
	name := strings.TrimPrefix(strings.TrimFunc(typed, isBlank), "@")
	return strings.TrimFunc(name, isBlank)
}

func isBlank(r rune) bool { return !IsInk(r) || unicode.IsControl(r) }

// reservedNames are names that would look like an office, or like a part of the site.
var reservedNames = []string{
	"admin", "administrator", "root", "owner", "operator", "moderator", "mod", "staff", "team", "official", "system",
	"support", "help", "security", "abuse", "postmaster", "webmaster", "hostmaster", "noreply", "nobody", "null",
	"undefined", "deleted", "anonymous", "everyone", "all", "retwis", "redis",
	"login", "logout", "register", "signup", "settings", "home", "timeline", "notifications", "bookmarks", "invite",
	"reset", "static", "api", "about", "terms", "privacy",
}

// skeleton returns what a name looks like: names with one skeleton are easily taken for
// each other. Names are ASCII, so a few rules cover what the Unicode standard calls
// confusable (UTS 39): case, underscores, and letters and digits of similar shape.
var skeletonRules = strings.NewReplacer(
	"_", "", "rn", "m", "vv", "w",
	"0", "o", "1", "l", "i", "l", "3", "e", "4", "a", "5", "s", "7", "t", "8", "b",
)

func skeleton(name string) string { return skeletonRules.Replace(strings.ToLower(name)) }

// LooksLike reports whether one name is easily taken for another.
func LooksLike(name, other string) bool { return skeleton(name) == skeleton(other) }

// IsReservedName reports whether a username is reserved, or looks like one that is.
func IsReservedName(name string) bool {
	return slices.ContainsFunc(reservedNames, func(reserved string) bool { return LooksLike(name, reserved) })
}

// LooksOfficial reports whether a display name is one of reservedNames but for blanks and
// signs around and between its letters, such as "Retwis ✓".
func LooksOfficial(name string) bool {
	letters := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, norm.NFKC.String(name))
	return skeleton(letters) != "" && IsReservedName(letters)
}
