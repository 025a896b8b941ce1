package resp

import (
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
)

// Encoder writes commands in the Redis protocol, for bulk.Load and "redis-cli --pipe".
//
// An Encoder buffers 64 KiB; call Flush after the last command.
type Encoder struct {
	w   io.Writer
	buf []byte
	err error
}

const encoderSize = 64 << 10

// NewEncoder returns an Encoder that writes to w.
func NewEncoder(w io.Writer) *Encoder { return &Encoder{w: w, buf: make([]byte, 0, encoderSize)} }

// Encode writes one command: its name and its arguments. It writes strings and []byte unchanged,
// int, int32, int64 and their unsigned forms in decimal, floats in the shortest form that parses to
// the same number, and booleans as 1 and 0. For any other type, for NaN, and for a command without
// a name, it returns an error and writes nothing.
//
// After a write error, every call returns that error.
func (e *Encoder) Encode(args ...any) error {
	if e.err != nil {
		return e.err
	}
	if len(args) == 0 {
		return errors.New("resp: the command has no name")
	}
	begin := len(e.buf)
	e.buf = AppendLength(e.buf, '*', len(args))
	for i, arg := range args {
		if !e.append(arg) {
			e.buf = e.buf[:begin]
			return fmt.Errorf("resp: argument %d of the command %s", i, problem(arg))
		}
	}
	if len(e.buf) >= encoderSize {
		return e.Flush()
	}
	return nil
}

// Flush writes the buffered commands.
func (e *Encoder) Flush() error {
	if e.err != nil || len(e.buf) == 0 {
		return e.err
	}
	if _, err := e.w.Write(e.buf); err != nil {
		e.err = fmt.Errorf("resp: %w", err)
	}
	if e.buf = e.buf[:0]; cap(e.buf) > keepBuffer {
		e.buf = make([]byte, 0, encoderSize)
	}
	return e.err
}

// append buffers one argument, or returns false if the argument has no encoding.
func (e *Encoder) append(arg any) bool {
	var digits [32]byte
	var text []byte
	switch v := arg.(type) {
	case string:
		e.buf = append(AppendLength(e.buf, '$', len(v)), v...)
		e.buf = append(e.buf, '\r', '\n')
		return true
	case []byte:
		text = v
	case int:
		text = strconv.AppendInt(digits[:0], int64(v), 10)
	case int64:
		text = strconv.AppendInt(digits[:0], v, 10)
	case int32:
		text = strconv.AppendInt(digits[:0], int64(v), 10)
	case uint64:
		text = strconv.AppendUint(digits[:0], v, 10)
	case uint32:
		text = strconv.AppendUint(digits[:0], uint64(v), 10)
	case uint:
		text = strconv.AppendUint(digits[:0], uint64(v), 10)
	case float64:
		if math.IsNaN(v) {
			return false
		}
		text = appendFloat(digits[:0], v)
	case bool:
		if text = append(digits[:0], '0'); v {
			text[0] = '1'
		}
	default:
		return false
	}
	e.buf = append(AppendLength(e.buf, '$', len(text)), text...)
	e.buf = append(e.buf, '\r', '\n')
	return true
}

// problem describes an argument without an encoding.
func problem(arg any) string {
	if _, ok := arg.(float64); ok {
		return "is NaN, which Redis does not accept as a number"
	}
	return fmt.Sprintf("has the type %v: use a string, []byte, bool, float64, int, int32, int64, uint, uint32 or uint64", reflect.TypeOf(arg))
}

// appendFloat appends v as text, with infinities in the form that Redis accepts for scores.
func appendFloat(dst []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "+inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}
