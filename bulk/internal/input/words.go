package input

import "fmt"

// splitter splits lines into words like redis-cli. Blanks separate words; double quotes allow the
// escapes \n \r \t \b \a \" \\ and \xHH, single quotes allow \'.
type splitter struct {
	words   [][]byte
	scratch []byte // holds the unquoted text of quoted words
}

// SplitWords returns the words of a line.
func SplitWords(line string) ([]string, error) {
	words, err := new(splitter).split([]byte(line))
	var texts []string
	for _, w := range words {
		texts = append(texts, string(w))
	}
	return texts, err
}

// split returns the words of a line, valid until the line or the splitter is reused.
func (s *splitter) split(line []byte) ([][]byte, error) {
	s.words = s.words[:0]
	// A word is never longer than its quoted form, so scratch is not reallocated while words
	// point into it.
	if cap(s.scratch) < len(line) {
		s.scratch = make([]byte, 0, 2*len(line))
	}
	s.scratch = s.scratch[:0]
	for i := 0; ; {
		for i < len(line) && isBlank(line[i]) {
			i++
		}
		if i == len(line) {
			return s.words, nil
		}
		begin := i
		for i < len(line) && !endsWord(line[i]) && line[i] != '"' && line[i] != '\'' {
			i++
		}
		if i == len(line) || endsWord(line[i]) {
			s.words = append(s.words, line[begin:i:i])
			continue
		}
		var err error
		if i, err = s.quoted(line, begin); err != nil {
			return nil, err
		}
	}
}

// quoted reads a word with a quoted part, appends the word to s.words, and returns its end.
func (s *splitter) quoted(line []byte, i int) (int, error) {
	from := len(s.scratch)
	for i < len(line) && !endsWord(line[i]) {
		if line[i] != '"' && line[i] != '\'' {
			s.scratch = append(s.scratch, line[i])
			i++
			continue
		}
		open, quote := i, line[i]
		for i++; i < len(line) && line[i] != quote; {
			size := 1
			if line[i] == '\\' && i+1 < len(line) {
				size = s.escape(line[i:], quote)
			} else {
				s.scratch = append(s.scratch, line[i])
			}
			i += size
		}
		if i == len(line) {
			return 0, fmt.Errorf("column %d: the quote %c is not closed", open+1, quote)
		}
		if i++; i < len(line) && !isBlank(line[i]) {
			return 0, fmt.Errorf("column %d: expected a blank after the closing quote, found %q", i+1, line[i])
		}
		break
	}
	s.words = append(s.words, s.scratch[from:len(s.scratch):len(s.scratch)])
	return i, nil
}

// escape decodes an escape sequence into s.scratch and returns its size.
func (s *splitter) escape(text []byte, quote byte) int {
	c := text[1]
	if quote == '\'' {
		if c == '\'' {
			s.scratch = append(s.scratch, c)
			return 2
		}
		s.scratch = append(s.scratch, '\\')
		return 1
	}
	if c == 'x' && len(text) >= 4 {
		if high, low := hexDigit(text[2]), hexDigit(text[3]); high >= 0 && low >= 0 {
			s.scratch = append(s.scratch, byte(high<<4|low))
			return 4
		}
	}
	switch c {
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'b':
		c = '\b'
	case 'a':
		c = '\a'
	}
	s.scratch = append(s.scratch, c)
	return 2
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// isBlank reports whether c separates words.
func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' || c == 0 }

// endsWord reports whether c ends an unquoted word. As in redis-cli, \v and \f do not.
func endsWord(c byte) bool { return isBlank(c) && c != '\v' && c != '\f' }
