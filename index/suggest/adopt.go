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
	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
	"retwis/maintain"
)

// Adopt converts entries of the tutorial's form, normalized:count:original, to an index:
// from a sorted set made by hand, or from an index of an older version, whose options
// stay. Each original becomes a term with its count; blocked forms stay blocked. It reads
// and writes some hundred entries at a time, and replaces the old ones at the end. Until
// then all methods of the index return ErrOutdated. It can be repeated, and resumes an
// interrupted adoption; it does not change an index of this version.
//
// Checked in the report is the number of terms. If a sorted set made by hand has invalid
// entries, Adopt reports them as Dangling, returns index.ErrValue and changes nothing:
// remove these first. Invalid entries of an older index are dropped.
func Adopt(ctx context.Context, client rueidis.Client, key string, opt Options, run maintain.Options) (report maintain.Report, err error) {
	a, err := newAdoption(ctx, client, key, opt, run)
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
	was    string // the present declaration, of an index
	byHand bool   // there is no declaration
	batch  []term
}

// newAdoption inspects the key. It returns nil if there is nothing to do.
func newAdoption(ctx context.Context, client rueidis.Client, key string, opt Options, run maintain.Options) (*adoption, error) {
	a := &adoption{Run: engine.Start(run), id: rand.Text()}
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
		return nil, fmt.Errorf("%w: a sorted set made by hand has one partition", index.ErrValue)
	}
	a.x, err = New(client, key, opt)
	return a, err
}

func (a *adoption) run(ctx context.Context) error {
	if a.byHand {
		if err := a.validate(ctx); err != nil {
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
	for p := range a.x.completer.keys {
		if err := a.step(ctx, p, "end"); err != nil {
			return err
		}
	}
	if err := a.declare(ctx, a.target()); err != nil {
		return err
	}
	return a.x.set.Client.Do(ctx, a.x.set.Client.B().Hdel().Key(a.base()).Field("adopted").Build()).Error()
}

// target is the final declaration.
func (a *adoption) target() string { return a.x.set.Declaration().Text }

// base is the key of the hash with the declaration of all partitions.
func (a *adoption) base() string { return a.x.set.Key + ".meta" }

// declare stores the progress of an index of several partitions. adopt.lua stores that of
// a single partition.
func (a *adoption) declare(ctx context.Context, text string) error {
	if len(a.x.completer.keys) == 1 {
		return nil
	}
	b := a.x.set.Client.B()
	return a.x.set.Client.Do(ctx, b.Hset().Key(a.base()).FieldValue().FieldValue("declaration", text).FieldValue("adopted", a.id).Build()).Error()
}

// validate returns an error if a sorted set made by hand has invalid entries.
func (a *adoption) validate(ctx context.Context) error {
	found := false
	err := a.scan(ctx, 0, func(_ []string, pairs []string) error {
		for i := 0; i < len(pairs); i += 2 {
			found = true
			if _, err := a.termOf(pairs[i], ""); err != nil {
				a.invalid(pairs[i])
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
		return fmt.Errorf("%w: %d entries are not normalized:count:original: nothing was changed", index.ErrValue, a.Report.Dangling)
	}
	return nil
}

func (a *adoption) invalid(entry string) {
	a.Found(maintain.Problem{Kind: maintain.Dangling, Found: fmt.Sprintf("%q", entry)})
}

// make makes the new entries beside the old ones.
func (a *adoption) make(ctx context.Context) error {
	if err := a.declare(ctx, filling+a.target()); err != nil {
		return err
	}
	for p := range a.x.completer.keys {
		was := a.was
		if len(a.x.completer.keys) > 1 { // a partition without writes has no declaration
			var err error
			was, err = a.x.set.Client.Do(ctx, a.x.set.Client.B().Hget().Key(a.x.completer.keys[p].Meta).Field("declaration").Build()).ToString()
			if err != nil && !rueidis.IsRedisNil(err) {
				return err
			}
		}
		if err := a.step(ctx, p, "begin", was, filling+a.target()); err != nil {
			return err
		}
	}
	for p := range a.x.completer.keys {
		if err := a.readContent(ctx, p); err != nil {
			return err
		}
		if err := a.scan(ctx, p, func(values, pairs []string) error { return a.addEntries(ctx, values, pairs) }); err != nil {
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

// readContent adds the terms in the reverse index of an older index, which wins over its
// entries.
func (a *adoption) readContent(ctx context.Context, p int) error {
	for page, err := range scan.Hash(ctx, a.x.set.Client, a.x.completer.keys[p].Content, step) {
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(page); i += 2 {
			t, err := a.termOf(page[i]+":"+page[i+1], "")
			if err != nil {
				a.invalid(page[i] + ":" + page[i+1])
				continue
			}
			if err := a.add(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// addEntries adds entries that the reverse index lacks.
func (a *adoption) addEntries(ctx context.Context, values, pairs []string) error {
	for i := 0; i < len(pairs); i += 2 {
		t, err := a.termOf(pairs[i], values[i/2])
		switch {
		case errors.Is(err, errIndexed):
			continue
		case err != nil:
			a.invalid(pairs[i])
			continue
		}
		if err := a.add(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// scan calls a function with the entries of a partition and their scores, and with the
// value of each in the reverse index.
func (a *adoption) scan(ctx context.Context, p int, page func(values, pairs []string) error) error {
	client, keys := a.x.set.Client, a.x.completer.keys[p]
	for pairs, err := range scan.SortedSet(ctx, client, keys.Index, step) {
		if err != nil {
			return err
		}
		names := make([]string, len(pairs)/2)
		for i := range names {
			names[i] = nameOf(pairs[2*i])
		}
		reply, err := client.Do(ctx, client.B().Hmget().Key(keys.Content).Field(names...).Build()).ToArray()
		if err != nil {
			return err
		}
		values := make([]string, len(reply))
		for i := range reply {
			values[i], _ = reply[i].ToString() // "" without a value
		}
		if err := page(values, pairs); err != nil {
			return err
		}
	}
	return nil
}

// errIndexed is returned for an entry whose term is in the reverse index.
var errIndexed = errors.New("the reverse index has the term")

// termOf parses an entry normalized:count:original or normalized:count. indexed is the
// value of its form in the reverse index.
func (a *adoption) termOf(entry, indexed string) (term, error) {
	name, value, _ := strings.Cut(entry, ":")
	digits, original, spelled := strings.Cut(value, ":")
	if !spelled {
		original = name
	}
	if indexed != "" {
		if digits, _, _ := strings.Cut(indexed, ":"); digits != "" && strings.Trim(digits, "0123456789.") == "" {
			return term{}, errIndexed
		}
	}
	key, err := a.x.normalizer.key(strings.ReplaceAll(original, string(escapedColon), ":"))
	if err != nil {
		return term{}, err
	}
	t, ok := parseCount(key, digits)
	if !ok || name == "" {
		return term{}, errors.New("invalid entry")
	}
	if a.byHand && a.x.opt.HalfLife > 0 {
		t.count = math.Log2(t.count) + a.x.decay.time()
	}
	return t, nil
}

// add adds a term to the next batch.
func (a *adoption) add(ctx context.Context, t term) error {
	if a.batch = append(a.batch, t); len(a.batch) < batchTerms*pipeline {
		return nil
	}
	return a.flush(ctx)
}

func (a *adoption) flush(ctx context.Context) error {
	parts := make([][]term, len(a.x.completer.keys))
	for _, t := range a.batch {
		p := a.x.set.Index(nameOf(t.key))
		parts[p] = append(parts[p], t)
	}
	for p, terms := range parts {
		// A script takes a key once.
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

// block converts the blocked forms to those of this version.
func (a *adoption) block(ctx context.Context, p int) error {
	for page, err := range scan.Set(ctx, a.x.set.Client, a.x.completer.keys[p].blocked, step) {
		if err != nil {
			return err
		}
		for _, old := range page {
			name, err := a.x.normalizer.name(strings.ReplaceAll(old, string(escapedColon), ":"))
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
	}
	return nil
}

// step runs adopt.lua in a partition.
func (a *adoption) step(ctx context.Context, p int, do string, args ...string) error {
	args = append(append(a.x.set.Args(), do, a.id), args...)
	return engine.Replaced(a.x.completer.scripts.adopt.Run(ctx, a.x.set.Client, a.x.completer.keys[p].all(), args).Error())
}
