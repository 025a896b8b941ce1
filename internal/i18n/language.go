package i18n

import (
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// Language is a language that the site supports.
type Language struct {
	Tag  string // BCP 47
	Name string // in the language itself
	Dir  string // "ltr" or "rtl"

	index     int
	tag       language.Tag
	texts     map[string]forms // nil for English
	file      map[string]any   // each text as in the file, for Script
	thousands string
}

// forms holds the plural forms of a text. A text without a number has only Other.
type forms [plural.Many + 1]template

// English is the language of the source.
var English = &Language{Tag: "en", Name: "English", Dir: "ltr", tag: language.English, thousands: ","}

// languages lists the supported languages. The first is the fallback.
var languages = mustLoad(
	English,
	&Language{Tag: "de", Name: "Deutsch", Dir: "ltr", tag: language.German, thousands: "."},
)

var matcher = newMatcher(languages)

//go:embed messages/*.json
var files embed.FS

// mustLoad numbers the languages and loads the message file of each language except English.
func mustLoad(all ...*Language) []*Language {
	for i, l := range all {
		if l.index = i; i > 0 {
			if err := l.load(); err != nil {
				panic(err) // the files are embedded; TestMessages checks them
			}
		}
	}
	return all
}

func newMatcher(all []*Language) language.Matcher {
	tags := make([]language.Tag, len(all))
	for i, l := range all {
		tags[i] = l.tag
	}
	return language.NewMatcher(tags)
}

// load reads the message file of the language.
func (l *Language) load() error {
	path := "messages/" + l.Tag + ".json"
	body, err := files.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := i18n.ParseMessageFileBytes(body, path, map[string]i18n.UnmarshalFunc{"json": json.Unmarshal})
	if err != nil {
		return fmt.Errorf("i18n: %s: %w", path, err)
	}
	if err := json.Unmarshal(body, &l.file); err != nil {
		return fmt.Errorf("i18n: %s: %w", path, err)
	}
	l.texts = make(map[string]forms, len(file.Messages))
	for _, m := range file.Messages {
		isPlural := m.Zero+m.One+m.Two+m.Few+m.Many != ""
		values := names(m.ID, isPlural)
		var templates forms
		for form, text := range map[plural.Form]string{
			plural.Zero: m.Zero, plural.One: m.One, plural.Two: m.Two, plural.Few: m.Few, plural.Many: m.Many, plural.Other: m.Other,
		} {
			if templates[form], err = compile(text, values); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		l.texts[m.ID] = templates
	}
	return nil
}

// choose returns the form for the number of m.
func (f forms) choose(l *Language, m Message) template {
	if m.one != "" {
		if t := f[plural.Cardinal.MatchPlural(l.tag, int(m.n%10_000_000), 0, 0, 0, 0)]; t != nil {
			return t
		}
	}
	return f[plural.Other]
}

// All returns the supported languages. The caller must not modify the slice.
func All() []*Language { return languages }

// Count returns the number of supported languages.
func Count() int { return len(languages) }

// Index returns the position of the language in All.
func (l *Language) Index() int { return l.index }

// Find returns the language with the given tag, or nil.
func Find(tag string) *Language {
	for _, l := range languages {
		if l.Tag == tag {
			return l
		}
	}
	return nil
}

const (
	// maxAccept is the longest Accept-Language header that Match parses.
	maxAccept = 200
	// maxMatched limits the number of cached headers.
	maxMatched = 1000
)

// matched caches the language for each Accept-Language header; browsers send few distinct headers.
var matched = new(headerCache)

type headerCache struct {
	languages sync.Map
	n         atomic.Int64
}

// Match returns the best language for an Accept-Language header.
func Match(accept string) *Language {
	if accept == "" || len(accept) > maxAccept {
		return English
	}
	if l, ok := matched.languages.Load(accept); ok {
		return l.(*Language)
	}
	l := match(accept)
	if matched.n.Add(1) <= maxMatched {
		matched.languages.Store(strings.Clone(accept), l)
	}
	return l
}

func match(accept string) *Language {
	wanted, _, err := language.ParseAcceptLanguage(accept)
	if err != nil || len(wanted) == 0 {
		return English
	}
	_, i, _ := matcher.Match(wanted...)
	return languages[i]
}

// Number formats n with the thousands separator of the language.
func (l *Language) Number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + l.thousands + text[i:]
	}
	return text
}

// months holds the short name of each month, for dates, and its full name.
var months = [12][2]Message{
	{T("Jan"), T("January")},
	{T("Feb"), T("February")},
	{T("Mar"), T("March")},
	{T("Apr"), T("April")},
	{T("May|short"), T("May")},
	{T("Jun"), T("June")},
	{T("Jul"), T("July")},
	{T("Aug"), T("August")},
	{T("Sep"), T("September")},
	{T("Oct"), T("October")},
	{T("Nov"), T("November")},
	{T("Dec"), T("December")},
}

// Time formats the date and time of t in UTC.
func (l *Language) Time(t time.Time) string {
	t = t.UTC()
	return l.Say(T("{date}, {time} UTC", l.Date(t), t.Format("15:04")))
}

// Date formats the date of t in UTC.
func (l *Language) Date(t time.Time) string {
	t = t.UTC()
	return l.Say(T("{day} {month} {year}", strconv.Itoa(t.Day()), months[t.Month()-1][0], strconv.Itoa(t.Year())))
}

// Month formats the month and year of t in UTC.
func (l *Language) Month(t time.Time) string {
	t = t.UTC()
	return l.Say(T("{month} {year}", months[t.Month()-1][1], strconv.Itoa(t.Year())))
}
