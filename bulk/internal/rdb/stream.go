package rdb

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"

	"retwis/bulk/resp"
)

// queueLength limits the commands of a stream that are created at a time.
const queueLength = 128

// stream reads a stream.
type stream struct {
	kind   byte
	nodes  uint64 // number of packed strings to read
	packed packed
	master id       // the IDs of the entries of packed are relative to it
	fields [][]byte // fields shared by most entries of packed
	added  int64    // number of entries so far
	size   int      // size of the commands of the current batch
	begun  bool     // the commands that create the stream were created

	groups    uint64
	group     []byte
	pending   []pending // pending entries of the group, by ID
	consumers uint64

	consumer []byte
	acks     uint64 // number of unread pending entries of the consumer
	claims   []pending
}

// pending is an entry that was delivered but not acknowledged.
type pending struct {
	id
	time  int64
	count uint64
}

func compareIDs(a pending, b id) int {
	return cmp.Or(cmp.Compare(a.ms, b.ms), cmp.Compare(a.seq, b.seq))
}

// addID adds an ID to a command.
func addID(f *resp.Frame, i id) {
	var text [41]byte
	f.Add(strconv.AppendUint(append(strconv.AppendUint(text[:0], i.ms, 10), '-'), i.seq, 10))
}

// openStream starts reading a stream: first its entries, then its groups with their consumers.
func (r *Reader) openStream(kind byte) {
	s := &r.stream
	*s = stream{kind: kind, pending: s.pending[:0], claims: s.claims[:0], group: s.group, consumer: s.consumer}
	s.nodes = r.number()
	r.state = inEntries
}

// entries creates the commands that add some entries. The commands of a stream with few entries
// form a transaction that can be repeated. The commands of a longer stream cannot be repeated,
// because no command removes the newest entries.
func (r *Reader) entries() {
	s := &r.stream
	first := !s.begun
	if first {
		r.command("MULTI", 0)
		r.command("UNLINK", 1).Add(r.key)
	}
	more, before := true, s.added
	s.size = 0
	for more && s.added-before < queueLength && s.size < batchBytes && r.in.err == nil {
		more = r.nextEntry()
	}
	if r.in.err != nil {
		return
	}
	if s.begun = s.begun || s.added > 0; first {
		r.repeatable = !more
		if s.begun {
			r.command("EXEC", 0)
		} else {
			r.queue = r.queue[:0]
		}
	}
	if !more {
		r.endOfEntries()
	}
}

// setID creates the command that sets the last ID. Only servers from 7.0 on support the other two
// values.
func (r *Reader) setID(last id, added int64, removed id) {
	if r.redis6 {
		f := r.command("XSETID", 2)
		f.Add(r.key)
		addID(f, last)
		return
	}
	f := r.command("XSETID", 6)
	f.Add(r.key)
	addID(f, last)
	f.Add([]byte("ENTRIESADDED"))
	addInt(f, added)
	f.Add([]byte("MAXDELETEDID"))
	addID(f, removed)
}

// nextEntry reads an entry, or the start of a packed string of entries. It returns false at the
// end.
func (r *Reader) nextEntry() bool {
	s := &r.stream
	if flags, ok := s.packed.next(); ok {
		r.entry(flags)
		return true
	}
	if s.packed.bad {
		r.fault("its messages are damaged")
		s.packed = packed{}
	}
	if s.nodes == 0 {
		return false
	}
	s.nodes--
	r.node()
	return true
}

// node opens the next packed string of entries, and reads it up to the first entry.
func (r *Reader) node() {
	s := &r.stream
	key := r.appendText(r.values.data[:0])
	if r.in.err == nil && len(key) != 16 {
		r.damaged("a node of a stream has an id of %d bytes", len(key))
		return
	}
	if r.in.err != nil {
		return
	}
	s.master = id{binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])}
	r.blob = r.appendText(reuse(r.blob))
	s.packed.open(listpack, r.blob)
	s.packedInt() // number of entries
	s.packedInt() // number of deleted entries
	s.fields = s.fields[:0]
	for n := s.packedInt(); n > 0 && !s.packed.bad; n-- {
		field, ok := s.packed.next()
		s.packed.bad = s.packed.bad || !ok
		s.fields = append(s.fields, bytes.Clone(field))
	}
	s.packedInt() // end of the fields
}

// packedInt reads a number from a packed string.
func (s *stream) packedInt() int64 {
	text, ok := s.packed.next()
	n, number := parseInt(text)
	if !ok || !number {
		s.packed.bad = true
		return 0
	}
	return n
}

// entry reads an entry and creates the command that adds it.
func (r *Reader) entry(text []byte) {
	const deleted, sameFields = 1, 2
	s, v := &r.stream, &r.values
	flags, ok := parseInt(text)
	if !ok {
		s.packed.bad = true
		return
	}
	at := id{s.master.ms + uint64(s.packedInt()), s.master.seq + uint64(s.packedInt())}
	v.data, v.ends = reuse(v.data), v.ends[:0]
	n := int64(len(s.fields))
	if flags&sameFields == 0 {
		n = s.packedInt()
	}
	for i := int64(0); i < n && !s.packed.bad; i++ {
		if flags&sameFields != 0 {
			v.push(append(v.data, s.fields[i]...))
		} else {
			field, _ := s.packed.next()
			v.push(append(v.data, field...))
		}
		value, ok := s.packed.next()
		v.push(append(v.data, value...))
		s.packed.bad = s.packed.bad || !ok
	}
	s.packedInt() // number of elements, for reading backwards
	if s.packed.bad || flags&deleted != 0 {
		return
	}
	s.added++
	f := r.command("XADD", 2+len(v.ends))
	f.Add(r.key)
	addID(f, at)
	for i := range v.ends {
		f.Add(v.element(i))
	}
	s.size += len(f.Raw())
}

// endOfEntries reads the data after the entries.
func (r *Reader) endOfEntries() {
	s := &r.stream
	r.number() // number of entries
	last := r.id()
	var removed id
	added := uint64(s.added)
	if s.kind != typeStream1 {
		r.id() // ID of the first entry
		removed = r.id()
		added = r.number()
	}
	s.groups = r.number()
	if r.in.err != nil {
		return
	}
	if !s.begun { // the only way to create an empty stream
		r.command("MULTI", 0)
		r.command("UNLINK", 1).Add(r.key)
		f := r.command("XADD", 6)
		f.Add(r.key)
		for _, arg := range []string{"MAXLEN", "0", "0-1", "x", "y"} {
			f.Add([]byte(arg))
		}
		r.command("EXEC", 0)
	}
	r.setID(last, int64(added), removed)
	r.state = inGroups
}

// group reads the start of a group and creates it, or ends the stream.
func (r *Reader) group() {
	s := &r.stream
	if s.groups == 0 {
		if cap(s.pending) > maxKept/32 {
			s.pending = nil
		}
		r.finish()
		return
	}
	s.groups--
	s.group = r.appendText(reuse(s.group))
	last := r.id()
	read := int64(-1) // unknown
	if s.kind != typeStream1 {
		read = int64(r.number())
	}
	r.command("MULTI", 0) // so that the commands can be repeated
	r.groupCommand("DESTROY", 0)
	if s.kind != typeStream1 && !r.redis6 && read >= 0 {
		f := r.groupCommand("CREATE", 3)
		addID(f, last)
		f.Add([]byte("ENTRIESREAD"))
		addInt(f, read)
	} else {
		addID(r.groupCommand("CREATE", 1), last)
	}
	r.command("EXEC", 0)
	s.pending = s.pending[:0]
	sorted := true
	for n := r.number(); n > 0 && r.in.err == nil; n-- {
		p := pending{r.rawID(), int64(r.in.uint64()), r.number()}
		sorted = sorted && (len(s.pending) == 0 || compareIDs(s.pending[len(s.pending)-1], p.id) < 0)
		s.pending = append(s.pending, p)
	}
	if !sorted && r.in.err == nil {
		r.fault("the pending messages of a group are not in order")
	}
	s.consumers, s.acks, s.claims = r.number(), 0, s.claims[:0]
	r.state = inConsumers
}

// groupCommand appends an XGROUP command with its first arguments; n more arguments follow.
func (r *Reader) groupCommand(what string, n int) *resp.Frame {
	f := r.command("XGROUP", 3+n)
	f.Add([]byte(what))
	f.Add(r.key)
	f.Add(r.stream.group)
	return f
}

// consumer creates the next consumer, or claims some entries for the current consumer.
func (r *Reader) consumer() {
	s := &r.stream
	if s.acks == 0 {
		if s.consumers == 0 {
			r.state = inGroups
			return
		}
		s.consumers--
		s.consumer = r.appendText(reuse(s.consumer))
		r.in.skip(8) // time when it was last seen
		if s.kind == typeStream3 {
			r.in.skip(8) // time when it was last active
		}
		s.acks = r.number()
		if r.in.err == nil {
			r.groupCommand("CREATECONSUMER", 1).Add(s.consumer)
		}
		return
	}
	for ; s.acks > 0 && len(r.queue) < queueLength && r.in.err == nil; s.acks-- {
		at := r.rawID()
		i, ok := slices.BinarySearchFunc(s.pending, at, compareIDs)
		if r.in.err != nil {
			return
		}
		if !ok {
			r.fault("a consumer has a pending message that its group does not have")
			continue
		}
		p := s.pending[i]
		if n := len(s.claims); n == batchItems || n > 0 && (s.claims[0].time != p.time || s.claims[0].count != p.count) {
			r.claim()
		}
		s.claims = append(s.claims, p)
	}
	if s.acks == 0 {
		r.claim()
	}
}

// claim creates the command that makes the entries in claims pending.
func (r *Reader) claim() {
	s := &r.stream
	if len(s.claims) == 0 {
		return
	}
	f := r.command("XCLAIM", 10+len(s.claims))
	f.Add(r.key)
	f.Add(s.group)
	f.Add(s.consumer)
	f.Add([]byte("0"))
	for _, p := range s.claims {
		addID(f, p.id)
	}
	f.Add([]byte("TIME"))
	addInt(f, s.claims[0].time)
	f.Add([]byte("RETRYCOUNT"))
	addInt(f, int64(s.claims[0].count))
	f.Add([]byte("FORCE"))
	f.Add([]byte("JUSTID"))
	s.claims = s.claims[:0]
}
