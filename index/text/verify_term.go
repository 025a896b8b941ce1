package text

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retwis/index/text/internal/codec"

	"github.com/redis/rueidis"

	"retwis/internal/redis/scan"
	"retwis/maintain"
)

// isType reports whether a command failed because a key has another type.
func isType(err error) bool {
	var e *rueidis.RedisError
	return errors.As(err, &e) && strings.Contains(e.Error(), "WRONGTYPE")
}

// rare checks a hash of rare terms.
func (c termCheck) rare(ctx context.Context, part, bucket int, fields map[string]string) (err error) {
	n := c.run.names(part)
	for term, ids := range fields {
		wrong := ""
		switch l := codec.List(ids); {
		case n.bucket(term) != bucket:
			wrong = "in another hash than that of the term"
		case !l.Valid(0) || l.Len() == 0 || l.Len() > c.run.x.sizes.rare:
			wrong = "a damaged list of a rare term"
		}
		if wrong == "" {
			continue
		}
		c.run.Found(maintain.Problem{Kind: maintain.Dangling, ID: term, Found: wrong})
		if !c.run.repair {
			continue
		}
		c.run.Report.Repaired++
		if n.bucket(term) != bucket {
			err = c.run.x.set.Client.Do(ctx, c.run.x.set.Client.B().Hdel().Key(n.rareOf(bucket)).Field(term).Build()).Error()
		} else {
			err = c.restore(ctx, part, term)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tries bounds how often a term is read that changes all the time.
const tries = 5

// term checks the postings of a term with a tail, a directory or segments.
func (c termCheck) term(ctx context.Context, part int, term string) error {
	var p maintain.Problem
	for range tries {
		var err error
		if p, err = c.problem(ctx, c.run.names(part), term); err != nil {
			return err
		}
		if p.Kind == "" {
			if err := c.relist(ctx, part, term); err != nil {
				return err
			}
			return c.run.Uncounted(ctx, 1)
		}
	}
	p.ID = term
	c.run.Found(p)
	if !c.run.repair {
		return nil
	}
	c.run.Report.Repaired++
	return c.restore(ctx, part, term)
}

// problem returns what is wrong with a term.
func (c termCheck) problem(ctx context.Context, n names, term string) (p maintain.Problem, err error) {
	client := c.run.x.set.Client
	b := client.B
	r := client.DoMulti(ctx, b().Get().Key(n.tail(term)).Build(), b().Hexists().Key(n.rare(term)).Field(term).Build(),
		b().Zcard().Key(n.dir(term)).Build(), b().Hlen().Key(n.seg(term)).Build())
	for i, what := range []string{"tail", "hash of rare terms", "directory", "segments"} {
		if err := r[i].Error(); isType(err) {
			return maintain.Problem{Kind: maintain.Dangling, Found: "the " + what + " has another type"}, nil
		} else if err != nil && !rueidis.IsRedisNil(err) {
			return p, err
		}
	}
	text, _ := r[0].ToString()
	isRare, _ := r[1].AsBool()
	bases, _ := r[2].AsInt64()
	segments, _ := r[3].AsInt64()
	if rueidis.IsRedisNil(r[0].Error()) {
		if bases+segments > 0 {
			p = maintain.Problem{Kind: maintain.Missing, Found: "segments without a tail"}
		}
		return p, nil // or the term was removed meanwhile
	}
	t, err := codec.ParseTail(text)
	switch {
	case err != nil || !t.Valid():
		return maintain.Problem{Kind: maintain.Dangling, Found: "a damaged tail"}, nil
	case isRare:
		return maintain.Problem{Kind: maintain.Stale, Found: "a tail, and a list of a rare term"}, nil
	case bases != segments:
		return maintain.Problem{Kind: maintain.Missing, Found: fmt.Sprintf("%d of %d segments are in the directory", bases, segments)}, nil
	}
	return c.segments(ctx, n, term, t)
}

// segments checks the segments of a term.
func (c termCheck) segments(ctx context.Context, n names, term string, t codec.Tail) (p maintain.Problem, err error) {
	count := int64(0)
	for next, more := t.Bound, true; more; {
		b, wrong, err := c.run.segment(ctx, n, term, next)
		if err != nil || wrong != "" {
			return maintain.Problem{Kind: maintain.Dangling, Found: wrong}, err
		}
		for range b.segment.IDs {
			count++
		}
		next, more = b.base-1, b.base > 0
	}
	if count == t.Sealed {
		return p, nil
	}
	return maintain.Problem{Kind: maintain.Missing, Found: fmt.Sprintf("%d ids in segments", count), Want: fmt.Sprint(t.Sealed)}, nil
}

// restore writes the postings of a damaged term anew, with the ids that can be read.
func (c termCheck) restore(ctx context.Context, part int, term string) error {
	n := c.run.names(part)
	for range tries {
		rare, text, ids, err := c.readable(ctx, n, term)
		if err != nil {
			return err
		}
		ids = slices.DeleteFunc(ids, func(id int64) bool { return !c.run.x.isHome(part, id) })
		args := append(append(c.run.x.set.Args(), c.run.parts[part].state.now, term, rare, text), c.run.x.layTerm(ids)...)
		keys := append(c.run.x.keys[part].All(), n.ofTerm(term, true)...)
		done, err := c.run.x.scripts.restore.Run(ctx, c.run.x.set.Client, keys, args).AsInt64()
		if err != nil {
			return err
		}
		if done == 1 {
			c.run.parts[part].add(term, n.bucket(term))
			return c.enlist(ctx, part, term)
		}
	}
	return fmt.Errorf("the postings of %q change all the time: run Repair again", term)
}

// layTerm returns the postings of a term with some ids, as arguments of restore.lua.
func (x *store) layTerm(ids []int64) []string {
	switch {
	case len(ids) == 0:
		return []string{"", ""}
	case len(ids) <= x.sizes.rare:
		return []string{string(codec.ListOf(ids)), ""}
	case len(ids) < x.sizes.tail:
		return []string{"", codec.Tail{IDs: codec.ListOf(ids)}.String()}
	}
	old := ids[:len(ids)-x.sizes.newest]
	t := codec.Tail{Sealed: int64(len(old)), Bound: old[len(old)-1], IDs: codec.ListOf(ids[len(old):])}
	args := []string{"", t.String()}
	for _, chunk := range codec.Encode(old, 0, x.sizes.segment) {
		args = append(args, strconv.FormatInt(chunk.Base, 10), chunk.Data)
	}
	return args
}

// readable returns the ids of a term that can be read, sorted, and its list of a rare term
// and its tail as they are.
func (c termCheck) readable(ctx context.Context, n names, term string) (rare, text string, ids []int64, err error) {
	client := c.run.x.set.Client
	r := client.DoMulti(ctx, client.B().Hget().Key(n.rare(term)).Field(term).Build(), client.B().Get().Key(n.tail(term)).Build())
	for i, to := range []*string{&rare, &text} {
		text, err := r[i].ToString()
		switch {
		case err == nil:
			*to = text
		case !rueidis.IsRedisNil(err) && !isType(err):
			return "", "", nil, err
		}
	}
	ids = codec.List(rare).IDs()
	if len(text) > codec.TailHeader {
		ids = append(ids, codec.List(text[codec.TailHeader:]).IDs()...)
	}
	for page, err := range scan.Hash(ctx, client, n.seg(term), 8) {
		if isType(err) {
			break
		}
		if err != nil {
			return "", "", nil, err
		}
		for i := 1; i < len(page); i += 2 {
			if s, err := codec.ParseSegment(page[i]); err == nil {
				ids = slices.AppendSeq(ids, s.IDs)
			}
		}
	}
	return rare, text, codec.Sorted(ids), nil
}

// enlist lists a word that was restored.
func (c termCheck) enlist(ctx context.Context, part int, term string) error {
	n := c.run.names(part)
	keys := append(c.run.x.keys[part].All(), n.rare(term), n.tail(term))
	return c.run.x.scripts.list.Run(ctx, c.run.x.set.Client, keys, append(c.run.x.set.Args(), c.run.parts[part].state.now, term, "1")).Error()
}
