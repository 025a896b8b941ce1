package suggest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/redis/script"
)

const (
	// maxPayload is the maximum length of a payload, in bytes.
	maxPayload = 512
	// maxSpellings is the number of spellings of a term that have a count: MAX_SPELLINGS in
	// value.lua.
	maxSpellings = 8

	manyTerms = 64_000  // terms sorted and written per batch
	manyBytes = 4 << 20 // bytes of texts and payloads per batch

	batchTerms = 100     // terms per script
	batchBytes = 4 << 10 // bytes of names per script; limits the cached lists that a script reads
	pipeline   = 32      // scripts per pipeline
)

// Add adds n searches to the count of a term, creating it if needed, and returns the new count
// over all spellings. For a blocked term it counts nothing and returns 0. n is from 1 to
// 2^53-1, which is also the maximum of a count. One round trip.
func (x *Index) Add(ctx context.Context, term string, n int64) (count int64, err error) {
	defer x.wrap(&err)
	return x.addOne(ctx, Suggestion{Term: term, Count: n}, false)
}

// Put stores a term with a spelling, count and payload, replacing the existing ones. It reports
// whether the term was stored: blocked terms are not. Put can be repeated. One round trip.
func (x *Index) Put(ctx context.Context, s Suggestion) (stored bool, err error) {
	defer x.wrap(&err)
	count, err := x.addOne(ctx, s, true)
	return count > 0, err
}

// AddMany is like Add for many terms; a nonempty payload replaces the payload of the term. It
// writes sorted batches of 64,000 terms or four megabytes, with 100 terms per script and 32
// scripts per round trip. Larger batches cost less per term. It returns the number of terms
// processed. On an error these are the first n terms of the sequence, which must not be added
// again. If a term is
// invalid, none of its batch is counted; if the database fails, some of the batch may have been
// counted.
func (x *Index) AddMany(ctx context.Context, terms iter.Seq[Suggestion]) (n int, err error) {
	defer x.wrap(&err)
	return x.writeMany(ctx, terms, false)
}

// PutMany is like Put for many terms, as fast as AddMany, and returns the number processed. If
// a term occurs twice, the last occurrence wins. PutMany can be repeated after an error.
func (x *Index) PutMany(ctx context.Context, terms iter.Seq[Suggestion]) (n int, err error) {
	defer x.wrap(&err)
	return x.writeMany(ctx, terms, true)
}

// Check returns the error that Add and Put would return for an invalid term. It sends no
// command.
func (x *Index) Check(s Suggestion) error {
	if _, err := x.request(s); err != nil {
		return fmt.Errorf("suggest: %w", err)
	}
	return nil
}

// addOne writes a term and returns its new count.
func (x *Index) addOne(ctx context.Context, s Suggestion, replace bool) (int64, error) {
	r, err := x.request(s)
	if err != nil {
		return 0, err
	}
	var counts []string
	err = x.write(ctx, []request{r}, writing{replace: replace, reply: "1", counts: &counts})
	if err != nil || counts[0] == "0" {
		return 0, err
	}
	count, err := strconv.ParseFloat(counts[0], 64)
	if err != nil {
		return 0, err
	}
	now, err := strconv.ParseFloat(counts[1], 64)
	return x.countOf(count, now), err
}

// writeMany implements AddMany and, if replace is set, PutMany.
func (x *Index) writeMany(ctx context.Context, terms iter.Seq[Suggestion], replace bool) (n int, err error) {
	var batch []request
	bytes := 0
	for t := range terms {
		r, err := x.request(t)
		if err != nil {
			return n, err
		}
		batch = append(batch, r)
		bytes += len(r.name) + len(r.spelling) + len(r.payload)
		if len(batch) < x.many && bytes < manyBytes {
			continue
		}
		if err := x.write(ctx, batch, writing{replace: replace}); err != nil {
			return n, err
		}
		n += len(batch)
		clear(batch)
		batch, bytes = batch[:0], 0
	}
	if err := x.write(ctx, batch, writing{replace: replace}); err != nil {
		return n, err
	}
	return n + len(batch), nil
}

// request is a term to write.
type request struct {
	name, spelling string
	n              int64
	payload        string
	part           int // partition
}

// request validates a term and converts it to a request.
func (x *Index) request(s Suggestion) (r request, err error) {
	if r.name, err = x.opt.Punctuation.name(s.Term); err != nil {
		return r, err
	}
	if r.spelling, err = spell(s.Term); err != nil {
		return r, err
	}
	switch {
	case s.Count < 1 || s.Count > maxCount:
		return r, fmt.Errorf("%w: count %d of %q: it must be from 1 to 2^53-1", index.ErrValue, s.Count, s.Term)
	case len(s.Payload) > maxPayload:
		return r, fmt.Errorf("%w: the payload of %q has %d bytes: at most %d are allowed", index.ErrValue, s.Term, len(s.Payload), maxPayload)
	case !utf8.ValidString(s.Payload) || strings.ContainsFunc(s.Payload, unicode.IsControl):
		return r, fmt.Errorf("%w: the payload %q of %q: it must be UTF-8 without control characters", index.ErrValue, s.Payload, s.Term)
	}
	if r.spelling == r.name {
		r.spelling = ""
	}
	r.n, r.payload, r.part = s.Count, s.Payload, x.set.Index(r.name)
	return r, nil
}

// writing describes how to write requests.
type writing struct {
	replace bool      // counts and payloads replace the stored ones
	rebuild string    // the rebuild whose new index is filled; empty: the current index
	reply   string    // "1": reply with counts
	counts  *[]string // the reply for a single term
}

// write writes requests, sorted by partition and name: neighbours share the lists of their
// prefixes and are close in the memory of the server.
func (x *Index) write(ctx context.Context, requests []request, w writing) error {
	if len(x.keys) > 1 {
		if err := x.set.Declare(ctx); err != nil {
			return err
		}
	}
	sorted := make([]*request, len(requests))
	for i := range requests {
		sorted[i] = &requests[i]
	}
	slices.SortStableFunc(sorted, func(a, b *request) int {
		if a.part != b.part {
			return a.part - b.part
		}
		return strings.Compare(a.name, b.name)
	})
	head := append(x.set.Args(), w.rebuild, x.opt.halfLife(), w.reply)
	var calls []script.Call
	part, terms, bytes := -1, 0, 0
	for begin, end := 0, 0; begin < len(sorted); begin = end {
		first := sorted[begin]
		for end = begin + 1; end < len(sorted) && sorted[end].name == first.name; {
			end++
		}
		if terms == batchTerms || bytes+len(first.name) > batchBytes || first.part != part {
			args := append(make([]string, 0, len(head)+2*batchTerms), head...)
			calls = append(calls, script.Call{Keys: x.keys[first.part].all(), Args: args})
			part, terms, bytes = first.part, 0, 0
		}
		c := &calls[len(calls)-1]
		c.Args = append(c.Args, first.name, w.value(sorted[begin:end]))
		terms, bytes = terms+1, bytes+len(first.name)
	}
	return x.run(ctx, x.scripts.add, calls, func(r rueidis.RedisResult) (err error) {
		if w.counts != nil {
			*w.counts, err = r.AsStrSlice()
			return err
		}
		return r.Error()
	})
}

// value returns the argument of add.lua for all requests of a term.
func (w writing) value(requests []*request) string {
	if w.replace {
		requests = requests[len(requests)-1:]
	}
	if r := requests[0]; len(requests) == 1 && !w.replace && r.payload == "" {
		if r.spelling == "" {
			return strconv.FormatInt(r.n, 10)
		}
		return strconv.FormatInt(r.n, 10) + "\t" + r.spelling
	}
	payload := ""
	var votes []request
	for _, r := range requests {
		payload = cmp.Or(r.payload, payload)
		i := slices.IndexFunc(votes, func(v request) bool { return v.spelling == r.spelling })
		switch {
		case i >= 0:
			votes[i].n = min(votes[i].n+r.n, maxCount)
		case len(votes) < maxSpellings:
			votes = append(votes, *r)
		default:
			rarest := slices.MinFunc(votes, func(a, b request) int {
				return cmp.Or(cmp.Compare(a.n, b.n), strings.Compare(cmp.Or(b.spelling, b.name), cmp.Or(a.spelling, a.name)))
			})
			i = slices.Index(votes, rarest)
			votes[i].spelling, votes[i].n = r.spelling, min(rarest.n+r.n, maxCount)
		}
	}
	var b strings.Builder
	if w.replace {
		b.WriteByte('=')
	}
	for i, v := range votes {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(strconv.FormatInt(v.n, 10))
		if v.spelling != "" || len(votes) > 1 {
			b.WriteByte('\t')
			b.WriteString(v.spelling)
		}
	}
	if payload != "" {
		b.WriteByte('\n')
		b.WriteString(payload)
	}
	return b.String()
}

// run runs calls of a script in pipelines. It stops after a pipeline with an error.
func (x *Index) run(ctx context.Context, s script.Script, calls []script.Call, reply func(rueidis.RedisResult) error) (firstErr error) {
	for chunk := range slices.Chunk(calls, pipeline) {
		for _, r := range s.RunMany(ctx, x.set.Client, chunk) {
			firstErr = cmp.Or(firstErr, x.set.Error(ctx, reply(r)))
		}
		if firstErr != nil {
			return firstErr
		}
	}
	return nil
}
