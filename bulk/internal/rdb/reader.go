// Package rdb reads a server's snapshot (RDB) as the commands that create its keys: the same
// commands that a server writes into an append-only file without a snapshot.
//
// A Reader reads one element at a time: it needs memory for the largest element, for a packed
// string of elements (a few KB), and 32 bytes per pending entry of a consumer group.
package rdb

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"retwis/bulk/resp"
)

// Version is the newest format version that a Reader supports: the version of Redis 7.4 and 8.0.
const Version = 12

// Options are the options of a Reader.
type Options struct {
	// Offset is the offset of the snapshot in the input.
	Offset int64
	// Now determines which keys and fields have expired. Expired keys and fields are left out.
	Now time.Time
	// Redis6 creates streams without features that servers before 7.0 do not support.
	Redis6 bool
	// Database, if set, is the only database whose keys are read. SELECT commands and data that
	// belongs to no database, such as functions and module data, are left out.
	Database *int
	// Passed, if set, is called with an offset when no further command starts before it.
	Passed func(offset int64)
}

// Reader reads a snapshot.
type Reader struct {
	in      buffer
	now     int64 // ms
	redis6  bool
	only    *int // the only database to read; nil: all databases
	passed  func(int64)
	version uint64

	queue []resp.Frame // commands to return
	head  int          // index of the next command in queue
	err   error        // returned after the commands in queue
	done  bool

	db      int
	at      int64 // offset of the current key, or of the data between keys
	keys    int64
	expired int64 // number of expired keys

	key        []byte
	keyed      bool  // the commands in queue belong to the key
	expires    int64 // ms; 0: never
	state      state
	drop       bool   // the commands of the key are dropped
	begun      bool   // a command of the key has been returned
	repeatable bool   // see Repeatable
	bad        string // why the key cannot be loaded
	values     values
	stream     stream

	blob       []byte
	compressed []byte
}

// state is a Reader's position in the structure of a snapshot.
type state uint8

const (
	atStart state = iota
	betweenKeys
	inValues
	inEntries   // of a stream
	inGroups    // of a stream
	inConsumers // of a group
)

// KeyError is the error for a key that cannot be loaded. Reading can continue after it.
type KeyError struct {
	Key    []byte // nil: data that belongs to no key
	DB     int
	Offset int64
	Reason string
}

func (e *KeyError) Error() string {
	if e.Key == nil {
		return e.Reason
	}
	return fmt.Sprintf("the key %s of database %d cannot be loaded: %s",
		resp.AppendQuoted(nil, resp.Shorten(e.Key, 100)), e.DB, e.Reason)
}

// NewReader returns a Reader of a snapshot.
func NewReader(r io.Reader, opt Options) *Reader {
	return &Reader{
		in:  buffer{r: r, buf: make([]byte, bufferSize), base: opt.Offset},
		now: opt.Now.UnixMilli(), redis6: opt.Redis6, only: opt.Database, passed: opt.Passed, at: opt.Offset,
	}
}

// Next stores the next command in f, valid until the following call. It returns io.EOF at the end
// of the snapshot, a *resp.InputError if the snapshot is damaged, and a *KeyError for a key that
// cannot be loaded. If some commands of the key were returned before the error, Next first returns
// a command that removes the key.
func (r *Reader) Next(f *resp.Frame) error {
	for r.head == len(r.queue) {
		r.queue, r.head = r.queue[:0], 0
		if r.err != nil {
			err := r.err
			if key := (*KeyError)(nil); errors.As(err, &key) {
				r.err = nil
			}
			return err
		}
		if r.done {
			return io.EOF
		}
		if r.step(); r.passed != nil && len(r.queue) == 0 {
			r.passed(r.in.offset())
		}
	}
	*f, r.queue[r.head] = r.queue[r.head], *f
	r.head++
	return nil
}

// Expire replaces Options.Now for the following keys and fields.
func (r *Reader) Expire(now time.Time) { r.now = now.UnixMilli() }

// Offset returns the offset of the current key.
func (r *Reader) Offset() int64 { return r.at }

// End returns the offset after the current key, or false within a key.
func (r *Reader) End() (int64, bool) {
	return r.in.offset(), r.head == len(r.queue) && r.state == betweenKeys && r.err == nil
}

// Keys returns the number of keys so far.
func (r *Reader) Keys() int64 { return r.keys }

// Expired returns the number of keys that were left out because they had expired.
func (r *Reader) Expired() int64 { return r.expired }

// InKey reports whether the current command belongs to a key. All commands of a key can be resent
// together.
func (r *Reader) InKey() bool { return r.begun }

// Repeatable reports whether the current command, together with its transaction, can be repeated
// immediately, although commands of its kind in general cannot.
func (r *Reader) Repeatable() bool { return r.repeatable }

// Rest returns the input after a snapshot that was read to its end, and the offset of that input.
func (r *Reader) Rest() (io.Reader, int64) { return r.in.rest(), r.in.offset() }

// step reads until it has a command or an error, or reaches the end of a key.
func (r *Reader) step() {
	switch r.state {
	case atStart:
		r.header()
	case betweenKeys:
		r.begun = false
		r.opcode()
	case inValues:
		r.batch()
	case inEntries:
		r.entries()
	case inGroups:
		r.group()
	case inConsumers:
		r.consumer()
	}
	if r.drop || r.bad != "" {
		r.queue = r.queue[:0]
	}
	if r.state == betweenKeys && r.bad != "" {
		r.refuse(&KeyError{Key: append([]byte{}, r.key...), DB: r.db, Offset: r.at, Reason: r.bad})
	}
	if r.in.err == nil {
		r.begun = r.begun || len(r.queue) > 0 && r.keyed
		return
	}
	r.err = r.in.err
	if errors.Is(r.err, io.ErrUnexpectedEOF) {
		r.err = &resp.InputError{Offset: r.in.offset(), Msg: "the snapshot (RDB) ends here, before its end mark: it is truncated"}
	}
	r.queue = r.queue[:0]
	r.removePart()
}

// refuse discards the commands in queue and removes the loaded part of the key. Next then returns
// err, and reading continues.
func (r *Reader) refuse(err *KeyError) {
	r.queue = r.queue[:0]
	r.removePart()
	r.err, r.bad = err, ""
}

// removePart creates the command that removes the loaded part of the current key.
func (r *Reader) removePart() {
	if r.begun && r.state != atStart {
		r.command("UNLINK", 1).Add(r.key)
	}
}

// damaged ends reading with an error that describes the damage.
func (r *Reader) damaged(format string, args ...any) {
	if r.in.err == nil {
		r.in.err = &resp.InputError{Offset: r.in.offset(), Msg: "the snapshot (RDB) is damaged: " + fmt.Sprintf(format, args...)}
	}
}

// fault marks the current key as one that cannot be loaded.
func (r *Reader) fault(reason string) {
	if r.bad == "" {
		r.bad = reason
	}
}

// command appends a command to queue, with n arguments after its name.
func (r *Reader) command(name string, n int) *resp.Frame {
	if len(r.queue) < cap(r.queue) {
		r.queue = r.queue[:len(r.queue)+1]
	} else {
		r.queue = append(r.queue, resp.Frame{})
	}
	f := &r.queue[len(r.queue)-1]
	if cap(f.Raw()) > maxKept {
		*f = resp.Frame{}
	}
	f.Reset(n + 1)
	f.Add([]byte(name))
	return f
}

// addInt adds a number to a command.
func addInt(f *resp.Frame, n int64) {
	var digits [20]byte
	f.Add(strconv.AppendInt(digits[:0], n, 10))
}

// header reads the first bytes of a snapshot.
func (r *Reader) header() {
	head := r.in.next(9)
	if r.in.err != nil {
		return
	}
	version, newer := Header(head)
	switch {
	case version == 0:
		r.in.err = &resp.InputError{Offset: r.at, Msg: "this is not a snapshot (RDB) of Redis or Valkey"}
	case newer:
		r.in.err = &resp.InputError{Offset: r.at, Msg: fmt.Sprintf("this is a snapshot (RDB) of version %d, and only versions up to %d, "+
			"which Redis up to 8.0 and Valkey up to 8 write, can be read; let its server write commands instead: "+
			"CONFIG SET aof-use-rdb-preamble no, then BGREWRITEAOF, and load its append-only file", version, Version)}
	default:
		r.version, r.state = version, betweenKeys
	}
}

// Header returns the version of a snapshot, given its first bytes, and whether the version is too
// new for a Reader. It returns 0 for any other file.
func Header(head []byte) (version uint64, newer bool) {
	if len(head) < 9 {
		return 0, false
	}
	digits := head[5:9]
	valkey := string(head[:6]) == "VALKEY" // Valkey 9 and newer number their versions separately
	if valkey {
		digits = head[6:9]
	}
	if !valkey && string(head[:5]) != "REDIS" {
		return 0, false
	}
	version, err := strconv.ParseUint(string(digits), 10, 16)
	if err != nil {
		return 0, false
	}
	return version, valkey || version > Version
}

// Opcodes between keys. Smaller numbers are value types.
const (
	opSlotInfo     = 244
	opFunction     = 245
	opModuleAux    = 247
	opIdle         = 248
	opFrequency    = 249
	opAux          = 250
	opSizes        = 251
	opExpiryMillis = 252
	opExpirySecs   = 253
	opSelect       = 254
	opEnd          = 255
)

// opcode reads the data between keys, or a key.
func (r *Reader) opcode() {
	r.at, r.keyed, r.expires, r.drop, r.repeatable = r.in.offset(), false, 0, false, false
	for r.in.err == nil {
		switch op := r.in.byte(); op {
		case opExpiryMillis:
			r.expires = max(1, int64(r.in.uint64()))
		case opExpirySecs:
			r.expires = max(1, int64(int32(r.in.uint32()))*1000)
		case opIdle:
			r.number()
		case opFrequency:
			r.in.byte()
		case opSelect:
			if n := r.number(); r.in.err == nil {
				r.selectDB(n)
			}
			return
		case opSizes:
			r.number()
			r.number()
			return
		case opSlotInfo:
			for range 3 {
				r.number()
			}
			return
		case opAux:
			r.aux()
			return
		case opFunction:
			if r.blob, r.repeatable = r.appendText(reuse(r.blob)), true; r.only != nil {
				return
			}
			f := r.command("FUNCTION", 3)
			f.Add([]byte("LOAD"))
			f.Add([]byte("REPLACE"))
			f.Add(r.blob)
			return
		case opModuleAux:
			r.moduleData()
			return
		case opEnd:
			r.end()
			return
		default:
			if r.in.err == nil {
				r.value(op)
			}
			return
		}
	}
}

// selectDB selects a database.
func (r *Reader) selectDB(n uint64) {
	if n > 1<<30 {
		r.damaged("there is no database %d", n)
		return
	}
	if r.db = int(n); r.only != nil {
		return
	}
	addInt(r.command("SELECT", 1), int64(n))
}

// inOtherDatabase reports whether the current key is in a database that is left out.
func (r *Reader) inOtherDatabase() bool { return r.only != nil && r.db != *r.only }

// aux reads an auxiliary field. Some servers before 7.0 store their scripts in auxiliary fields.
func (r *Reader) aux() {
	r.key = r.appendText(reuse(r.key)) // the name of the field
	r.blob = r.appendText(reuse(r.blob))
	if string(r.key) == "lua" && r.only == nil && r.in.err == nil {
		f := r.command("SCRIPT", 2)
		f.Add([]byte("LOAD"))
		f.Add(r.blob)
	}
}

// end verifies the checksum.
func (r *Reader) end() {
	want := r.in.updateSum()
	if r.version < 5 {
		r.done = true
		return
	}
	got := r.in.uint64()
	if r.in.err != nil {
		return
	}
	if got != 0 && got != want { // 0: written without a checksum
		r.in.err = &resp.InputError{Offset: r.in.offset() - 8, Msg: "the checksum of the snapshot (RDB) is wrong, so some of the preceding data may be damaged"}
		return
	}
	r.done = true
}

// value reads a key and starts reading its value.
func (r *Reader) value(kind byte) {
	r.key = r.appendText(reuse(r.key))
	if r.in.err != nil {
		return
	}
	r.keyed = true
	switch {
	case r.inOtherDatabase():
		r.drop = true
	case r.expires > 0 && r.expires <= r.now:
		r.keys++
		r.expired++
		r.drop = true
	default:
		r.keys++
	}
	switch kind {
	case typeString:
		r.simple()
	case typeStream1, typeStream2, typeStream3:
		r.openStream(kind)
	case typeModule:
		r.moduleValue()
	default:
		if !r.values.open(r, kind) {
			r.damaged("there is no type %d (of the key %s)", kind, resp.AppendQuoted(nil, resp.Shorten(r.key, 100)))
			return
		}
		r.state = inValues
	}
}

// simple reads a string value and creates the command that sets it.
func (r *Reader) simple() {
	r.blob = r.appendText(reuse(r.blob))
	if r.in.err != nil {
		return
	}
	n := 2
	if r.expires > 0 {
		n = 4
	}
	f := r.command("SET", n)
	f.Add(r.key)
	f.Add(r.blob)
	if r.expires > 0 {
		f.Add([]byte("PXAT"))
		addInt(f, r.expires)
	}
}

// finish ends a key that needs several commands, and sets its expiry.
func (r *Reader) finish() {
	if r.expires > 0 && (r.begun || len(r.queue) > 0) {
		f := r.command("PEXPIREAT", 2)
		f.Add(r.key)
		addInt(f, r.expires)
	}
	r.state = betweenKeys
}
