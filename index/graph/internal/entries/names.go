package entries

import "strings"

// MaxName is the maximum length of a name, in bytes.
const MaxName = 64 << 10

// Escape escapes a name for an entry. Escaping preserves the order of names, since the second
// byte of ";:" and ";;" is the byte of the name.
func Escape(name string) string {
	if strings.IndexByte(name, ':') < 0 && strings.IndexByte(name, ';') < 0 {
		return name
	}
	var out strings.Builder
	out.Grow(len(name) + 8)
	for i := range len(name) {
		if c := name[i]; c == ':' || c == ';' {
			out.WriteByte(';')
		}
		out.WriteByte(name[i])
	}
	return out.String()
}

// CutName reads an escaped name up to the next colon or the end. more reports whether there is
// a colon.
func CutName(text string) (name, rest string, more, ok bool) {
	end := strings.IndexByte(text, ':')
	if semicolon := strings.IndexByte(text, ';'); semicolon < 0 || 0 <= end && end < semicolon {
		if end < 0 {
			return text, "", false, true
		}
		return text[:end], text[end+1:], true, true
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ':':
			return out.String(), text[i+1:], true, true
		case ';':
			i++
			if i == len(text) || text[i] != ':' && text[i] != ';' {
				return "", "", false, false
			}
		}
		out.WriteByte(text[i])
	}
	return out.String(), "", false, true
}
