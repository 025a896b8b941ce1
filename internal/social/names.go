package social

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// TypedName extracts the username from typed text: it drops a leading @ and surrounding blanks,
// including invisible characters.
func TypedName(typed string) string {
	name := strings.TrimPrefix(strings.TrimFunc(typed, isBlank), "@")
	return strings.TrimFunc(name, isBlank)
}

func isBlank(r rune) bool { return !IsInk(r) || unicode.IsControl(r) }

// reservedNames are names that suggest an official role or a part of the site.
var reservedNames = []string{
	"admin", "administrator", "root", "owner", "operator", "moderator", "mod", "staff", "team", "official", "system",
	"support", "help", "security", "abuse", "postmaster", "webmaster", "hostmaster", "noreply", "nobody", "null",
	"undefined", "deleted", "anonymous", "everyone", "all", "retwis", "redis",
	"login", "logout", "register", "signup", "settings", "home", "timeline", "notifications", "bookmarks", "invite",
	"reset", "static", "api", "about", "terms", "privacy",
}

// skeletonRules map a name to its skeleton: names with the same skeleton are easily confused. Names
// are ASCII, so a few rules cover what the Unicode standard calls confusable (UTS 39): case,
// underscores, and letters and digits of similar shape.
var skeletonRules = strings.NewReplacer(
	"_", "", "rn", "m", "vv", "w",
	"0", "o", "1", "l", "i", "l", "3", "e", "4", "a", "5", "s", "7", "t", "8", "b",
)

func skeleton(name string) string { return skeletonRules.Replace(strings.ToLower(name)) }

// LooksLike reports whether two names are easily confused.
func LooksLike(name, other string) bool { return skeleton(name) == skeleton(other) }

// IsReservedName reports whether a username is reserved or looks like a reserved one.
func IsReservedName(name string) bool {
	return slices.ContainsFunc(reservedNames, func(reserved string) bool { return LooksLike(name, reserved) })
}

// LooksOfficial reports whether a display name is one of reservedNames, ignoring blanks and symbols
// around and between its letters, as in "Retwis ✓".
func LooksOfficial(name string) bool {
	letters := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, norm.NFKC.String(name))
	return skeleton(letters) != "" && IsReservedName(letters)
}
