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

// Language is a language of the site.
type Language struct {
	Tag  string // BCP 47
	Name string // in the language itself
	Dir  string // "ltr" or "rtl"

	index     int
	tag       language.Tag
	texts     map[string]forms // nil for English
	file      map[string]any   // each text as its file has it, for Script
	thousands string
}

// forms are the forms of a text by number; a text that does not depend on one has Other only.
type forms [plural.Many + 1]template

// English is the language of the source.
var English = &Language{Tag: "en", Name: "English", Dir: "ltr", tag: language.English, thousands: ","}

// languages are all languages, the one for everybody else first.
var languages = loaded(
	English,
	&Language{Tag: "de", Name: "Deutsch", Dir: "ltr", tag: language.German, thousands: "."},
)

// matcher finds the one of languages that somebody prefers.
var matcher = newMatcher(languages)

//go:embed messages/*.json
var files embed.FS

// loaded numbers languages, and reads the files of those after the first.
func loaded(all ...*Language) []*Language {
	for i, l := range all {
		if l.index = i; i > 0 {
			if err := l.load(); err != nil {
				panic(err) // a file of the program; see TestMessages
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

// load reads the file of a language.
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
		var of forms
		for form, text := range map[plural.Form]string{
			plural.Zero: m.Zero, plural.One: m.One, plural.Two: m.Two, plural.Few: m.Few, plural.Many: m.Many, plural.Other: m.Other,
		} {
			if of[form], err = compile(text, values); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		l.texts[m.ID] = of
	}
	return nil
}

// of returns the form for a message.
func (f forms) of(l *Language, m Message) template {
	if m.one != "" {
		if t := f[plural.Cardinal.MatchPlural(l.tag, int(m.n%10_000_000), 0, 0, 0, 0)]; t != nil {
			return t
		}
	}
	return f[plural.Other]
}

// All returns the languages of the site. The slice is not a copy.
func All() []*Language { return languages }

// Count is how many languages there are; Index numbers them.
func Count() int { return len(languages) }

// Index is the number of a language, from 0.
func (l *Language) Index() int { return l.index }

// Find returns the language with a tag, nil for none.
func Find(tag string) *Language {
	for _, l := range languages {
		if l.Tag == tag {
			return l
		}
	}
	return nil
}

const (
	// maxAccept bounds the header that Match reads.
	maxAccept = 200
	// maxMatched bounds what is kept of it.
	maxMatched = 1000
)

// matched has the language for a header: browsers send few different ones.
var matched = new(headers)

type headers struct {
	languages sync.Map
	n         atomic.Int64
}

// Match returns the language that somebody prefers, by the header Accept-Language.
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

// Number writes a number.
func (l *Language) Number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + l.thousands + text[i:]
	}
	return text
}

// months are the names of the months, in dates and alone.
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

// Time writes a time in UTC.
func (l *Language) Time(t time.Time) string {
	t = t.UTC()
	return l.Say(T("{date}, {time} UTC", l.Date(t), t.Format("15:04")))
}

// Date writes the day of a time in UTC.
func (l *Language) Date(t time.Time) string {
	t = t.UTC()
	return l.Say(T("{day} {month} {year}", strconv.Itoa(t.Day()), months[t.Month()-1][0], strconv.Itoa(t.Year())))
}

// Month writes the month of a time in UTC.
func (l *Language) Month(t time.Time) string {
	t = t.UTC()
	return l.Say(T("{month} {year}", months[t.Month()-1][1], strconv.Itoa(t.Year())))
}
