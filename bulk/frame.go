package bulk

// Frame is one command in Redis' protocol: *<n>\r\n$<length>\r\n<argument>\r\n…
type Frame struct {
	raw  []byte
	args []span
}

// span is where an argument is in the command.
type span struct{ start, end int }

// Raw is the whole command, valid until the next one is read.
func (f *Frame) Raw() []byte { return f.raw }

// Len is the number of arguments. The command's name is the first.
func (f *Frame) Len() int { return len(f.args) }

// Arg is argument i, valid until the next command is read.
func (f *Frame) Arg(i int) []byte { return f.raw[f.args[i].start:f.args[i].end] }

// reset begins a command of n arguments.
func (f *Frame) reset(n int) {
	f.raw = appendLength(f.raw[:0], '*', n)
	f.args = f.args[:0]
}

// add appends an argument.
func (f *Frame) add(arg []byte) {
	f.raw = appendLength(f.raw, '$', len(arg))
	f.args = append(f.args, span{len(f.raw), len(f.raw) + len(arg)})
	f.raw = append(append(f.raw, arg...), '\r', '\n')
}
