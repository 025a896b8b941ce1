package view

import (
	"context"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"

	"retwis/internal/social"
)

// avatar is the picture of a user: the initials of the name on its colour. It is written by hand because a
// page has many, and computed classes are the slowest part of a template.
func avatar(user social.User, size string) templ.Component {
	name := user.Name
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, `<span class="avatar `+size+` tone-`+strconv.Itoa(tone(name))+
			`" aria-hidden="true">`+templ.EscapeString(initials(name))+`</span>`)
		return err
	})
}

// initials returns the first letter of a name, or of its first two parts.
func initials(name string) string {
	var letters []rune
	begin := true
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			begin = true
			continue
		}
		if begin && len(letters) < 2 {
			letters = append(letters, unicode.ToUpper(r))
		}
		begin = false
	}
	if len(letters) == 0 {
		first, _ := utf8.DecodeRuneInString(name)
		return string(first)
	}
	return string(letters)
}

// tones is how many colours avatars have.
const tones = 12

// tone returns the number of a name's colour.
func tone(name string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.ToLower(name)))
	return int(h.Sum32() % tones)
}
