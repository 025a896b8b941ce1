package suggest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

// Adopt turns a sorted set created by hand, with entries as in the tutorial,
// normalized:count:original or term:count, into an index. Entries with the same normalized form
// become one term. Until Adopt has finished, all methods of the index return index.ErrForeign.
// Adopt can be repeated, and resumes an interrupted adoption. It does not change an existing
// index.
//
// Report.Checked is the number of entries. If some entries are invalid, Adopt reports them
// as Dangling, returns index.ErrValue and changes nothing: remove these entries first.
func Adopt(ctx context.Context, client rueidis.Client, key string, opt Options, run maintain.Options) (report maintain.Report, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("suggest: %q: %w", key, err)
		}
	}()
	d, err := partition.Read(ctx, client, key)
	isNew := errors.Is(err, index.ErrNotFound)
	switch {
	case isNew:
	case err != nil || d.Kind == kind && unadopted(key, d) == nil:
		return report, err
	case d.Kind == kind: // an interrupted adoption
		if opt, err = parseDeclaration(strings.TrimPrefix(d.Text, adopting)); err != nil {
			return report, err
		}
	}
	x, err := newIndex(client, key, opt, adopting+opt.declaration())
	if err != nil {
		return report, err
	}
	if len(x.keys) > 1 {
		return report, fmt.Errorf("%w: a sorted set made by hand has one partition", index.ErrValue)
	}
	if isNew {
		if report, err := x.validate(ctx, run); err != nil {
			return report, err
		}
	}
	adopted := key + ".adopted"
	adopt := func(action string) (bool, error) {
		reply := x.scripts.adopt.Run(ctx, client, append(x.keys[0].All(), adopted), append(x.set.Args(), action, opt.declaration()))
		found, err := reply.AsBool()
		return found, x.set.Error(ctx, err)
	}
	if found, err := adopt("begin"); err != nil || !found {
		return report, cmp.Or(err, errNoSortedSet)
	}
	report, err = x.rebuild(ctx, func(yield func(Suggestion, error) bool) {
		for entry, err := range x.members(ctx, adopted) {
			var s Suggestion
			if err == nil {
				if s, err = x.parseHandMade(entry); err != nil {
					err = fmt.Errorf("the entry %q of %q: %w: remove it with ZREM and run Adopt again", entry, adopted, err)
				}
			}
			if !yield(s, err) {
				return
			}
		}
	}, run)
	if err == nil {
		_, err = adopt("end")
	}
	return report, err
}

// errNoSortedSet is returned for a key without a sorted set.
var errNoSortedSet = fmt.Errorf("%w: there is no sorted set", index.ErrNotFound)

// validate returns an error if a sorted set created by hand has invalid entries, or no entries.
func (x *Index) validate(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	run, found := engine.Start(opt), false
	for entry, err := range x.members(ctx, x.set.Key) {
		if err != nil {
			return run.Report, err
		}
		found = true
		if _, err := x.parseHandMade(entry); err != nil {
			run.Found(maintain.Problem{Kind: maintain.Dangling, Found: fmt.Sprintf("%q", entry)})
		}
	}
	switch {
	case run.Report.Dangling > 0:
		return run.Report, fmt.Errorf("%w: %d entries do not have the form normalized:count:original: nothing was changed", index.ErrValue, run.Report.Dangling)
	case !found:
		return run.Report, errNoSortedSet
	}
	return run.Report, nil
}

// members yields each member of a sorted set once, in order.
func (x *Index) members(ctx context.Context, key string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for rank := 0; ; rank += step {
			command := x.set.Client.B().Zrange().Key(key).Min(strconv.Itoa(rank)).Max(strconv.Itoa(rank + step - 1)).Build()
			page, err := x.set.Client.Do(ctx, command).AsStrSlice()
			if err != nil {
				yield("", err)
				return
			}
			for _, member := range page {
				if !yield(member, nil) {
					return
				}
			}
			if len(page) < step {
				return
			}
		}
	}
}

// parseHandMade parses an entry normalized:count:original or normalized:count.
func (x *Index) parseHandMade(entry string) (s Suggestion, err error) {
	name, rest, _ := strings.Cut(entry, ":")
	digits, original, spelled := strings.Cut(rest, ":")
	if s.Term = name; spelled {
		s.Term = original
	}
	if s.Count, err = strconv.ParseInt(digits, 10, 64); err != nil || name == "" {
		return s, fmt.Errorf("%w: it does not have the form normalized:count:original", index.ErrValue)
	}
	_, err = x.request(s)
	return s, err
}
