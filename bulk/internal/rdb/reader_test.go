package rdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"retwis/bulk/resp"
	"retwis/internal/redistest"
	"retwis/internal/require"
)

// now is the time at which the tests read snapshots.
var now = time.UnixMilli(2_000_000_000_000)

// build returns a snapshot assembled from parts.
func build(version int, parts ...string) []byte {
	data := fmt.Appendf(nil, "REDIS%04d%s\xff", version, strings.Join(parts, ""))
	if version < 5 {
		return data
	}
	return binary.LittleEndian.AppendUint64(data, checksum(0, data))
}

// text encodes a short string.
func text(s string) string {
	if len(s) < 64 {
		return string([]byte{byte(len(s))}) + s
	}
	return string(binary.BigEndian.AppendUint32([]byte{0x80}, uint32(len(s)))) + s
}

// key encodes the type and the name of a key.
func key(kind byte, name string) string { return string([]byte{kind}) + text(name) }

func le32(n int) string    { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }
func le64(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }

// read returns the commands of a snapshot as text, and the errors.
func read(r io.Reader, opt Options) (commands []string, failed []error) {
	if opt.Now.IsZero() {
		opt.Now = now
	}
	reader := NewReader(r, opt)
	var f resp.Frame
	for {
		err := reader.Next(&f)
		var key *KeyError
		switch {
		case errors.As(err, &key):
			failed = append(failed, err)
		case errors.Is(err, io.EOF):
			return commands, failed
		case err != nil:
			return commands, append(failed, err)
		default:
			commands = append(commands, resp.Text(f.Raw()))
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		version int
		parts   []string
		want    string
	}{
		"empty":              {12, nil, ""},
		"version 1":          {1, []string{"\xfe\x00", key(0, "a"), text("1")}, "SELECT 0; SET a 1"},
		"numbers":            {6, []string{key(0, "a"), "\xc0\xff", key(0, "b"), "\xc1\x00\x80", key(0, "c"), "\xc2\xff\xff\xff\x7f"}, "SET a -1; SET b -32768; SET c 2147483647"},
		"14 bits":            {6, []string{key(0, "a"), "\x40\x03abc"}, "SET a abc"},
		"64 bits":            {6, []string{key(0, "a"), "\x81\x00\x00\x00\x00\x00\x00\x00\x03abc"}, "SET a abc"},
		"LZF":                {6, []string{key(0, "a"), "\xc3\x05\x0a\x01ab\xc0\x01"}, "SET a ababababab"},
		"expiries":           {9, []string{"\xfd" + le32(2_000_000_001), key(0, "a"), text("1"), "\xfc" + le64(2_000_000_000_001), key(0, "b"), text("2"), key(0, "c"), text("3")}, "SET a 1 PXAT 2000000001000; SET b 2 PXAT 2000000000001; SET c 3"},
		"expired":            {9, []string{"\xfc" + le64(2_000_000_000_000), key(1, "a"), "\x02", text("1"), text("2"), "\xfd" + le32(1), key(0, "b"), text("2"), key(0, "c"), text("3")}, "SET c 3"},
		"idle, frequency":    {9, []string{"\xfa" + text("redis-ver") + text("9"), "\xfb\x01\x00", "\xf8\x05", key(0, "a"), text("1"), "\xf9\x05", key(0, "b"), text("2"), "\xf4\x01\x02\x03"}, "SET a 1; SET b 2"},
		"scripts":            {9, []string{"\xfa" + text("lua") + text("return 1")}, `SCRIPT LOAD "return 1"`},
		"function":           {10, []string{"\xf5" + text("code")}, "FUNCTION LOAD REPLACE code"},
		"list":               {9, []string{"\xfc" + le64(math.MaxInt64), key(1, "a"), "\x02", text("x"), text("")}, `MULTI; UNLINK a; RPUSH a x ""; EXEC; PEXPIREAT a 9223372036854775807`},
		"set":                {9, []string{key(2, "a"), "\x01", text("x")}, "UNLINK a; SADD a x"},
		"text scores":        {7, []string{key(3, "a"), "\x03", text("x"), "\x031.5", text("y"), "\xfe", text("z"), "\xff"}, "UNLINK a; ZADD a 1.5 x +inf y -inf z"},
		"scores":             {8, []string{key(5, "a"), "\x01", text("x"), le64(math.Float64bits(0.1))}, "UNLINK a; ZADD a 0.1 x"},
		"hash":               {9, []string{key(4, ""), "\x01", text("f"), text("v")}, `UNLINK ""; HSET "" f v`},
		"empty list":         {9, []string{key(1, "a"), "\x00"}, ""},
		"zipmap":             {2, []string{key(9, "a"), text("\x02\x01f\x02\x00vv\x01g\x01\x03w...\xff")}, "UNLINK a; HSET a f vv g w"},
		"long zipmap":        {2, []string{key(9, "a"), text("\x01\xfe\x03\x00\x00\x00fff\xfe\x02\x00\x00\x00\x00vv\xff")}, "UNLINK a; HSET a fff vv"},
		"intset":             {9, []string{key(11, "a"), text(le32(2) + le32(2) + "\xff\xff\x05\x00")}, "UNLINK a; SADD a -1 5"},
		"ziplist":            {9, []string{key(10, "a"), text(ziplistOf("\x00\x01x", "\x03\xfe\xff", "\x03\xf1", "\x02\xfd", "\x02\xc0\x00\x01", "\x04\xf0\x00\x00\x80", "\x05\xd0\x01\x00\x00\x00", "\x06\xe0\xff\xff\xff\xff\xff\xff\xff\xff", "\xfe\x0a\x00\x00\x00\x40\x02yz", "\x05\x80\x00\x00\x00\x01w"))}, "MULTI; UNLINK a; RPUSH a x -1 0 12 256 -8388608 1 -1 yz w; EXEC"},
		"fields expire":      {12, []string{key(24, "a"), le64(2_000_000_000_005), "\x04", "\x00", text("f"), text("1"), "\x01", text("g"), text("2"), "\x03", text("h"), text("3"), "\x03", text("i"), text("4")}, "UNLINK a; HSET a f 1 g 2 h 3 i 4; HPEXPIREAT a 2000000000005 FIELDS 1 g; HPEXPIREAT a 2000000000007 FIELDS 2 h i"},
		"fields expired":     {12, []string{key(24, "a"), le64(1), "\x02", "\x01", text("g"), text("2"), "\x00", text("h"), text("3")}, "UNLINK a; HSET a h 3"},
		"all fields expired": {12, []string{"\xfc" + le64(math.MaxInt64), key(24, "a"), le64(1), "\x01", "\x01", text("g"), text("2")}, ""},
		"long list":          {9, []string{key(1, "a"), "\x40\xc8", strings.Repeat(text("x"), 200)}, "MULTI; UNLINK a; RPUSH a x x x x x x x x x x … (118 more); EXEC; MULTI; LTRIM a 0 127; RPUSH a x x x x x x x x x x … (62 more); EXEC"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := build(test.version, test.parts...)
			got, failed := read(iotest.OneByteReader(bytes.NewReader(data)), Options{})
			if strings.Join(got, "; ") != test.want || failed != nil {
				t.Errorf("%s, %v; want %s", strings.Join(got, "; "), failed, test.want)
			}
		})
	}
}

// ziplistOf returns a ziplist of encoded elements.
func ziplistOf(elements ...string) string {
	body := strings.Join(elements, "")
	return le32(11+len(body)) + le32(0) + "\x00\x00" + body + "\xff"
}

// listpackOf returns a listpack of short strings.
func listpackOf(elements ...string) string {
	var body strings.Builder
	for _, e := range elements {
		body.WriteString(string([]byte{0x80 | byte(len(e))}) + e + string([]byte{byte(len(e) + 1)}))
	}
	return le32(7+body.Len()) + "\x00\x00" + body.String() + "\xff"
}

// module encodes the ID of the module with the given name.
func module(name string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	id := uint64(0)
	for _, c := range name {
		id = id<<6 | uint64(strings.IndexRune(letters, c))
	}
	return string(binary.BigEndian.AppendUint64([]byte{0x81}, id<<10|3))
}

// TestBadKeys checks that reading continues after a key that cannot be loaded, and that no part of
// the key remains.
func TestBadKeys(t *testing.T) {
	t.Parallel()
	after := key(0, "after") + text("1")
	long := strings.Repeat(text("x"), 200)
	for name, test := range map[string]struct {
		part    string
		partial bool // commands of the key precede the fault
		reason  string
	}{
		"module": {
			key(7, "doc") + module("ReJSON-RL") + "\x02\x07\x01\x05\x03abcd\x04abcdefgh\x05" + text("x") + "\x05\xc1xx\x05\xc3\x02\x09xx\x00", false,
			"the key doc of database 0 cannot be loaded: it is a value of the module ReJSON-RL: ",
		},
		"data of a module":      {"\xf7" + module("search-x1") + "\x02\x01\x05" + text("x") + "\x00", false, "the snapshot has data of the module search-x1 that belongs to no key"},
		"not a number":          {key(5, "z") + "\x01" + text("a") + le64(math.Float64bits(math.NaN())), false, "a score is not a number"},
		"text is not a number":  {key(3, "z") + "\x01" + text("a") + "\xfd", false, "a score is not a number"},
		"intset":                {key(11, "s") + text(le32(3)+le32(1)+"abc"), false, "its elements are damaged"},
		"short intset":          {key(11, "s") + text(le32(4)+le32(2)+"abcd"), false, "its elements are damaged"},
		"listpack":              {key(20, "s") + text("\x09\x00\x00\x00\x01\x00\x83ab"), false, "its elements are damaged"},
		"listpack without end":  {key(20, "s") + text("\x08\x00\x00\x00\x01\x00\x01\x01"), false, "its elements are damaged"},
		"ziplist":               {key(10, "l") + text(ziplistOf("\x00\x3fx")), false, "its elements are damaged"},
		"zipmap":                {key(9, "l") + text("\x02\x01f\x09\x00vv\xff"), false, "its last element is missing"},
		"half a pair":           {key(16, "h") + text(listpackOf("f", "v", "g")), false, "its last element is missing"},
		"no expiry":             {key(25, "h") + le64(1) + text(listpackOf("f", "v", "x")), false, "the expiry of a field is missing"},
		"LZF":                   {key(0, "a") + "\xc3\x05\x09\x01ab\xc0\x01", false, "a compressed string is damaged"},
		"after the first parts": {key(18, "l") + "\x43\x00" + strings.Repeat("\x02"+text(listpackOf("x")), 767) + "\x02" + text("bad"), true, "its elements are damaged"},
		"stream":                {key(15, "s") + "\x01" + text("0123456789abcdef") + text("bad") + "\x00\x00\x00\x00", false, "its messages are damaged"},
		"pending":               {key(15, "s") + "\x00\x00\x00\x00\x01" + text("g") + "\x00\x00\x00\x01" + text("c") + le64(1) + "\x01" + "0123456789abcdef", true, "a consumer has a pending message that its group does not have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, failed := read(bytes.NewReader(build(12, key(2, "before")+"\x40\xc8"+long, test.part, after)), Options{})
			if len(failed) != 1 || !strings.Contains(failed[0].Error(), test.reason) {
				t.Fatalf("errors %v, want one with %q", failed, test.reason)
			}
			if len(got) < 4 || got[0] != "UNLINK before" || got[len(got)-1] != "SET after 1" {
				t.Fatalf("commands %q, want those of the keys before and after the bad key", got)
			}
			badKey := got[3 : len(got)-1]
			if test.partial != (len(badKey) > 0) || test.partial && !strings.HasPrefix(badKey[len(badKey)-1], "UNLINK ") {
				t.Errorf("commands of the bad key: %q, want some: %v, with the removal of the key at the end", badKey, test.partial)
			}
		})
	}
}

// TestDamaged checks the errors of damaged snapshots.
func TestDamaged(t *testing.T) {
	t.Parallel()
	valid := build(12, key(0, "a"), text("1"))
	wrongSum := bytes.Clone(valid)
	wrongSum[len(wrongSum)-1] ^= 1
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"another kind":  {[]byte("REDIScover\n"), "byte 0: this is not a snapshot (RDB) of Redis or Valkey"},
		"newer":         {[]byte("REDIS0013\xff"), "of version 13, and only versions up to 12,"},
		"Valkey 9":      {[]byte("VALKEY080\xff"), "of version 80, and only versions up to 12,"},
		"checksum":      {wrongSum, "byte 15: the checksum of the snapshot (RDB) is wrong"},
		"type":          {build(12, "\x08"+text("k")), "damaged: there is no type 8 (of the key k)"},
		"length":        {build(12, key(0, "a")+"\x82"), "byte 13: the snapshot (RDB) is damaged: expected a length"},
		"encoding":      {build(12, key(0, "a")+"\xc4"), "there is no encoding 4 of strings"},
		"number":        {build(12, key(1, "a")+"\xc0\x01"), "expected a number, found an encoded string"},
		"node":          {build(12, key(18, "a")+"\x01\x03"), "a list has a node of kind 3"},
		"module":        {build(12, key(7, "a")+"\x01\x06"), "a module's value has a part of kind 6"},
		"database":      {build(12, "\xfe\x80\xff\xff\xff\xff"), "there is no database 4294967295"},
		"stream":        {build(12, key(15, "s")+"\x01"+text("short")), "a node of a stream has an id of 5 bytes"},
		"old module":    {build(12, key(6, "m")), "there is no type 6"},
		"without a sum": {append(valid[:len(valid)-8:len(valid)-8], make([]byte, 8)...), ""},
	} {
		_, failed := read(bytes.NewReader(test.data), Options{})
		var inputErr *resp.InputError
		if test.want == "" && failed != nil || test.want != "" && (len(failed) != 1 || !errors.As(failed[0], &inputErr) || !strings.Contains(failed[0].Error(), test.want)) {
			t.Errorf("%s: errors %v, want an InputError with %q", name, failed, test.want)
		}
	}
}

// TestTruncated truncates server snapshots at many offsets; with the build tag long, at each
// offset.
func TestTruncated(t *testing.T) {
	t.Parallel()
	step := 25
	if redistest.Long {
		step = 1
	}
	for _, data := range snapshots(t) {
		complete, _ := read(bytes.NewReader(data), Options{})
		for cut := rand.IntN(step); cut < len(data); cut += step {
			got, failed := read(bytes.NewReader(data[:cut]), Options{})
			if len(failed) != 1 || !strings.Contains(failed[0].Error(), "truncated") {
				t.Fatalf("cut at %d: errors %v, want one about truncation", cut, failed)
			}
			n := 0
			for n < len(got) && got[n] == complete[n] {
				n++
			}
			extra := got[n:] // at most the removal of the last key
			if len(extra) > 1 || len(extra) == 1 && !strings.HasPrefix(extra[0], "UNLINK ") {
				t.Fatalf("cut at %d: %q after the same commands, want at most an UNLINK", cut, extra)
			}
			if n < len(complete) && n > 0 && len(extra) == 0 && sameKey(complete[n-1], complete[n]) {
				t.Fatalf("cut at %d: %q without %q, want the removal of the key", cut, complete[n-1], complete[n])
			}
		}
	}
}

// sameKey reports whether first removes the key to which second adds elements.
func sameKey(first, second string) bool {
	a, b := strings.Fields(first), strings.Fields(second)
	return a[0] == "UNLINK" && b[0] != "SET" && b[0] != "SELECT" && a[1] == b[1]
}

// snapshots returns the snapshots that servers wrote, by path.
func snapshots(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/servers/*/dump.rdb")
	if err != nil || len(paths) == 0 {
		t.Fatal("there are no snapshots of servers", err)
	}
	files := make(map[string][]byte)
	for _, path := range paths {
		if files[path], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestRedis6 checks that the commands for Redis 6 use no options of Redis 7.0.
func TestRedis6(t *testing.T) {
	t.Parallel()
	for path, data := range snapshots(t) {
		for _, redis6 := range []bool{false, true} {
			got, _ := read(bytes.NewReader(data), Options{Redis6: redis6})
			if newer := strings.Contains(strings.Join(got, "\n"), "ENTRIES"); newer == redis6 {
				t.Errorf("%s with Redis6 = %v: commands of Redis 7.0: %v, want %v", path, redis6, newer, !redis6)
			}
		}
	}
}

// TestMemory checks that the reader holds little data while it reads a list of 2,000,000 elements.
func TestMemory(t *testing.T) {
	t.Parallel()
	const elements = 2_000_000
	head := "REDIS0003" + key(1, "list") + "\x80" + string(binary.BigEndian.AppendUint32(nil, elements))
	part := strings.NewReader(strings.Repeat(text("element"), elements/1000))
	parts := []io.Reader{strings.NewReader(head)}
	for range 1000 {
		parts = append(parts, io.NewSectionReader(part, 0, part.Size()))
	}
	reader := NewReader(io.MultiReader(append(parts, strings.NewReader("\xff"))...), Options{Now: now})
	var f resp.Frame
	pushed := 0
	for {
		err := reader.Next(&f)
		if errors.Is(err, io.EOF) {
			break
		}
		require.OK(t)(err)
		if string(f.Arg(0)) == "RPUSH" {
			pushed += f.Len() - 2
		}
		if size := len(reader.in.buf) + cap(reader.blob) + cap(reader.values.data) + cap(f.Raw()); size > 1<<20 || len(reader.queue) > 10 {
			t.Fatalf("the reader holds %d bytes and %d commands, want at most 1 MiB and 10", size, len(reader.queue))
		}
	}
	if pushed != elements {
		t.Errorf("%d elements, want %d", pushed, elements)
	}
}

// TestRest checks that Rest returns the data after a snapshot.
func TestRest(t *testing.T) {
	t.Parallel()
	data := build(9, key(0, "a"), text("1"))
	for _, r := range []io.Reader{bytes.NewReader(append(bytes.Clone(data), "rest"...)), iotest.OneByteReader(bytes.NewReader(append(bytes.Clone(data), "rest"...)))} {
		reader := NewReader(r, Options{Offset: 100, Now: now})
		var f resp.Frame
		for reader.Next(&f) == nil {
		}
		rest, offset := reader.Rest()
		if text, err := io.ReadAll(rest); string(text) != "rest" || err != nil || offset != int64(100+len(data)) {
			t.Errorf("Rest = %q at %d, %v; want \"rest\" at %d", text, offset, err, 100+len(data))
		}
	}
}

// FuzzReader checks that damaged snapshots cause no panic, no endless loop and no memory use out of
// proportion to the input.
func FuzzReader(f *testing.F) {
	for _, data := range snapshots(f) {
		f.Add(data)
	}
	f.Add(build(12, key(7, "doc"), module("ReJSON-RL"), "\x05\xc3\x02\x09xx\x00"))
	f.Add(build(2, key(9, "a"), text("\x02\x01f\x02\x00vv\xff")))
	f.Fuzz(func(t *testing.T, data []byte) {
		reader := NewReader(bytes.NewReader(data), Options{Now: now})
		var frame, check resp.Frame
		for {
			err := reader.Next(&frame)
			var key *KeyError
			if errors.As(err, &key) {
				continue
			}
			if err != nil {
				break
			}
			if err := resp.Parse(frame.Raw(), &check); err != nil || check.Len() != frame.Len() {
				t.Fatalf("command %q: Parse: %v, %d arguments; want %d", frame.Raw(), err, check.Len(), frame.Len())
			}
		}
		// A byte of LZF expands to at most 88 bytes.
		if limit := 90*len(data) + 16<<20; cap(reader.blob)+cap(reader.values.data)+cap(reader.compressed)+32*cap(reader.stream.pending) > limit {
			t.Fatalf("the reader holds %d, %d and %d bytes after an input of %d", cap(reader.blob), cap(reader.values.data), cap(reader.compressed), len(data))
		}
	})
}

func BenchmarkReader(b *testing.B) {
	var parts strings.Builder
	for i := range 1000 {
		parts.WriteString(key(0, fmt.Sprint("string:", i)) + text("value"))
		parts.WriteString(key(16, fmt.Sprint("hash:", i)) + text(listpackOf("name", "Ada", "city", "London", "born", "1815")))
		parts.WriteString(key(18, fmt.Sprint("list:", i)) + "\x01\x02" + text(listpackOf("a", "b", "c", "d", "e", "f", "g", "h")))
	}
	data := build(11, parts.String())
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(bytes.NewReader(data), Options{Now: now})
		var f resp.Frame
		n := 0
		for r.Next(&f) == nil {
			n++
		}
		if n != 7000 {
			b.Fatalf("read %d commands, want 7000", n)
		}
	}
}
