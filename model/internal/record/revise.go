package record

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/model/internal/schema"
)

// revise writes a record that exists by revise.lua, which takes a fraction of the time of
// write.lua: if the record has the content that is known, or that it will have. It reports
// whether it has written the record; if not, write.lua must.
func (w writer) revise(ctx context.Context, c *change) (done bool, err error) {
	before, stored := c.before, c.stored
	if stored == "" {
		before, stored = c.entries, c.content
	}
	for range 2 {
		call, ok := w.reviseCall(c, before, stored)
		if !ok {
			return false, nil
		}
		reply, err := reviseScript.Run(ctx, w.t.Client, call.Keys, call.Args).ToMessage()
		w.t.Rows.Writes.Add(c.id)
		if _, refused := rueidis.IsRedisErr(err); refused {
			return false, nil // write.lua finds out why
		} else if err != nil {
			return false, err
		}
		if reply.IsArray() {
			c.values, err = parseTexts(reply)
			return true, err
		}
		found, err := reply.ToString()
		if err != nil || found == "OK" {
			return err == nil, err
		}
		if before, ok = w.entriesOf(schema.Content(found)); !ok || found == string(stored) {
			return false, nil
		}
		c.before, stored = before, schema.Content(found) // another writer, or Save, which has not read it
		if c.checked != nil {
			return false, nil
		}
	}
	return false, nil
}

// entriesOf returns the entries of a stored content, if all their indexes are known.
func (w writer) entriesOf(content schema.Content) (entries []schema.Entry, ok bool) {
	_, values, err := schema.Unpack(content)
	if err != nil {
		return nil, false
	}
	for _, v := range values {
		x := w.t.Schema.Numbered(v.Number)
		if x == nil {
			return nil, false
		}
		entries = append(entries, schema.Entry{Index: x, Value: v.Value})
	}
	return entries, true
}

// maxRevised is how many entries revise.lua enters or leaves at most.
const maxRevised = 100

// reviseCall returns the call of revise.lua for a record with some entries, or reports that
// there can be none.
func (w writer) reviseCall(c *change, before []schema.Entry, stored schema.Content) (call script.Call, ok bool) {
	if w.t.Schema.Expires >= 0 || c.now != 0 || len(c.other) > 0 || len(c.references) > 0 || c.expected == "+" {
		return call, false
	}
	p := w.t.Layout.Of(c.id)
	keys := append(make([]string, 0, 8), p.Content, p.Meta, p.All, p.Record(c.id))
	entered, left := without(c.entries, before), without(before, c.entries)
	if len(entered)+len(left) > maxRevised || !hasPlaces(entered) || !hasPlaces(left) {
		return call, false
	}
	position := func(key string) int {
		i := slices.Index(keys, key)
		if i < 0 {
			i, keys = len(keys), append(keys, key)
		}
		return i + 1
	}
	place := func(e schema.Entry) (at, directory int) {
		index := position(p.Indexes[e.Index.Place])
		if e.Index.PerValue {
			return position(w.t.Layout.ValueKey(p, e)), index
		}
		return index, 0
	}
	versionField, version, digest, checked := "", "", "", c.checked
	switch {
	case strings.HasPrefix(c.expected, "v"):
		versionField, version = w.t.Schema.Names[w.t.Schema.Version], c.expected[1:]
	case c.byContent:
		checked = nil
	case c.expected != "":
		digest = c.expected[1:]
	}
	args := append(make([]string, 0, 13+len(checked)+len(c.shown)+len(c.remove)+len(c.set)), w.t.Registry.Stamp(), c.id,
		string(stored), string(c.content), placed(0, entered, place), placed(0, left, place), versionField, version, digest)
	args = append(append(args, strconv.Itoa(len(checked))), checked...)
	args = append(args, strconv.Itoa(len(c.shown)))
	for _, field := range c.shown {
		args = append(args, w.t.Schema.Names[field])
	}
	args = append(append(args, strconv.Itoa(len(c.remove))), c.remove...)
	return script.Call{Keys: keys, Args: append(args, c.set...)}, true
}

// hasPlaces reports whether all indexes of entries are in the slot of the record.
func hasPlaces(entries []schema.Entry) bool {
	return !slices.ContainsFunc(entries, func(e schema.Entry) bool { return e.Index.Place < 0 })
}

// placed returns entries as enter.lua takes them. place returns the position of the key of
// an entry, and of the directory of a set.
func placed(due int64, entries []schema.Entry, place func(schema.Entry) (at, directory int)) string {
	const inSortedSet, inHash = 0, 1 // see enter.lua
	b := schema.PackInt(schema.PackList(nil, 1+3*len(entries)), due)
	for _, e := range entries {
		at, directory := place(e)
		switch {
		case e.Index.Unique:
			directory = inHash
		case !e.Index.PerValue:
			directory = inSortedSet
		}
		b = schema.PackText(schema.PackInt(schema.PackInt(b, int64(at)), int64(directory)), e.Value)
	}
	return string(b)
}

// determined reports whether the content of a record that is about to change follows from
// the one that it had, and from the fields that change. An entry of several columns does not
// show those that it has if one is absent; computed fields depend on any.
func (w writer) determined() bool {
	if len(w.t.Schema.Fields) > len(w.t.Schema.Names) {
		return false
	}
	for _, x := range w.t.Schema.Indexes {
		for _, f := range x.FieldNumbers {
			if len(x.FieldNumbers) > 1 && w.t.Schema.Fields[f].Optional() {
				return false
			}
		}
	}
	return true
}
