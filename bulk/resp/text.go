package resp

import "strconv"

// Limits of the part of a command that Text returns.
const (
	shownArgs  = 12
	shownBytes = 60
)

// Text returns an encoded command as typed into redis-cli, shortened to 12 arguments of 60 bytes.
func Text(raw []byte) string {
	var f Frame
	if Parse(raw, &f) != nil {
		return ""
	}
	var text []byte
	for i := range f.Len() {
		if i > 0 {
			text = append(text, ' ')
		}
		if i == shownArgs {
			text = append(text, "… ("...)
			text = strconv.AppendInt(text, int64(f.Len()-i), 10)
			return string(append(text, " more)"...))
		}
		arg := f.Arg(i)
		text = AppendQuoted(text, Shorten(arg, shownBytes))
		if len(arg) > shownBytes {
			text = append(text, "…"...)
		}
	}
	return string(text)
}

// AppendQuoted appends a word, quoted where redis-cli and bulk's format "commands" require it.
func AppendQuoted(dst, word []byte) []byte {
	plain := len(word) > 0
	for _, b := range word {
		if b <= ' ' || b > '~' || b == '"' || b == '\'' || b == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return append(dst, word...)
	}
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, b := range word {
		switch {
		case b == '"' || b == '\\':
			dst = append(dst, '\\', b)
		case b == '\n':
			dst = append(dst, '\\', 'n')
		case b == '\r':
			dst = append(dst, '\\', 'r')
		case b == '\t':
			dst = append(dst, '\\', 't')
		case b < ' ' || b > '~':
			dst = append(dst, '\\', 'x', hex[b>>4], hex[b&15])
		default:
			dst = append(dst, b)
		}
	}
	return append(dst, '"')
}
