package web

import (
	"context"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"
)

// avatar is the initials of a name on the colour that belongs to it. It is
// written by hand because a page has many: computed classes are what takes
// longest in a template.
func avatar(name, size string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, `<span class="avatar `+size+` tone-`+strconv.Itoa(tone(name))+
			`" aria-hidden="true">`+templ.EscapeString(initials(name))+`</span>`)
		return err
	})
}

// initials are what an avatar shows: of a name in two parts both first letters.
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

// tone is the number of the colour that belongs to a name.
func tone(name string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.ToLower(name)))
	return int(h.Sum32() % tones)
}
