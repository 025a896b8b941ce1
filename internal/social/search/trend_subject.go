package search

import (
	"net/url"
	"strings"

	"retwis/internal/social/storage"
	"retwis/internal/social/text"
)

// kind is a kind of trend subject.
type kind string

const (
	tagKind  kind = "tags"
	postKind kind = "posts"
	linkKind kind = "links"
)

// kinds are all kinds.
var kinds = [...]kind{tagKind, postKind, linkKind}

// subject is one tag, post or link.
type subject struct {
	kind kind
	name string // a tag without #, a post ID, or a link
}

// countKey returns the HyperLogLog of the people who count for the subject in an hour.
func (s subject) countKey(hour int64) string {
	if s.kind == tagKind {
		return storage.TrendKey("#"+s.name, hour)
	}
	return storage.TrendKey(s.name, hour)
}

// hourKey returns the sorted set of the subjects of a kind in an hour.
func (k kind) hourKey(hour int64) string { return storage.TrendHourKey(string(k), hour) }

// subjectsOf returns the tags and links in a text.
func subjectsOf(body string) []subject {
	var all []subject
	for _, tag := range text.Tags(body) {
		all = append(all, subject{tagKind, tag})
	}
	for _, link := range text.Links(body) {
		if link = normalLink(link); link != "" {
			all = append(all, subject{linkKind, link})
		}
	}
	return all
}

// maxLink limits the length of a counted link, in bytes, because the sets of an hour hold thousands
// of links.
const maxLink = 300

// normalLink returns the common form of the addresses of a page: the host in lower case, without a
// fragment and without tracking parameters. It is empty for a link that is not counted.
func normalLink(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	u.Host = strings.TrimSuffix(strings.ToLower(u.Host), defaultPorts[u.Scheme])
	u.Fragment, u.RawFragment = "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	if u.RawQuery != "" {
		u.RawQuery = withoutTracking(u.RawQuery)
	}
	u.ForceQuery = false
	if normal := u.String(); len(normal) <= maxLink {
		return normal
	}
	return ""
}

var defaultPorts = map[string]string{"http": ":80", "https": ":443"}

// withoutTracking removes tracking parameters. It keeps the order of the other parameters, which
// can matter.
func withoutTracking(query string) string {
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		switch {
		case part == "", strings.HasPrefix(name, "utm_"), name == "fbclid", name == "gclid", name == "mc_cid", name == "mc_eid":
		default:
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "&")
}
