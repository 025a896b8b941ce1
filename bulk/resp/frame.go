package resp

import "strconv"

// Frame is one command: *<n>\r\n$<length>\r\n<argument>\r\n…
type Frame struct {
	raw  []byte
	args []span
}

// span is the range of an argument in Frame.raw.
type span struct{ start, end int }

// Raw returns the complete command, valid until the frame is reused.
func (f *Frame) Raw() []byte { return f.raw }

// Len returns the number of arguments, including the command's name.
func (f *Frame) Len() int { return len(f.args) }

// Arg returns argument i, valid as long as Raw. Argument 0 is the command's name.
func (f *Frame) Arg(i int) []byte { return f.raw[f.args[i].start:f.args[i].end] }

// RawFrom returns the encoded arguments from argument i on. RawFrom(0) is Raw, including the
// header.
func (f *Frame) RawFrom(i int) []byte {
	if i == 0 {
		return f.raw
	}
	return f.raw[f.args[i-1].end+2:]
}

// Reset starts a command of n arguments. The caller adds each argument with Add.
func (f *Frame) Reset(n int) {
	f.raw = AppendLength(f.raw[:0], '*', n)
	f.args = f.args[:0]
}

// Add appends an argument.
func (f *Frame) Add(arg []byte) {
	f.raw = AppendLength(f.raw, '$', len(arg))
	f.args = append(f.args, span{len(f.raw), len(f.raw) + len(arg)})
	f.raw = append(append(f.raw, arg...), '\r', '\n')
}

// AppendLength appends a protocol header: "*3\r\n" or "$3\r\n".
func AppendLength(dst []byte, kind byte, n int) []byte {
	if n < 10 {
		return append(dst, kind, byte('0'+n), '\r', '\n')
	}
	if n < 100 {
		return append(dst, kind, byte('0'+n/10), byte('0'+n%10), '\r', '\n')
	}
	dst = strconv.AppendInt(append(dst, kind), int64(n), 10)
	return append(dst, '\r', '\n')
}
