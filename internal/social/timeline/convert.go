package timeline

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social/storage"
)

var (
	//go:embed convert.lua
	convertSource string
	convertScript = script.New(convertSource).Retryable()
)

// maxMerged is the maximum number of merged authors that are looked up among the people whom a user
// follows. If there are more, every home timeline is rebuilt.
const maxMerged = 500

// Converter converts home timelines after the keys of a Cluster were loaded into a single server.
// It rebuilds expired timelines, adds the posts of merged authors, and removes the expiries.
//
// The conversion can be interrupted at any time and repeated.
type Converter struct {
	timelines *Homes
	merged    []string // authors whose posts may be missing
}

// NewConverter returns a Converter. One round trip.
func NewConverter(ctx context.Context, client rueidis.Client, lists *collection.Timelines) (*Converter, error) {
	merged, err := reply.OrEmpty(client.Do(ctx, client.B().Zrange().Key(storage.CelebritiesKey).Min("0").Max(storage.Itoa(maxMerged)).Build()).AsStrSlice())
	if err != nil {
		return nil, fmt.Errorf("social: read celebrities: %w", err)
	}
	// Without a set of celebrities, the posts of all authors are gathered.
	return &Converter{&Homes{HomeOptions: HomeOptions{DB: storage.NewDatabase(client, false), Lists: lists}}, merged}, nil
}

// Convert makes the home timelines of users complete and permanent. Two round trips, and about six
// more for each timeline that has to be rebuilt.
func (s *Converter) Convert(ctx context.Context, uids ...int64) error {
	incomplete, err := s.incomplete(ctx, uids)
	if err != nil {
		return fmt.Errorf("social: read home timelines: %w", err)
	}
	for _, uid := range incomplete {
		if err := s.complete(ctx, uid); err != nil {
			return fmt.Errorf("social: home timeline of user %d: %w", uid, err)
		}
	}
	calls := make([]script.Call, len(uids))
	for i, uid := range uids {
		calls[i].Keys = []string{storage.HomeKey(uid)}
	}
	return reply.FirstError(convertScript.RunMany(ctx, s.timelines.DB.Client, calls))
}

// incomplete returns the users whose home timelines lack posts, or may lack posts.
func (s *Converter) incomplete(ctx context.Context, uids []int64) ([]int64, error) {
	b := s.timelines.DB.Client.B()
	var cmds rueidis.Commands
	for _, uid := range uids {
		key := storage.HomeKey(uid)
		cmds = append(cmds, b.Llen().Key(key).Build(), b.Lindex().Key(key).Index(-1).Build())
		if len(s.merged) > 0 && len(s.merged) <= maxMerged {
			cmds = append(cmds, b.Zmscore().Key(storage.FollowingKey(uid)).Member(s.merged...).Build())
		}
	}
	results := s.timelines.DB.Client.DoMulti(ctx, cmds...)
	perUser := len(cmds) / len(uids)
	var found []int64
	for i, uid := range uids {
		res := results[i*perUser : (i+1)*perUser]
		length, err := res[0].AsInt64()
		if rediserr.IsWrongType(err) {
			continue // a check reports the key
		}
		if err != nil {
			return nil, err
		}
		last, err := reply.TextOrEmpty(res[1])
		if err != nil {
			return nil, err
		}
		lacks := len(s.merged) > maxMerged || last != "0" && length < storage.TimelineCap
		if perUser > 2 {
			scores, err := reply.OrEmpty(res[2].ToArray())
			if err != nil {
				return nil, err
			}
			lacks = lacks || slices.ContainsFunc(scores, func(score rueidis.RedisMessage) bool { return !score.IsNil() })
		}
		if lacks {
			found = append(found, uid)
		}
	}
	return found, nil
}

// complete adds the posts that belong on a home timeline.
func (s *Converter) complete(ctx context.Context, uid int64) error {
	posts, err := s.timelines.gather(ctx, uid)
	if err != nil {
		return err
	}
	return s.timelines.Lists.PutMany(ctx, storage.HomeKey(uid), posts...)
}

// End finishes the conversion, after Convert was called for all users. One round trip.
func (s *Converter) End(ctx context.Context) error {
	return s.timelines.DB.Client.Do(ctx, s.timelines.DB.Client.B().Del().Key(storage.CelebritiesKey).Build()).Error()
}
