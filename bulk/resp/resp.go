// Package resp writes and reads commands in the Redis protocol (RESP).
//
// A file in this format is the fastest input for mass insertion: [Encoder] generates such a file
// from Go values; "redis-cli --pipe" and retwis/bulk send it. [Scanner] reads such a stream and
// checks each command completely before returning it, so a program that forwards commands never
// forwards an incomplete command. An append-only file of a server has the same format.
//
// Encoder and Scanner do not allocate memory per command.
package resp

import "strconv"

// keepBuffer limits the size of the buffer that is kept after a large command.
const keepBuffer = 1 << 20

// InputError describes a fault in an input and its position.
type InputError struct {
	File   string // name of the file, if there are several
	Line   int64  // line number, starting at 1; 0 for inputs without lines
	Offset int64  // in bytes, for inputs without lines
	Msg    string
	// Truncated means that the input ends within a command or a record.
	Truncated bool
}

func (e *InputError) Error() string {
	text := "bulk: "
	if e.File != "" {
		text += e.File + ": "
	}
	if e.Line > 0 {
		return text + "line " + strconv.FormatInt(e.Line, 10) + ": " + e.Msg
	}
	return text + "byte " + strconv.FormatInt(e.Offset, 10) + ": " + e.Msg
}

// Shorten returns the first n bytes of b, or b if it is shorter.
func Shorten(b []byte, n int) []byte { return b[:min(len(b), n)] }
