package takeout

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"retwis/internal/social"
)

// Reason is why something is left out.
type Reason string

// Reasons why an activity is left out.
const (
	Boost     Reason = "boosts"
	Reply     Reason = "replies"    // to others, or to a post that is left out
	NotPublic Reason = "not_public" // for followers only, or direct
	Empty     Reason = "empty"
	TooLong   Reason = "too_long" // more than maxParts posts
	Undated   Reason = "undated"  // or dated in the future
	Repeated  Reason = "repeated" // the archive contains the post twice
	Blocked   Reason = "blocked"  // the post has a word or a link that is blocked on this site
	Other     Reason = "other"    // not a post
	Lost      Reason = "lost"     // another post has its ID: repeating the import writes it
)

// activity is an entry of the outbox.
type activity struct {
	Type      string          `json:"type"`
	Published string          `json:"published"`
	To        texts           `json:"to"`
	CC        texts           `json:"cc"`
	Object    json.RawMessage `json:"object"`
}

// note is the object of an activity that is a post.
type note struct {
	ID         string       `json:"id"`
	Type       string       `json:"type"`
	Summary    string       `json:"summary"`
	Content    string       `json:"content"`
	InReplyTo  texts        `json:"inReplyTo"`
	Published  string       `json:"published"`
	To         texts        `json:"to"`
	CC         texts        `json:"cc"`
	Sensitive  bool         `json:"sensitive"`
	Attachment []attachment `json:"attachment"`
	OneOf      []named      `json:"oneOf"` // of a poll
	AnyOf      []named      `json:"anyOf"`
}

type named struct {
	Name string `json:"name"`
}

// attachment is a file of a post.
type attachment struct {
	MediaType  string    `json:"mediaType"`
	URL        string    `json:"url"`
	Name       string    `json:"name"` // describes a picture
	FocalPoint []float64 `json:"focalPoint"`
}

// texts is a string or a list of strings in JSON.
type texts []string

// UnmarshalJSON implements [json.Unmarshaler]. It ignores values that are not strings.
func (t *texts) UnmarshalJSON(raw []byte) error {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		all = []json.RawMessage{raw}
	}
	for _, raw := range all {
		var single string
		if json.Unmarshal(raw, &single) == nil && single != "" {
			*t = append(*t, single)
		}
	}
	return nil
}

// public are the names of the audience that includes everybody.
var public = []string{"https://www.w3.org/ns/activitystreams#Public", "as:Public", "Public"}

func (t texts) isPublic() bool {
	return slices.ContainsFunc(t, func(name string) bool { return slices.Contains(public, name) })
}

// archivePost is the post of an activity.
type archivePost struct {
	source    string // the digest of the address of the post
	replyTo   string // the digest of the parent's address; empty if it is not a reply
	time      int64
	parts     []string // the text, in parts that are not too long
	files     []attachment
	sensitive bool
}

// digest identifies a post of the archive.
func digest(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// partOf identifies a part of the text of a post: the first part has the digest of the post.
func partOf(source string, part int) string {
	if part == 0 {
		return source
	}
	return source + "." + strconv.Itoa(part)
}

// parse parses an activity, or returns why it is left out.
func parse(raw []byte, now time.Time) (archivePost, Reason) {
	var a activity
	var n note
	if json.Unmarshal(raw, &a) != nil {
		return archivePost{}, Other
	}
	switch {
	case a.Type == "Announce":
		return archivePost{}, Boost
	case a.Type != "Create", json.Unmarshal(a.Object, &n) != nil, n.Type != "Note" && n.Type != "Question", n.ID == "":
		return archivePost{}, Other
	}
	if n.To == nil && n.CC == nil {
		n.To, n.CC = a.To, a.CC
	}
	if !n.To.isPublic() && !n.CC.isPublic() {
		return archivePost{}, NotPublic
	}
	if n.Published == "" {
		n.Published = a.Published
	}
	at, err := time.Parse(time.RFC3339, n.Published)
	if err != nil || at.Unix() <= 0 || at.After(now) {
		return archivePost{}, Undated
	}
	p := archivePost{source: digest(n.ID), time: at.Unix(), files: n.Attachment, parts: archiveSplit(n.text())}
	if len(n.InReplyTo) > 0 {
		p.replyTo = digest(n.InReplyTo[0])
	}
	p.sensitive = n.Sensitive && slices.ContainsFunc(n.Attachment, attachment.isPicture)
	switch {
	case len(p.parts) == 0:
		return archivePost{}, Empty
	case len(p.parts) > maxParts:
		return archivePost{}, TooLong
	}
	return p, ""
}

func (f attachment) isPicture() bool { return strings.HasPrefix(f.MediaType, "image/") }

// pictureOnly is the text of a post that has pictures but no text.
const pictureOnly = "🖼️"

// text returns the text of a post, preceded by the content warning and followed by the options of a
// poll.
func (n *note) text() string {
	host := ""
	if u, err := url.Parse(n.ID); err == nil {
		host = u.Hostname()
	}
	body := plainText(n.Content)
	for _, answer := range append(n.OneOf, n.AnyOf...) {
		body += "\n• " + oneLine(answer.Name)
	}
	if strings.IndexFunc(body, social.IsInk) < 0 && slices.ContainsFunc(n.Attachment, attachment.isPicture) {
		body = pictureOnly
	}
	if warning := oneLine(n.Summary); warning != "" {
		body = "CW: " + warning + "\n\n" + body
	}
	return qualifyMentions(body, host)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// alt returns the description of a picture, truncated to the maximum length.
func (f attachment) alt() string {
	runes := []rune(f.Name)
	return string(runes[:min(len(runes), social.MaxAlt)])
}

// focus returns the focal point of a picture.
func (f attachment) focus() (x, y float64) {
	if len(f.FocalPoint) == 2 {
		return f.FocalPoint[0], f.FocalPoint[1]
	}
	return 0, 0
}
