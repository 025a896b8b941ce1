package social

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/nodes"
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

// CheckResult is what a check looked at and what it found. Problems and
// Leftovers count what was repaired too.
type CheckResult struct {
	Users, Sessions, Follows, Posts, Timelines int64
	Problems, Leftovers, Repaired              int64
	// Remaining are the problems that are still there, without leftovers.
	Remaining int64
}

// CheckOptions are the settings of a check. The zero value is a good default.
type CheckOptions struct {
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
}

// defaultFollowers find a loss of five followers in a hundred with a
// probability of 99 %, for each author.
const defaultFollowers = 100

// Check is CheckWith with the default options, which change nothing.
func (s *Service) Check(ctx context.Context, report func(Problem)) (CheckResult, error) {
	return s.CheckWith(ctx, CheckOptions{Report: report})
}

// CheckWith passes over the whole database, in short steps, and reports what
// breaks a rule of docs/keys.md. It sees a database at rest as it is; writes
// that go on meanwhile can make it report what is right a moment later, but
// never make it repair that. It keeps nothing in memory but one step and two
// bounded caches.
//
// The types of all keys are looked at first, and users, then posts, then what
// names them, so that one repair makes room for the next.
func (s *Service) CheckWith(ctx context.Context, opt CheckOptions) (CheckResult, error) {
	if opt.Report == nil {
		opt.Report = func(Problem) {}
	}
	if opt.Followers == 0 {
		opt.Followers = defaultFollowers
	}
	c := &checker{s: s, opt: opt}
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
	s      *Service
	opt    CheckOptions
	result CheckResult

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

// checkPasses is how often all keys are scanned.
const checkPasses = 5

func (c *checker) begin(ctx context.Context) error {
	masters, err := nodes.Masters(ctx, c.s.client)
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
	last, err := stringValue(c.s.client.Do(ctx, c.s.client.B().Get().Key(keyAdoptedPosts).Build()))
	c.adopted, _ = parseID(last)
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
		case isWrongType(err): // it became so meanwhile: the next check reports it
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
	return c.s.scanKeys(ctx, match, func(keys []string, seen int64) error {
		c.done += seen
		if c.opt.Progress != nil {
			c.opt.Progress(min(c.done, c.total), c.total)
		}
		ours := keys[:0]
		for _, key := range keys {
			if prefix, _, ok := parseKey(key); ok && slices.Contains(prefixes, prefix) {
				ours = append(ours, key)
			}
		}
		if len(ours) == 0 {
			return nil
		}
		return visit(ctx, ours)
	})
}

// keyTypes is the type of each key, by its prefix where an id follows.
var keyTypes = map[string]string{
	keyUsers: "hash", keyAuths: "hash", keyUsersByTime: "zset", keyTimeline: "list", keyFanOuts: "zset",
	keyNextUserID: "string", keyNextPostID: "string", keyLayoutVersion: "string", keyAdoptedPosts: "string",
	prefixUser: "hash", prefixPost: "hash", prefixPosts: "list", prefixProfile: "zset",
	prefixFollowing: "zset", prefixFollowers: "zset",
}

// parseKey returns the prefix and the id of a key of ours.
func parseKey(key string) (prefix string, id int64, ok bool) {
	at := strings.IndexByte(key, ':') + 1
	if prefix = key[:at]; keyTypes[prefix] == "" {
		return "", 0, false
	}
	id, ok = parseID(key[at:])
	return prefix, id, ok
}

// types checks the keys of which there is one.
func (c *checker) types(ctx context.Context) error {
	var keys []string
	for key := range keyTypes {
		if !strings.HasSuffix(key, ":") {
			keys = append(keys, key)
		}
	}
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
		cmds[i] = c.s.client.B().Type().Key(key).Build()
	}
	var good []string
	for i, res := range c.s.client.DoMulti(ctx, cmds...) {
		kind, err := res.ToString()
		if err != nil {
			return nil, err
		}
		key := keys[i]
		prefix, _, ok := parseKey(key)
		if !ok {
			prefix = key
		}
		if kind == keyTypes[prefix] || kind == "none" {
			good = append(good, key)
			continue
		}
		p := Problem{Key: key, Detail: fmt.Sprintf("a %s, where Retwis keeps a %s", kind, keyTypes[prefix])}
		var repair fix
		if prefix != prefixUser && prefix != prefixPost {
			p.Repair = "rename it to " + setAsideKey(key, 1)
			repair = func(ctx context.Context) (bool, error) { return c.s.setAside(ctx, key, kind) }
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
	}{{keyNextUserID, prefixUser, c.lastUser}, {keyNextPostID, prefixPost, c.lastPost}} {
		if c.foreign[n.key] {
			continue
		}
		text, err := stringValue(c.s.client.Do(ctx, c.s.client.B().Get().Key(n.key).Build()))
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
			return counterUpScript.Run(ctx, c.s.client, []string{n.key}, []string{itoa(n.last)}).AsBool()
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
	if c.foreign[keyFanOuts] {
		return nil
	}
	return c.sortedSet(ctx, keyFanOuts, func(posts, since []string) error {
		for i, post := range posts {
			p := Problem{Key: keyFanOuts, Leftover: true, Detail: fmt.Sprintf("post %s is not on every timeline yet, or not on a replica: it will be", post)}
			at, _ := strconv.ParseFloat(since[i], 64)
			var repair fix
			if stale := c.s.now().Add(-staleAfter).Unix(); at <= float64(stale) {
				p.Repair = "finish it"
				repair = func(ctx context.Context) (bool, error) { return c.s.takeFanOut(ctx, post, stale) }
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
	return c.pages(ctx, func(cursor uint64) rueidis.Completed {
		return c.s.client.B().Hscan().Key(key).Cursor(cursor).Count(scanCount).Build()
	}, visit)
}

func (c *checker) sortedSet(ctx context.Context, key string, visit func(members, scores []string) error) error {
	return c.pages(ctx, func(cursor uint64) rueidis.Completed {
		return c.s.client.B().Zscan().Key(key).Cursor(cursor).Count(scanCount).Build()
	}, visit)
}

// pages calls visit with the pairs of each page of a scan.
func (c *checker) pages(ctx context.Context, scan func(cursor uint64) rueidis.Completed, visit func(names, values []string) error) error {
	var cursor uint64
	for {
		entry, err := c.s.client.Do(ctx, scan(cursor)).AsScanEntry()
		if isWrongType(err) {
			return nil // replaced meanwhile: the next check reports it
		}
		if err != nil {
			return err
		}
		var names, values []string
		for i := 0; i+1 < len(entry.Elements); i += 2 {
			names = append(names, entry.Elements[i])
			values = append(values, entry.Elements[i+1])
		}
		// A small collection comes as a whole, however large COUNT is.
		for len(names) > 0 {
			n := min(len(names), scanCount)
			if err := visit(names[:n], values[:n]); err != nil {
				return err
			}
			names, values = names[n:], values[n:]
		}
		if cursor = entry.Cursor; cursor == 0 {
			return nil
		}
	}
}

// suspect is a session that may be about to begin.
type suspect struct {
	token, uid string
	seen       time.Time
}
