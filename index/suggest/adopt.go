package suggest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	engine "retwis/internal/maintain"
	"retwis/internal/partition"
	"retwis/maintain"
)

// ErrOutdated is returned for an index that an older version of this package made,
// in which different spellings were one term. Adopt makes it one of this version.
var ErrOutdated = errors.New("the index is of an older version")

// What an index remembers of itself before its declaration while it is adopted:
// when the new entries are made, and when they take the place of the old.
const (
	filling  = "to be adopted: "
	swapping = "adopted: "
)

// outdated says what to do with an index that is not one of this version.
func outdated(key string, d partition.Declaration) error {
	command := fmt.Sprintf("%q", "retwis suggest adopt "+key)
	switch {
	case d.Kind != kind || d.Text == format || strings.HasPrefix(d.Text, format+", "):
		return nil
	case strings.HasPrefix(d.Text, filling), strings.HasPrefix(d.Text, swapping):
		return fmt.Errorf("%w: its adoption has not come to its end: wait, or run Adopt or %s again", ErrOutdated, command)
	}
	return fmt.Errorf("%w, in which different spellings were one term: run Adopt or %s once", ErrOutdated, command)
}

// Adopt makes an index of entries that are normalised:count:original, as in the
// tutorial: of a sorted set that somebody made by hand, or of an index that an older
// version made, whose options it keeps. Each original becomes a term with its count;
// what was blocked stays so. It reads and writes some hundred entries at a time, and
// puts the new ones in the place of the old in the end. Meanwhile the index answers
// nobody, with ErrOutdated. It can be repeated, and goes on where it was cut short;
// of an index of this version it changes nothing.
//
// The report has in Checked how many terms there are. Where a sorted set that was
// made by hand has entries that cannot be read, they are told of as Dangling, and it
// fails with index.ErrValue and changes nothing: remove these first. An older index
// loses them.
func Adopt(ctx context.Context, client rueidis.Client, key string, opt Options, up maintain.Options) (report maintain.Report, err error) {
	a, err := newAdoption(ctx, client, key, opt, up)
	if err == nil && a != nil {
		err = a.run(ctx)
		report = a.Report
	}
	if err != nil {
		return report, fmt.Errorf("suggest: %q: %w", key, err)
	}
	return report, nil
}

// adoption is one run of Adopt.
type adoption struct {
	*engine.Run
	x      *Index
	id     string
	was    string // what is declared now; only of an index
	byHand bool   // nothing is declared
	batch  []term
}

// newAdoption finds out what is to be adopted; nil: there is nothing to do.
func newAdoption(ctx context.Context, client rueidis.Client, key string, opt Options, up maintain.Options) (*adoption, error) {
	a := &adoption{Run: engine.Start(up), id: rand.Text()}
	d, err := partition.Read(ctx, client, key)
	switch {
	case errors.Is(err, index.ErrNotFound):
		a.byHand = true
	case err != nil:
		return nil, err
	case d.Kind != kind:
		return nil, fmt.Errorf("%w: it is %s", index.ErrDeclared, d)
	case outdated(key, d) == nil:
		return nil, nil
	default:
		a.was = d.Text
		text := strings.TrimPrefix(strings.TrimPrefix(d.Text, filling), swapping)
		if opt, err = parseDeclaration(strings.TrimPrefix(strings.TrimPrefix(text, format), ", ")); err != nil {
			return nil, err
		}
		opt.Partitions = d.Partitions
	}
	if a.byHand && opt.Partitions > 1 {
		return nil, fmt.Errorf("%w: a sorted set that was made by hand is in one partition", index.ErrValue)
	}
	a.x, err = New(client, key, opt)
	return a, err
}

func (a *adoption) run(ctx context.Context) error {
	if a.byHand {
		if err := a.readable(ctx); err != nil {
			return err
		}
	}
	var err error
	if strings.HasPrefix(a.was, swapping) {
		a.id, err = a.x.set.Client.Do(ctx, a.x.set.Client.B().Hget().Key(a.base()).Field("adopted").Build()).ToString()
	} else {
		err = a.make(ctx)
	}
	if err != nil {
		return err
	}
	for p := range a.x.keys {
		if err := a.step(ctx, p, "end"); err != nil {
			return err
		}
	}
	if err := a.declare(ctx, a.target()); err != nil {
		return err
	}
	return a.x.set.Client.Do(ctx, a.x.set.Client.B().Hdel().Key(a.base()).Field("adopted").Build()).Error()
}

// target is what is declared in the end.
func (a *adoption) target() string { return a.x.set.Declaration().Text }

// base is the hash with the declaration of all partitions.
func (a *adoption) base() string { return a.x.set.Key + ".meta" }

// declare writes down how far an index in several partitions is. One in a single
// partition has this in the keys of that.
func (a *adoption) declare(ctx context.Context, text string) error {
	if len(a.x.keys) == 1 {
		return nil
	}
	b := a.x.set.Client.B()
	return a.x.set.Client.Do(ctx, b.Hset().Key(a.base()).FieldValue().FieldValue("declaration", text).FieldValue("adopted", a.id).Build()).Error()
}

// readable fails where a sorted set that was made by hand has something that cannot
// be read.
func (a *adoption) readable(ctx context.Context) error {
	found := false
	err := a.scan(ctx, 0, func(_ []string, pairs []string) error {
		for i := 0; i < len(pairs); i += 2 {
			found = true
			if _, err := a.termOf(pairs[i], ""); err != nil {
				a.unreadable(pairs[i])
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("%w: there is no sorted set", index.ErrNotFound)
	case a.Report.Dangling > 0:
		return fmt.Errorf("%w: %d entries are not normalised:count:original: nothing is changed", index.ErrValue, a.Report.Dangling)
	}
	return nil
}

func (a *adoption) unreadable(entry string) {
	a.Found(maintain.Problem{Kind: maintain.Dangling, Found: fmt.Sprintf("%q", entry)})
}

// make makes the new entries beside the old.
func (a *adoption) make(ctx context.Context) error {
	if err := a.declare(ctx, filling+a.target()); err != nil {
		return err
	}
	for p := range a.x.keys {
		was := a.was
		if len(a.x.keys) > 1 { // a partition that nobody has written to has none
			var err error
			was, err = a.x.set.Client.Do(ctx, a.x.set.Client.B().Hget().Key(a.x.keys[p].Meta).Field("declaration").Build()).ToString()
			if err != nil && !rueidis.IsRedisNil(err) {
				return err
			}
		}
		if err := a.step(ctx, p, "begin", was, filling+a.target()); err != nil {
			return err
		}
	}
	for p := range a.x.keys {
		if err := a.readContent(ctx, p); err != nil {
			return err
		}
		if err := a.scan(ctx, p, func(beside, pairs []string) error { return a.addEntries(ctx, beside, pairs) }); err != nil {
			return err
		}
		if err := a.block(ctx, p); err != nil {
			return err
		}
	}
	if err := a.flush(ctx); err != nil {
		return err
	}
	return a.declare(ctx, swapping+a.target())
}

// readContent adds what stands beside the entries of an older index, which is right.
func (a *adoption) readContent(ctx context.Context, p int) error {
	client, key := a.x.set.Client, a.x.keys[p].Content
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		page, err := client.Do(ctx, client.B().Hscan().Key(key).Cursor(cursor).Count(500).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(page.Elements); i += 2 {
			t, err := a.termOf(page.Elements[i]+":"+page.Elements[i+1], "")
			if err != nil {
				a.unreadable(page.Elements[i] + ":" + page.Elements[i+1])
				continue
			}
			if err := a.add(ctx, t); err != nil {
				return err
			}
		}
		cursor = page.Cursor
	}
	return nil
}

// addEntries adds entries beside which nothing stands.
func (a *adoption) addEntries(ctx context.Context, beside, pairs []string) error {
	for i := 0; i < len(pairs); i += 2 {
		t, err := a.termOf(pairs[i], beside[i/2])
		switch {
		case errors.Is(err, errBeside):
			continue
		case err != nil:
			a.unreadable(pairs[i])
			continue
		}
		if err := a.add(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// scan calls a function with the entries of a partition, each with its score, and
// with what stands beside each.
func (a *adoption) scan(ctx context.Context, p int, page func(beside, pairs []string) error) error {
	client, keys := a.x.set.Client, a.x.keys[p]
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		found, err := client.Do(ctx, client.B().Zscan().Key(keys.Index).Cursor(cursor).Count(500).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		for pairs := range slices.Chunk(found.Elements, 1000) {
			names := make([]string, len(pairs)/2)
			for i := range names {
				names[i] = nameOf(pairs[2*i])
			}
			reply, err := client.Do(ctx, client.B().Hmget().Key(keys.Content).Field(names...).Build()).ToArray()
			if err != nil {
				return err
			}
			beside := make([]string, len(reply))
			for i := range reply {
				beside[i], _ = reply[i].ToString() // none where there is nothing
			}
			if err := page(beside, pairs); err != nil {
				return err
			}
		}
		cursor = found.Cursor
	}
	return nil
}

// errBeside is said of an entry beside which something stands, which is right.
var errBeside = errors.New("it is not needed")

// termOf reads an entry normalised:count:original, or normalised:count.
func (a *adoption) termOf(entry, beside string) (term, error) {
	name, value, _ := strings.Cut(entry, ":")
	digits, original, spelled := strings.Cut(value, ":")
	if !spelled {
		original = name
	}
	if beside != "" {
		if digits, _, _ := strings.Cut(beside, ":"); digits != "" && strings.Trim(digits, "0123456789.") == "" {
			return term{}, errBeside
		}
	}
	key, err := a.x.key(strings.ReplaceAll(original, string(escapedColon), ":"))
	if err != nil {
		return term{}, err
	}
	t, ok := parseCount(key, digits)
	if !ok || name == "" {
		return term{}, errors.New("it is no entry")
	}
	if a.byHand && a.x.opt.HalfLife > 0 {
		t.count = math.Log2(t.count) + a.x.time()
	}
	return t, nil
}

// add puts a term into the new index, with others.
func (a *adoption) add(ctx context.Context, t term) error {
	if a.batch = append(a.batch, t); len(a.batch) < batchTerms*pipeline {
		return nil
	}
	return a.flush(ctx)
}

func (a *adoption) flush(ctx context.Context) error {
	parts := make([][]term, len(a.x.keys))
	for _, t := range a.batch {
		p := a.x.set.Index(nameOf(t.key))
		parts[p] = append(parts[p], t)
	}
	for p, terms := range parts {
		// A script must not have a key twice.
		slices.SortFunc(terms, func(a, b term) int { return strings.Compare(a.key, b.key) })
		terms = slices.CompactFunc(terms, func(a, b term) bool { return a == b })
		for len(terms) > 0 {
			n, bytes := 1, len(terms[0].key)
			for n < len(terms) && n < batchTerms && bytes < batchBytes && terms[n].key != terms[n-1].key {
				bytes += len(terms[n].key)
				n++
			}
			var args []string
			for _, t := range terms[:n] {
				args = append(args, t.key, strconv.FormatFloat(t.count, 'f', -1, 64))
			}
			if err := a.step(ctx, p, "fill", args...); err != nil {
				return err
			}
			terms = terms[n:]
		}
	}
	n := len(a.batch)
	a.batch = a.batch[:0]
	return a.Step(ctx, n)
}

// block lets what is blocked stay so, by the forms of this version.
func (a *adoption) block(ctx context.Context, p int) error {
	client, key := a.x.set.Client, a.x.keys[p].blocked
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		page, err := client.Do(ctx, client.B().Sscan().Key(key).Cursor(cursor).Count(500).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		for _, old := range page.Elements {
			name, err := a.x.name(strings.ReplaceAll(old, string(escapedColon), ":"))
			if err != nil || name == old && a.x.set.Index(name) == p {
				continue
			}
			if err := a.step(ctx, a.x.set.Index(name), "forms", "", name); err != nil {
				return err
			}
			if err := a.step(ctx, p, "forms", old, ""); err != nil {
				return err
			}
		}
		cursor = page.Cursor
	}
	return nil
}

// step runs adopt.lua in a partition.
func (a *adoption) step(ctx context.Context, p int, do string, args ...string) error {
	args = append(append(a.x.set.Args(), do, a.id), args...)
	return engine.Replaced(a.x.scripts.adopt.Run(ctx, a.x.set.Client, a.x.keys[p].all(), args).Error())
}
