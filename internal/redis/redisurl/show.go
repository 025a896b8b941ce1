package redisurl

import (
	"strconv"
	"strings"
)

// String returns the URL without secrets, in a form that Parse accepts.
func (c Config) String() string {
	scheme := "redis"
	if c.TLS {
		scheme = "rediss"
	}
	db := ""
	if c.DB != 0 {
		db = "/" + strconv.Itoa(c.DB)
	}
	hosts := strings.Join(c.Addresses, ",")
	switch {
	case c.Kind == Embedded:
		return c.Dir
	case c.Socket != "" && c.DB != 0:
		return "unix://" + escape(c.Socket) + "?db=" + strconv.Itoa(c.DB)
	case c.Socket != "":
		return "unix://" + escape(c.Socket)
	case c.Kind == Sentinel:
		return scheme + "+sentinel://" + hosts + "/" + escape(c.Master) + db
	case c.Kind == Cluster:
		return scheme + "+cluster://" + hosts
	}
	return scheme + "://" + hosts + db
}

// escape encodes a path for Parse.
func escape(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23", "@", "%40").Replace(path)
}

// maxShown is the maximum number of characters of a URL in messages.
const maxShown = 200

// redact returns a URL for messages: quoted, truncated, and without anything that could be a
// password. If no @ separates the password from the hosts, redact shows the hosts only if they are
// valid.
func redact(raw string) string {
	scheme, rest, found := strings.Cut(raw, ":")
	if strings.EqualFold(scheme, "embedded") {
		return shorten(raw)
	}
	if raw != "" && !isScheme(strings.ToLower(scheme)) {
		return shorten("…")
	}
	if !found {
		return shorten(raw)
	}
	rest, slashes := strings.CutPrefix(rest, "//")
	if !slashes {
		return shorten(scheme + ":…")
	}
	user := ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, rest = "…@", rest[at+1:]
	}
	rest, _, query := strings.Cut(rest, "?")
	hosts, _, _ := strings.Cut(rest, "/")
	if _, err := readHosts(hosts, redisPort); err != nil && hosts != "" && user == "" {
		rest = "…"
	}
	if query {
		rest += "?…"
	}
	return shorten(scheme + "://" + user + rest)
}

func shorten(text string) string {
	if runes := []rune(text); len(runes) > maxShown {
		text = string(runes[:maxShown]) + "…"
	}
	return strconv.Quote(text)
}
