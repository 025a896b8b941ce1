package rdb

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"

	"retwis/bulk/resp"
)

// queueLength is how many commands of a stream are created at a time.
const queueLength = 128

// stream reads a stream.
type stream struct {
	kind   byte
	nodes  uint64 // packed strings to read
	packed packed
	master id
	fields [][]byte // that most messages of the packed string have
	added  int64    // messages
	size   int      // of the commands of the current batch
	begun  bool     // the stream that existed was removed

	groups    uint64
	group     []byte
	pending   []pending // of the group, by id
	consumers uint64

	consumer []byte
	acks     uint64 // pending messages of the consumer that were not read yet
	claims   []pending
}

// pending is a message that was delivered and not acknowledged.
type pending struct {
	id
	time  int64
	count uint64
}

func compareIDs(a pending, b id) int {
	return cmp.Or(cmp.Compare(a.ms, b.ms), cmp.Compare(a.seq, b.seq))
}

// addID adds an id to a command.
func addID(f *resp.Frame, i id) {
	var text [41]byte
	f.Add(strconv.AppendUint(append(strconv.AppendUint(text[:0], i.ms, 10), '-'), i.seq, 10))
}

// streamReader reads a stream: its messages, then its groups with their consumers. What it
// has read is in Reader.stream.
type streamReader struct{ r *Reader }

func (r *Reader) streams() streamReader { return streamReader{r} }

func (sr streamReader) openStream(kind byte) {
	s := &sr.r.stream
	*s = stream{kind: kind, pending: s.pending[:0], claims: s.claims[:0], group: s.group, consumer: s.consumer}
	s.nodes = sr.r.text().number()
	sr.r.state = inEntries
}

// entries creates the commands that add some messages. Those of a stream with few messages
// are a transaction that can be repeated; those of a longer one cannot, because no command
// removes the newest messages.
func (sr streamReader) entries() {
	s := &sr.r.stream
	first := !s.begun
	if first {
		sr.r.command("MULTI", 0)
		sr.r.command("UNLINK", 1).Add(sr.r.key)
	}
	more, before := true, s.added
	s.size = 0
	for more && s.added-before < queueLength && s.size < batchBytes && sr.r.in.err == nil {
		more = sr.nextEntry()
	}
	if sr.r.in.err != nil {
		return
	}
	if s.begun = s.begun || s.added > 0; first {
		sr.r.again = !more
		if s.begun {
			sr.r.command("EXEC", 0)
		} else {
			sr.r.queue = sr.r.queue[:0]
		}
	}
	if !more {
		sr.endOfEntries()
	}
}

// setID creates the command that sets the last id. Servers before 7.0 know only that.
func (sr streamReader) setID(last id, added int64, removed id) {
	if sr.r.redis6 {
		f := sr.r.command("XSETID", 2)
		f.Add(sr.r.key)
		addID(f, last)
		return
	}
	f := sr.r.command("XSETID", 6)
	f.Add(sr.r.key)
	addID(f, last)
	f.Add([]byte("ENTRIESADDED"))
	addInt(f, added)
	f.Add([]byte("MAXDELETEDID"))
	addID(f, removed)
}

// nextEntry reads a message, or the beginning of a packed string of them, and reports
// whether there was one.
func (sr streamReader) nextEntry() bool {
	s := &sr.r.stream
	if flags, ok := s.packed.next(); ok {
		sr.entry(flags)
		return true
	}
	if s.packed.bad {
		sr.r.fault("its messages are damaged")
		s.packed = packed{}
	}
	if s.nodes == 0 {
		return false
	}
	s.nodes--
	sr.node()
	return true
}

// node reads a packed string of messages, up to the first one.
func (sr streamReader) node() {
	s := &sr.r.stream
	key := sr.r.text().appendText(sr.r.values.data[:0])
	if sr.r.in.err == nil && len(key) != 16 {
		sr.r.damaged("a node of a stream has an id of %d bytes", len(key))
		return
	}
	if sr.r.in.err != nil {
		return
	}
	s.master = id{binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])}
	sr.r.blob = sr.r.text().appendText(reuse(sr.r.blob))
	s.packed.open(listpack, sr.r.blob)
	s.packedInt() // messages
	s.packedInt() // deleted messages
	s.fields = s.fields[:0]
	for n := s.packedInt(); n > 0 && !s.packed.bad; n-- {
		field, ok := s.packed.next()
		s.packed.bad = s.packed.bad || !ok
		s.fields = append(s.fields, bytes.Clone(field))
	}
	s.packedInt() // the end of the fields
}

// packedInt reads a number of a packed string.
func (s *stream) packedInt() int64 {
	text, ok := s.packed.next()
	n, number := parseInt(text)
	if !ok || !number {
		s.packed.bad = true
		return 0
	}
	return n
}

// entry reads a message and creates the command that adds it.
func (sr streamReader) entry(text []byte) {
	const deleted, sameFields = 1, 2
	s, v := &sr.r.stream, &sr.r.values
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
	s.packedInt() // the number of elements, to read backwards
	if s.packed.bad || flags&deleted != 0 {
		return
	}
	s.added++
	f := sr.r.command("XADD", 2+len(v.ends))
	f.Add(sr.r.key)
	addID(f, at)
	for i := range v.ends {
		f.Add(v.element(i))
	}
	s.size += len(f.Raw())
}

// endOfEntries reads what follows the messages.
func (sr streamReader) endOfEntries() {
	s := &sr.r.stream
	sr.r.text().number() // messages
	last := sr.r.text().id()
	var removed id
	added := uint64(s.added)
	if s.kind != typeStream1 {
		sr.r.text().id() // the first message
		removed = sr.r.text().id()
		added = sr.r.text().number()
	}
	s.groups = sr.r.text().number()
	if sr.r.in.err != nil {
		return
	}
	if !s.begun { // the only way to create an empty stream
		sr.r.command("MULTI", 0)
		sr.r.command("UNLINK", 1).Add(sr.r.key)
		f := sr.r.command("XADD", 6)
		f.Add(sr.r.key)
		for _, arg := range []string{"MAXLEN", "0", "0-1", "x", "y"} {
			f.Add([]byte(arg))
		}
		sr.r.command("EXEC", 0)
	}
	sr.setID(last, int64(added), removed)
	sr.r.state = inGroups
}

// group reads the beginning of a group and creates it, or ends the stream.
func (sr streamReader) group() {
	s := &sr.r.stream
	if s.groups == 0 {
		if cap(s.pending) > maxKept/32 {
			s.pending = nil
		}
		sr.r.finish()
		return
	}
	s.groups--
	s.group = sr.r.text().appendText(reuse(s.group))
	last := sr.r.text().id()
	read := int64(-1) // not known
	if s.kind != typeStream1 {
		read = int64(sr.r.text().number())
	}
	sr.r.command("MULTI", 0) // so that it can be repeated
	sr.groupCommand("DESTROY", 0)
	if s.kind != typeStream1 && !sr.r.redis6 && read >= 0 {
		f := sr.groupCommand("CREATE", 3)
		addID(f, last)
		f.Add([]byte("ENTRIESREAD"))
		addInt(f, read)
	} else {
		addID(sr.groupCommand("CREATE", 1), last)
	}
	sr.r.command("EXEC", 0)
	s.pending = s.pending[:0]
	sorted := true
	for n := sr.r.text().number(); n > 0 && sr.r.in.err == nil; n-- {
		p := pending{sr.r.text().rawID(), int64(sr.r.in.uint64()), sr.r.text().number()}
		sorted = sorted && (len(s.pending) == 0 || compareIDs(s.pending[len(s.pending)-1], p.id) < 0)
		s.pending = append(s.pending, p)
	}
	if !sorted && sr.r.in.err == nil {
		sr.r.fault("the pending messages of a group are not in order")
	}
	s.consumers, s.acks, s.claims = sr.r.text().number(), 0, s.claims[:0]
	sr.r.state = inConsumers
}

// groupCommand appends a command XGROUP with its first arguments and n more.
func (sr streamReader) groupCommand(what string, n int) *resp.Frame {
	f := sr.r.command("XGROUP", 3+n)
	f.Add([]byte(what))
	f.Add(sr.r.key)
	f.Add(sr.r.stream.group)
	return f
}

// consumer creates a consumer with some of its pending messages.
func (sr streamReader) consumer() {
	s := &sr.r.stream
	if s.acks == 0 {
		if s.consumers == 0 {
			sr.r.state = inGroups
			return
		}
		s.consumers--
		s.consumer = sr.r.text().appendText(reuse(s.consumer))
		sr.r.in.skip(8) // when it was seen
		if s.kind == typeStream3 {
			sr.r.in.skip(8) // when it was active
		}
		s.acks = sr.r.text().number()
		if sr.r.in.err == nil {
			sr.groupCommand("CREATECONSUMER", 1).Add(s.consumer)
		}
		return
	}
	for ; s.acks > 0 && len(sr.r.queue) < queueLength && sr.r.in.err == nil; s.acks-- {
		at := sr.r.text().rawID()
		i, ok := slices.BinarySearchFunc(s.pending, at, compareIDs)
		if sr.r.in.err != nil {
			return
		}
		if !ok {
			sr.r.fault("a consumer has a pending message that its group does not have")
			continue
		}
		p := s.pending[i]
		if n := len(s.claims); n == batchItems || n > 0 && (s.claims[0].time != p.time || s.claims[0].count != p.count) {
			sr.claim()
		}
		s.claims = append(s.claims, p)
	}
	if s.acks == 0 {
		sr.claim()
	}
}

// claim creates the command that makes messages pending.
func (sr streamReader) claim() {
	s := &sr.r.stream
	if len(s.claims) == 0 {
		return
	}
	f := sr.r.command("XCLAIM", 10+len(s.claims))
	f.Add(sr.r.key)
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
