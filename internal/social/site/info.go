package site

import (
	"crypto/sha256"
	"encoding/hex"
	"net/mail"
	"net/url"
	"strings"

	"github.com/rivo/uniseg"

	"retwis/internal/social"
)

// Field is a setting, named by its field in the hash `site`.
type Field string

// The settings.
const (
	Name        Field = "name"        // the name of the site, instead of DefaultName
	Description Field = "description" // one sentence
	Contact     Field = "contact"     // an email address, or the address of a web page
	Account     Field = "account"     // the name of a user who speaks for the site
	Rules       Field = "rules"       // one per line
	About       Field = "about"       // Markdown, like Privacy and Terms
	Privacy     Field = "privacy"
	Terms       Field = "terms"
	NoIndex     Field = "noindex" // "1" if search engines are asked to leave out the whole site
)

// Fields are all settings, in the order in which they are shown.
var Fields = []Field{Name, Description, Contact, Account, Rules, About, Privacy, Terms, NoIndex}

// DefaultName is the name of a site without a name of its own.
const DefaultName = "Retwis"

// Limits on settings, in characters.
const (
	MaxName        = 40
	MaxDescription = 200
	MaxContact     = 200
	MaxRules       = 20
	MaxRule        = 300
	MaxText        = 20_000
)

// Info holds the settings of a site. It is immutable. The zero value describes a new site.
type Info struct {
	texts  map[Field]string
	id     string
	signUp string // who can sign up: the name of an accounts.SignUpMode, empty for everybody
}

// Of returns a setting as stored, or empty if it is not set.
func (i Info) Of(f Field) string { return i.texts[f] }

// Version identifies the current text of a setting; see Settings.Set.
func (i Info) Version(f Field) string { return version(i.texts[f]) }

func version(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Name returns the name of the site.
func (i Info) Name() string {
	if name := i.texts[Name]; name != "" {
		return name
	}
	return DefaultName
}

// Rules returns the rules of the site, in order.
func (i Info) Rules() []string {
	if i.texts[Rules] == "" {
		return nil
	}
	return strings.Split(i.texts[Rules], "\n")
}

// ContactLink returns the target of a link to the contact, or empty if there is none.
func (i Info) ContactLink() string {
	contact := i.texts[Contact]
	if contact == "" || strings.Contains(contact, "://") {
		return contact
	}
	return "mailto:" + contact
}

// NeedsInvitation reports whether strangers need an invitation to sign up. A damaged mode counts as
// one that needs an invitation, because damage must not open the site.
func (i Info) NeedsInvitation() bool {
	return i.signUp != "" && i.signUp != "open" && i.signUp != "approval"
}

// NoIndex reports whether search engines are asked to leave out the whole site.
func (i Info) NoIndex() bool { return i.texts[NoIndex] == "1" }

// Clean returns a setting in the form that is stored, or *InvalidError. An empty setting is not
// set.
func Clean(f Field, typed string) (string, error) {
	switch f {
	case Name:
		return social.CleanLine(typed, string(f), MaxName)
	case Description:
		return social.CleanLine(typed, string(f), MaxDescription)
	case Contact:
		return cleanContact(typed)
	case Account:
		return cleanAccount(typed)
	case Rules:
		return cleanRules(typed)
	case About, Privacy, Terms:
		return cleanText(f, typed)
	case NoIndex:
		switch typed {
		case "1", "on":
			return "1", nil
		case "", "0", "off":
			return "", nil
		}
		return "", social.Invalid(string(f), "Use on or off.")
	}
	return "", social.Invalid(string(f), "There is no such setting.")
}

// cleanContact accepts an email address, or the address of a web page.
func cleanContact(typed string) (string, error) {
	contact, err := social.CleanLine(typed, string(Contact), MaxContact)
	if err != nil || contact == "" {
		return "", err
	}
	invalid := social.Invalid(string(Contact), "Use an email address, or a web address such as https://example.com.")
	if strings.Contains(contact, "://") {
		u, err := url.Parse(contact)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Contains(contact, " ") {
			return "", invalid
		}
		return u.String(), nil
	}
	address, err := mail.ParseAddress(contact)
	if err != nil || address.Address != contact || strings.ContainsAny(contact, ` "?&%<>`) {
		return "", invalid
	}
	return contact, nil
}

// cleanAccount accepts a username.
func cleanAccount(typed string) (string, error) {
	name := social.TypedName(typed)
	if name == "" {
		return "", nil
	}
	if err := social.CheckName(name); err != nil {
		return "", social.Invalid(string(Account), "Use the name of an account here, such as ada.")
	}
	return name, nil
}

// cleanRules accepts one rule per line. It drops empty lines.
func cleanRules(typed string) (string, error) {
	if len(typed) > MaxRules*MaxRule*social.BytesPerCharacter {
		return "", tooManyRules()
	}
	var rules []string
	for line := range strings.SplitSeq(social.CleanRunes(typed), "\n") {
		rule, err := social.CleanLine(line, string(Rules), MaxRule)
		if err != nil {
			return "", social.Invalid(string(Rules), "A rule is too long. Use at most {n} characters for each.", MaxRule)
		}
		if rule != "" {
			rules = append(rules, rule)
		}
	}
	if len(rules) > MaxRules {
		return "", tooManyRules()
	}
	return strings.Join(rules, "\n"), nil
}

func tooManyRules() error {
	return social.Invalid(string(Rules), "Use at most {n} rules.", MaxRules)
}

// cleanText accepts a page of Markdown, where spaces and empty lines are significant.
func cleanText(f Field, typed string) (string, error) {
	const maxBytes = 4 * MaxText
	if len(typed) > 2*maxBytes { // allowing for two-byte line ends, and for characters that are removed
		return "", social.TooLong(string(f), MaxText)
	}
	text := strings.Trim(social.CleanRunes(typed), "\n ")
	if strings.IndexFunc(text, social.IsInk) < 0 {
		return "", nil
	}
	if len(text) > maxBytes || uniseg.GraphemeClusterCount(text) > MaxText {
		return "", social.TooLong(string(f), MaxText)
	}
	return text, nil
}
