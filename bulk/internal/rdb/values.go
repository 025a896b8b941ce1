package rdb

// Types of values.
const (
	typeString       = 0
	typeList         = 1
	typeSet          = 2
	typeZSetText     = 3 // scores stored as text
	typeHash         = 4
	typeZSet         = 5
	typeModule       = 7
	typeHashZipmap   = 9
	typeListZiplist  = 10
	typeSetIntset    = 11
	typeZSetZiplist  = 12
	typeHashZiplist  = 13
	typeListZiplists = 14
	typeStream1      = 15 // Redis 5.0
	typeHashListpack = 16
	typeZSetListpack = 17
	typeList2        = 18 // listpacks and large elements
	typeStream2      = 19 // Redis 7.0
	typeSetListpack  = 20
	typeStream3      = 21 // Redis 7.2: consumers with a time of last activity
	typeHashTTL      = 24 // Redis 7.4: fields that expire
	typeHashTTLPack  = 25
)

// Limits of one command. A server serves no other client while it executes a command.
const (
	batchItems = 128
	batchBytes = 32 << 10
)

// values reads the elements of a list, set, sorted set or hash.
type values struct {
	kind    byte
	command string
	size    int    // elements per value: 1; 2: field and value, or member and score
	left    uint64 // number of unread values, or of unread packed strings
	nodes   bool   // left counts packed strings
	packed  packed
	pushed  int64 // number of list elements so far
	ttl     bool  // each field has an expiry
	base    int64 // the stored expiries are relative to it

	data  []byte  // the elements of a batch
	ends  []int   // the end of each element in data
	times []int64 // the expiry of each field in data, if ttl is set
}

// open starts reading a value. It returns false if kind is not the type of a list, set, sorted set
// or hash.
func (v *values) open(r *Reader, kind byte) bool {
	*v = values{kind: kind, size: 1, data: v.data, ends: v.ends, times: v.times}
	layout := listpack
	switch kind {
	case typeList, typeListZiplist, typeListZiplists, typeList2:
		v.command = "RPUSH"
	case typeSet, typeSetIntset, typeSetListpack:
		v.command = "SADD"
	case typeZSet, typeZSetText, typeZSetZiplist, typeZSetListpack:
		v.command, v.size = "ZADD", 2
	case typeHash, typeHashZipmap, typeHashZiplist, typeHashListpack, typeHashTTL, typeHashTTLPack:
		v.command, v.size = "HSET", 2
	default:
		return false
	}
	switch kind {
	case typeHashTTL:
		v.ttl, v.base = true, int64(r.in.uint64())
		v.left = r.number()
		return true
	case typeList, typeSet, typeZSet, typeZSetText, typeHash:
		v.left = r.number()
		return true
	case typeListZiplists, typeList2:
		v.left, v.nodes = r.number(), true
		return true
	case typeHashTTLPack:
		v.ttl = true
		r.in.uint64()
	case typeListZiplist, typeZSetZiplist, typeHashZiplist:
		layout = ziplist
	case typeHashZipmap:
		layout = zipmap
	case typeSetIntset:
		layout = intset
	}
	v.unpack(r, layout)
	return true
}

// unpack reads a packed string and opens it.
func (v *values) unpack(r *Reader, l layout) {
	r.blob = r.appendText(reuse(r.blob))
	v.packed.open(l, r.blob)
}

// batch reads some elements and creates the commands that add them.
func (r *Reader) batch() {
	v := &r.values
	v.data, v.ends, v.times = reuse(v.data), v.ends[:0], v.times[:0]
	more := true
	for more && len(v.ends) < batchItems && len(v.data) < batchBytes {
		more = v.next(r)
	}
	if r.in.err != nil {
		return
	}
	if len(v.ends) > 0 && r.bad == "" {
		if v.command == "RPUSH" {
			v.addToList(r)
		} else {
			v.replace(r)
			v.add(r)
		}
	}
	if !more {
		r.finish()
	}
}

// next reads one value. It returns false at the end.
func (v *values) next(r *Reader) bool {
	for {
		if first, ok := v.packed.next(); ok {
			v.nextPacked(r, first)
			return true
		}
		if v.packed.bad {
			r.fault("its elements are damaged")
			v.packed = packed{}
		}
		if v.left == 0 || r.in.err != nil {
			return false
		}
		v.left--
		if !v.nodes {
			v.nextPlain(r)
			return true
		}
		if v.kind == typeListZiplists {
			v.unpack(r, ziplist)
			continue
		}
		const plain, several = 1, 2
		switch container := r.number(); container {
		case plain:
			v.push(r.appendText(v.data))
			return true
		case several:
			v.unpack(r, listpack)
		default:
			if r.in.err == nil {
				r.damaged("a list has a node of kind %d", container)
			}
			return false
		}
	}
}

// push records an element. data is v.data with the element appended.
func (v *values) push(data []byte) {
	v.data = data
	v.ends = append(v.ends, len(data))
}

// nextPlain reads a value that is not packed.
func (v *values) nextPlain(r *Reader) {
	expires := int64(0)
	if v.ttl {
		if n := r.number(); n > 0 {
			expires = v.base + int64(n) - 1
		}
	}
	v.push(r.appendText(v.data))
	switch v.kind {
	case typeHash, typeHashTTL:
		v.push(r.appendText(v.data))
	case typeZSet:
		v.push(r.appendBinaryFloat(v.data))
	case typeZSetText:
		v.push(r.appendFloat(v.data))
	}
	v.expire(r, expires)
}

// nextPacked reads a packed value, whose first element was read already.
func (v *values) nextPacked(r *Reader, first []byte) {
	v.push(append(v.data, first...))
	if v.size == 1 {
		return
	}
	second, ok := v.packed.next()
	if !ok {
		r.fault("its last element is missing")
	}
	v.push(append(v.data, second...))
	if !v.ttl {
		return
	}
	digits, ok := v.packed.next()
	expires, number := parseInt(digits)
	if !ok || !number {
		r.fault("the expiry of a field is missing")
	}
	v.expire(r, expires)
}

// expire records the expiry of the last field, and removes the field if it has expired.
func (v *values) expire(r *Reader, at int64) {
	switch {
	case !v.ttl:
	case at > 0 && at <= r.now:
		v.ends = v.ends[:len(v.ends)-2]
		v.data = v.data[:v.end(len(v.ends))]
	default:
		v.times = append(v.times, at)
	}
}

// end returns the end of the first n elements in data.
func (v *values) end(n int) int {
	if n == 0 {
		return 0
	}
	return v.ends[n-1]
}

func (v *values) element(i int) []byte { return v.data[v.end(i):v.ends[i]] }

// replace creates an UNLINK of the key, unless commands for the key have already been created.
func (v *values) replace(r *Reader) {
	if !r.begun {
		r.command("UNLINK", 1).Add(r.key)
	}
}

// addToList creates a transaction that adds a batch to a list. The transaction can be repeated,
// because it first removes all elements after the elements of the earlier batches.
func (v *values) addToList(r *Reader) {
	r.repeatable = true
	r.command("MULTI", 0)
	if v.replace(r); r.begun {
		f := r.command("LTRIM", 3)
		f.Add(r.key)
		f.Add([]byte("0"))
		addInt(f, v.pushed-1)
	}
	v.add(r)
	r.command("EXEC", 0)
	v.pushed += int64(len(v.ends))
}

// add creates the commands that add a batch.
func (v *values) add(r *Reader) {
	f := r.command(v.command, 1+len(v.ends))
	f.Add(r.key)
	swap := 0
	if v.command == "ZADD" { // the score comes first
		swap = 1
	}
	for i := range v.ends {
		f.Add(v.element(i ^ swap))
	}
	for i := 0; i < len(v.times); {
		end := i + 1
		for end < len(v.times) && v.times[end] == v.times[i] {
			end++
		}
		if v.times[i] > 0 {
			v.expireFields(r, i, end)
		}
		i = end
	}
}

// expireFields creates the command that sets the common expiry of the fields [from, to).
func (v *values) expireFields(r *Reader, from, to int) {
	f := r.command("HPEXPIREAT", 4+to-from)
	f.Add(r.key)
	addInt(f, v.times[from])
	f.Add([]byte("FIELDS"))
	addInt(f, int64(to-from))
	for i := from; i < to; i++ {
		f.Add(v.element(2 * i))
	}
}

// parseInt parses a decimal number from a listpack.
func parseInt(text []byte) (n int64, ok bool) {
	digits := text
	if len(text) > 0 && text[0] == '-' {
		digits = text[1:]
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, len(digits) > 0
}
