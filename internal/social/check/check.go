// Package check verifies that the keys of a database agree with each other, and
// repairs them.
package check

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/nodes"
	"retwis/internal/scan"
	"retwis/internal/social"
	"retwis/internal/social/fanout"
	"retwis/internal/social/follow"
	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
)

// Problem is a place where two keys that must agree do not, or where a key
// holds what it should not.
type Problem struct {
	Key    string // the key in which it was found
	Detail string
	// Leftover problems were left by a write that a crash cut short. They are
	// seen by nobody, or repaired by the next write of the same kind.
	Leftover bool
	// Repair says what a repair does, or did; empty where only a person can
	// decide.
	Repair   string
	Repaired bool
}

func (p Problem) String() string {
	text := p.Key + ": " + p.Detail
	if p.Leftover {
		text += " (a leftover, harmless)"
	}
	switch {
	case p.Repaired:
		text += "; repaired: " + p.Repair
	case p.Repair != "":
		text += "; --repair would: " + p.Repair
	}
	return text
}

// Result is what a check looked at and what it found. Problems and
// Leftovers count what was repaired too.
type Result struct {
	Users, Sessions, Follows, Posts, Timelines int64
	Problems, Leftovers, Repaired              int64
	// Remaining are the problems that are still there, without leftovers.
	Remaining int64
}

// Options are the settings of a check. The zero value is a good default.
type Options struct {
	// Repair repairs what can be, each place in one script that looks again
	// first, or in a sequence that can be repeated from its start: others may
	// use the database meanwhile.
	Repair bool
	// Report is called with each problem. Default: nobody.
	Report func(Problem)
	// Progress is called now and then with how many keys were passed, of about
	// how many. Default: nobody.
	Progress func(done, total int64)
	// Followers is how many followers of each author are looked at, at random,
	// whether they have the author's latest posts. Default: 100. Negative: none.
	Followers int
	// SessionGrace is how long a session may take to begin: until then a repair
	// leaves one alone that its user does not have yet. Default: 10 s.
	SessionGrace time.Duration
}

// defaultFollowers find a loss of five followers in a hundred with a
// probability of 99 %, for each author.
const defaultFollowers = 100

// Run passes over the whole database, in short steps, and reports what
// breaks a rule of docs/keys.md. It sees a database at rest as it is; writes
// that go on meanwhile can make it report what is right a moment later, but
// never make it repair that. It keeps nothing in memory but one step and two
// bounded caches.
//
// The types of all keys are looked at first, and users, then posts, then what
// names them, so that one repair makes room for the next.
func Run(ctx context.Context, s *social.Service, opt Options) (Result, error) {
	if opt.Report == nil {
		opt.Report = func(Problem) {}
	}
	if opt.Followers == 0 {
		opt.Followers = defaultFollowers
	}
	if opt.SessionGrace == 0 {
		opt.SessionGrace = sessionGrace
	}
	c := &checker{
		client: s.Client(), cluster: s.Client().Mode() == rueidis.ClientModeCluster, now: s.Options().Now,
		service: s, fanOut: s.FanOut(), store: follow.New(s.Client()), timelineLists: s.Lists(), opt: opt,
	}
	for _, step := range []func(context.Context) error{
		c.begin, c.types, c.names, c.users, c.usersByTime, c.sessions,
		c.posts, c.everybody, c.lists, c.samples, c.counters, c.fanOuts, c.oldSessions,
	} {
		if err := step(ctx); err != nil {
			return c.result, fmt.Errorf("social: check: %w", err)
		}
	}
	return c.result, nil
}

type checker struct {
	client        rueidis.Client
	cluster       bool
	now           func() time.Time
	service       *social.Service
	fanOut        *fanout.Engine
	store         follow.Store
	timelineLists *collection.Timelines

	opt    Options
	result Result

	done, total int64           // keys passed, and to be passed
	foreign     map[string]bool // keys that are not of their type
	suspects    []suspect
	lastUser    int64 // the largest ids that are in use
	lastPost    int64
	adopted     int64 // the last post of an older program
	knownUsers  known
	knownPosts  known
}

// known remembers ids that exist, up to a bound: timelines name the same posts.
type known struct{ ids map[int64]struct{} }

const maxKnown = 200_000

func (k *known) has(id int64) bool {
	_, ok := k.ids[id]
	return ok
}

func (k *known) add(id int64) {
	if k.ids == nil || len(k.ids) >= maxKnown {
		k.ids = make(map[int64]struct{})
	}
	k.ids[id] = struct{}{}
}

const (
	// scanCount is how many keys or fields one step of a scan asks for: well
	// under a millisecond of the server's time.
	scanCount = 1000
	// scanTimeout bounds the wait for one node of a Cluster: it can be gone for
	// good.
	scanTimeout = 15 * time.Second
)

// checkPasses is how often all keys are scanned.
const checkPasses = 5

func (c *checker) begin(ctx context.Context) error {
	masters, err := nodes.Masters(ctx, c.client)
	if err != nil {
		return err
	}
	for _, master := range masters {
		node := master.Client
		ctx, cancel := context.WithTimeout(ctx, scanTimeout)
		size, err := node.Do(ctx, node.B().Dbsize().Build()).AsInt64()
		cancel()
		if err != nil {
			return err
		}
		c.total += checkPasses * size
	}
	last, err := reply.TextOrEmpty(c.client.Do(ctx, c.client.B().Get().Key(layout.AdoptedPosts).Build()))
	c.adopted, _ = layout.ParseID(last)
	return err
}

// fix repairs a problem and returns whether it was still there.
type fix func(ctx context.Context) (bool, error)

// found reports a problem, and repairs it where that is wanted and possible.
func (c *checker) found(ctx context.Context, p Problem, repair fix) error {
	return c.foundAll(ctx, []Problem{p}, repair)
}

// foundAll reports problems that one repair ends.
func (c *checker) foundAll(ctx context.Context, problems []Problem, repair fix) error {
	repaired := false
	if c.opt.Repair && repair != nil {
		var err error
		repaired, err = repair(ctx)
		switch {
		case reply.IsWrongType(err): // it became so meanwhile: the next check reports it
			repair = nil
		case err != nil:
			return fmt.Errorf("repair of key %s: %w", problems[0].Key, err)
		case !repaired:
			return nil // right by now
		}
	}
	for _, p := range problems {
		p.Repaired = repaired
		switch {
		case p.Leftover:
			c.result.Leftovers++
		default:
			c.result.Problems++
		}
		switch {
		case repaired:
			c.result.Repaired++
		case !p.Leftover:
			c.result.Remaining++
		}
		c.opt.Report(p)
	}
	return nil
}

// pass calls visit with each page of the keys that begin with one of these
// prefixes, all of which match has.
func (c *checker) pass(ctx context.Context, match string, prefixes []string, visit func(ctx context.Context, keys []string) error) error {
	for page, err := range scan.Keys(ctx, c.client, scan.Pattern{Match: match, Count: scanCount, Timeout: scanTimeout}) {
		if err != nil {
			return err
		}
		c.done += int64(page.Seen)
		if c.opt.Progress != nil {
			c.opt.Progress(min(c.done, c.total), c.total)
		}
		ours := page.Keys[:0]
		for _, key := range page.Keys {
			if prefix, _, ok := layout.ParseKey(key); ok && slices.Contains(prefixes, prefix) {
				ours = append(ours, key)
			}
		}
		if len(ours) == 0 {
			continue
		}
		if err := visit(ctx, ours); err != nil {
			return err
		}
	}
	return nil
}

// types checks the keys of which there is one.
func (c *checker) types(ctx context.Context) error {
	keys := layout.Singletons()
	good, err := c.ofTheirType(ctx, keys)
	if err != nil {
		return err
	}
	c.foreign = map[string]bool{}
	for _, key := range keys {
		c.foreign[key] = true
	}
	for _, key := range good {
		delete(c.foreign, key)
	}
	return nil
}

// ofTheirType returns the keys that are of the type they should be or missing,
// and reports the others. What stands under the id of a user or a post is
// passed over by Retwis: it can be another program's, and is left alone. Other
// names Retwis needs.
func (c *checker) ofTheirType(ctx context.Context, keys []string) ([]string, error) {
	cmds := make(rueidis.Commands, len(keys))
	for i, key := range keys {
		cmds[i] = c.client.B().Type().Key(key).Build()
	}
	var good []string
	for i, res := range c.client.DoMulti(ctx, cmds...) {
		kind, err := res.ToString()
		if err != nil {
			return nil, err
		}
		key := keys[i]
		prefix, _, ok := layout.ParseKey(key)
		if !ok {
			prefix = key
		}
		if kind == layout.Type(prefix) || kind == "none" {
			good = append(good, key)
			continue
		}
		p := Problem{Key: key, Detail: fmt.Sprintf("a %s, where Retwis keeps a %s", kind, layout.Type(prefix))}
		var repair fix
		if prefix != layout.UserPrefix && prefix != layout.PostPrefix {
			p.Repair = "rename it to " + setAsideKey(key, 1)
			repair = func(ctx context.Context) (bool, error) { return c.setAside(ctx, key, kind) }
		}
		if err := c.found(ctx, p, repair); err != nil {
			return nil, err
		}
		if c.opt.Repair && repair != nil {
			good = append(good, key) // empty now
		}
	}
	return good, nil
}

// counters reports counters that are behind the ids in use, or no numbers.
func (c *checker) counters(ctx context.Context) error {
	for _, n := range []struct {
		key, prefix string
		last        int64
	}{{layout.NextUserID, layout.UserPrefix, c.lastUser}, {layout.NextPostID, layout.PostPrefix, c.lastPost}} {
		if c.foreign[n.key] {
			continue
		}
		text, err := reply.TextOrEmpty(c.client.Do(ctx, c.client.B().Get().Key(n.key).Build()))
		if err != nil {
			return err
		}
		at, err := strconv.ParseInt(text, 10, 64)
		p := Problem{Key: n.key, Repair: fmt.Sprintf("set it to %d", n.last)}
		switch {
		case err != nil && text != "":
			p.Detail = fmt.Sprintf("%.40q is not a number", text)
		case at < n.last:
			p.Detail, p.Leftover = fmt.Sprintf("%d is behind %s%d", at, n.prefix, n.last), true
		default:
			continue
		}
		err = c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return counterUpScript.Run(ctx, c.client, []string{n.key}, []string{layout.Itoa(n.last)}).AsBool()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fanOuts reports posts that are not everywhere yet, and finishes those that
// nobody works on.
func (c *checker) fanOuts(ctx context.Context) error {
	if c.foreign[layout.FanOuts] {
		return nil
	}
	return c.sortedSet(ctx, layout.FanOuts, func(posts, since []string) error {
		for i, post := range posts {
			p := Problem{Key: layout.FanOuts, Leftover: true, Detail: fmt.Sprintf("post %s is not on every timeline yet, or not on a replica: it will be", post)}
			at, _ := strconv.ParseFloat(since[i], 64)
			var repair fix
			if stale := c.now().Add(-fanout.StaleAfter).Unix(); at <= float64(stale) {
				p.Repair = "finish it"
				repair = func(ctx context.Context) (bool, error) { return c.fanOut.Take(ctx, post, stale) }
			}
			if err := c.found(ctx, p, repair); err != nil {
				return err
			}
		}
		return nil
	})
}

// hash calls visit with each page of a hash.
func (c *checker) hash(ctx context.Context, key string, visit func(fields, values []string) error) error {
	return pairs(scan.Hash(ctx, c.client, key, scanCount), visit)
}

// sortedSet calls visit with each page of a sorted set.
func (c *checker) sortedSet(ctx context.Context, key string, visit func(members, scores []string) error) error {
	return pairs(scan.SortedSet(ctx, c.client, key, scanCount), visit)
}

// pairs divides pages that alternate between names and values.
func pairs(pages iter.Seq2[[]string, error], visit func(names, values []string) error) error {
	for page, err := range pages {
		if reply.IsWrongType(err) {
			return nil // replaced meanwhile: the next check reports it
		}
		if err != nil {
			return err
		}
		var names, values []string
		for i := 0; i+1 < len(page); i += 2 {
			names = append(names, page[i])
			values = append(values, page[i+1])
		}
		if len(names) == 0 {
			continue
		}
		if err := visit(names, values); err != nil {
			return err
		}
	}
	return nil
}

// suspect is a session that may be about to begin.
type suspect struct {
	token, uid string
	seen       time.Time
}
