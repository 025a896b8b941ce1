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

// maxPayload is the maximum length of a payload, in bytes.
const maxPayload = 512

// Add adds n searches to the count of a term in this spelling, which is created if
// needed, and returns the new count. A term whose normalized form is blocked is not
// counted: Add returns 0.
//
// n is from 1 to 2^53-1, which is also the maximum of a count. One round trip, which
// concurrent calls of Add and Put for a partition share: while one is under way, the next
// collects. The count may include concurrent calls. If ctx ends during a round trip, the
// error says that the term may have been counted.
func (x *Index) Add(ctx context.Context, term string, n int64) (count int64, err error) {
	defer x.wrap(&err)
	r, err := x.updates().request(Suggestion{Term: term, Count: n}, false)
	if err != nil {
		return 0, err
	}
	return x.updates().submit(ctx, r)
}

// Put stores a term with this count and payload in place of those that it has, and
// reports whether it did: it does not store a term whose normalized form is blocked. It
// can be repeated. Round trips are those of Add.
func (x *Index) Put(ctx context.Context, s Suggestion) (stored bool, err error) {
	defer x.wrap(&err)
	r, err := x.updates().request(s, true)
	if err != nil {
		return false, err
	}
	count, err := x.updates().submit(ctx, r)
	return count > 0, err
}

// AddMany is Add for many terms; a payload that is not empty replaces that of the term.
// It writes 64,000 terms, or four megabytes of them, at a time: sorted, 100 a script and
// 32 scripts a round trip. The more it can sort, the less they cost. It returns how many
// terms it has processed. On an error these are the first n of the sequence, which must
// not be added again. An invalid term fails its 64,000 before any of them is counted; if
// the database fails, some of them may have been counted.
func (x *Index) AddMany(ctx context.Context, terms iter.Seq[Suggestion]) (n int, err error) {
	defer x.wrap(&err)
	return x.updates().writeMany(ctx, terms, false)
}

// PutMany is Put for many terms, as fast as AddMany, and returns how many it has
// processed. Of a term that comes twice the last one stays. It can be repeated after an
// error.
func (x *Index) PutMany(ctx context.Context, terms iter.Seq[Suggestion]) (n int, err error) {
	defer x.wrap(&err)
	return x.updates().writeMany(ctx, terms, true)
}

const (
	manyTerms = 64_000  // terms that are sorted and written at a time
	manyBytes = 4 << 20 // of their keys and payloads
)

// updates writes terms: alone, many at a time, or together with those of other callers.
type updates struct{ x *Index }

func (x *Index) updates() updates { return updates{x} }

func (up updates) writeMany(ctx context.Context, terms iter.Seq[Suggestion], replace bool) (n int, err error) {
	var batch []request
	bytes := 0
	for t := range terms {
		r, err := up.request(t, replace)
		if err != nil {
			return n, err
		}
		batch = append(batch, r)
		bytes += len(r.key) + len(r.payload)
		if len(batch) < up.x.many && bytes < manyBytes {
			continue
		}
		if err := up.writeAll(ctx, batch, ""); err != nil {
			return n, err
		}
		n += len(batch)
		clear(batch)
		batch, bytes = batch[:0], 0
	}
	if err := up.writeAll(ctx, batch, ""); err != nil {
		return n, err
	}
	return n + len(batch), nil
}

// Check returns the error with which Add and Put would refuse a term. It sends no command.
func (x *Index) Check(s Suggestion) error {
	if _, err := x.updates().request(s, true); err != nil {
		return fmt.Errorf("suggest: %w", err)
	}
	return nil
}

// request is a term to write.
type request struct {
	key     string
	n       int64
	payload string
	replace bool // the count and payload replace those of the term
	part    int  // its partition
}

// request checks a term and returns it as a request.
func (up updates) request(s Suggestion, replace bool) (request, error) {
	key, err := up.x.normalizer.key(s.Term)
	switch {
	case err != nil:
		return request{}, err
	case s.Count < 1 || s.Count > maxCount:
		return request{}, fmt.Errorf("%w: count %d of %q: it must be from 1 to 2^53-1", index.ErrValue, s.Count, s.Term)
	case len(s.Payload) > maxPayload:
		return request{}, fmt.Errorf("%w: the payload of %q has %d bytes: at most %d are allowed", index.ErrValue, s.Term, len(s.Payload), maxPayload)
	case !utf8.ValidString(s.Payload) || strings.ContainsFunc(s.Payload, unicode.IsControl):
		return request{}, fmt.Errorf("%w: the payload %q of %q: it must be UTF-8 without control characters", index.ErrValue, s.Payload, s.Term)
	}
	return request{key: key, n: s.Count, payload: s.Payload, replace: replace, part: up.x.set.Index(nameOf(key))}, nil
}

// then returns one request with the effect of two of the same term.
func (r request) then(next request) request {
	if next.replace {
		return next
	}
	r.n = min(r.n+next.n, maxCount)
	if next.payload != "" {
		r.payload = next.payload
	}
	return r
}

// value returns the argument of add.lua.
func (r request) value() string {
	n := strconv.FormatInt(r.n, 10)
	if r.replace {
		n = "=" + n
	}
	if r.payload != "" {
		n += "\n" + r.payload
	}
	return n
}

// result is the reply to a request: the new count, 0 for a blocked term.
type result struct {
	count int64
	err   error
}

// writeAll writes requests to the index, or to the new index of a rebuild.
func (up updates) writeAll(ctx context.Context, requests []request, rebuild string) (failed error) {
	calls, _ := up.calls(requests, rebuild, false)
	up.run(ctx, calls, func(_ int, _ []int64, err error) { failed = cmp.Or(failed, err) })
	return failed
}

// write writes requests to the index and returns their results.
func (up updates) write(ctx context.Context, requests []request) []result {
	results := make([]result, len(requests))
	calls, batches := up.calls(requests, "", true)
	up.run(ctx, calls, func(i int, counts []int64, err error) {
		for j, g := range batches[i] {
			for _, at := range g.at {
				if results[at].err = err; err == nil {
					results[at].count = counts[j]
				}
			}
		}
	})
	return results
}

// run runs add.lua, and passes on the counts of each call, or its error. After a pipeline
// with an error it sends no more.
func (up updates) run(ctx context.Context, calls []script.Call, done func(i int, counts []int64, err error)) {
	var failed error
	if len(up.x.completer.keys) > 1 {
		failed = up.x.set.Declare(ctx)
	}
	for i := 0; i < len(calls); i += pipeline {
		part := calls[i:min(i+pipeline, len(calls))]
		if failed != nil {
			for j := range part {
				done(i+j, nil, failed)
			}
			continue
		}
		for j, r := range up.x.completer.scripts.add.RunMany(ctx, up.x.set.Client, part) {
			counts, err := up.counts(ctx, r)
			failed = cmp.Or(failed, err)
			done(i+j, counts, err)
		}
	}
}

// group is the requests of one term, as one.
type group struct {
	request
	at []int // places of these requests
}

// calls returns the calls of add.lua for requests, sorted by partition and key, and the
// groups of each. Sorted, neighbours share the lists of their prefixes, and their places in
// the memory of the server.
func (up updates) calls(requests []request, rebuild string, counts bool) ([]script.Call, [][]group) {
	order := make([]int, len(requests))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(requests[a].part-requests[b].part, strings.Compare(requests[a].key, requests[b].key), a-b)
	})
	groups := make([]group, 0, len(order))
	for begin, end := 0, 0; begin < len(order); begin = end {
		g := group{request: requests[order[begin]]}
		for end = begin + 1; end < len(order) && requests[order[end]].key == g.key; end++ {
			g.request = g.then(requests[order[end]])
		}
		g.at = order[begin:end]
		groups = append(groups, g)
	}
	now, reply := "", ""
	if counts {
		reply = "1"
	}
	if up.x.opt.HalfLife > 0 {
		now = strconv.FormatFloat(up.x.decay.time(), 'f', -1, 64)
	}
	var calls []script.Call
	var batches [][]group
	for begin, end := 0, 0; begin < len(groups); begin = end {
		part := groups[begin].part
		for end = begin + 1; end < len(groups) && groups[end].part == part; {
			end++
		}
		for batch := range chunks(groups[begin:end], func(g group) int { return len(g.key) }) {
			args := make([]string, 0, 6+2*len(batch))
			args = append(append(args, up.x.set.Args()...), rebuild, now, reply)
			for _, g := range batch {
				args = append(args, g.key, g.value())
			}
			calls = append(calls, script.Call{Keys: up.x.completer.keys[part].all(), Args: args})
			batches = append(batches, batch)
		}
	}
	return calls, batches
}

// counts parses the reply of add.lua.
func (up updates) counts(ctx context.Context, r rueidis.RedisResult) ([]int64, error) {
	reply, err := r.AsStrSlice()
	if err := up.x.set.Error(ctx, err); err != nil {
		return nil, err
	}
	counts := make([]int64, len(reply))
	for i, text := range reply {
		count, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		if count > 0 {
			counts[i] = up.x.decay.countOf(count)
		}
	}
	return counts, nil
}
