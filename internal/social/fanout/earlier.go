package fanout

import (
	"context"
	"fmt"

	"retwis/internal/redis/rediserr"
	"retwis/internal/social/layout"
)

// Processes of earlier versions note the posts that are on their way in a sorted set of
// their own, `fanouts`, as "<id>:<author>:<time>", the oldest of them as "<id>". One can
// run beside this one, so that what reads `tasks` reads `fanouts` too.

// takenOverAtOnce is how many members are taken over at a time.
const takenOverAtOnce = 100

// earlierMembers are the members of `fanouts` that can stand for a post.
func earlierMembers(post, author int64, time string) []string {
	return []string{identity(post, author, time), layout.Itoa(post)}
}

// takeOver makes tasks of the fan-outs that dead processes of earlier versions left
// unfinished. One round trip where there are none.
func (j *Jobs) takeOver(ctx context.Context) error {
	for {
		members, err := j.client.Do(ctx, j.client.B().Zrange().Key(layout.FanOuts).
			Min("-inf").Max(layout.Itoa(j.ledger.Stale())).Byscore().Limit(0, takenOverAtOnce).Withscores().Build()).AsZScores()
		if rediserr.IsWrongType(err) { // a check reports it
			return nil
		}
		if err != nil {
			return fmt.Errorf("social: key %s: %w", layout.FanOuts, err)
		}
		for _, m := range members {
			if _, err := j.takeOverOne(ctx, m.Member, m.Score); err != nil {
				return err
			}
		}
		if len(members) < takenOverAtOnce {
			return nil
		}
	}
}

// takeOverOne makes a task of a member of `fanouts`, which it returns: empty where there is
// no such post. A task from before stays as it is. It can be repeated.
func (j *Jobs) takeOverOne(ctx context.Context, earlier string, renewed float64) (string, error) {
	member, err := j.earlierTask(ctx, earlier)
	if err != nil {
		return "", err
	}
	if member == "" {
		j.log.WarnContext(ctx, "removed a member of the unfinished fan-outs that names no post", "member", earlier)
	} else {
		err = j.client.Do(ctx, j.client.B().Zadd().Key(layout.Tasks).Nx().ScoreMember().ScoreMember(renewed, member).Build().ToRetryable()).Error()
	}
	if err == nil {
		err = j.client.Do(ctx, j.client.B().Zrem().Key(layout.FanOuts).Member(earlier).Build().ToRetryable()).Error()
	}
	if err != nil {
		return "", fmt.Errorf("social: take over %.80q of %s: %w", earlier, layout.FanOuts, err)
	}
	return member, nil
}

// ClaimEarlier is task.Engine.Claim for a member of `fanouts`.
func (j *Jobs) ClaimEarlier(ctx context.Context, earlier string, stale int64) (bool, error) {
	member, err := j.takeOverOne(ctx, earlier, float64(stale))
	if err != nil || member == "" {
		return err == nil, err
	}
	return j.tasks.Claim(ctx, member, stale)
}

// earlierTask returns the task of a member of `fanouts`, empty where there is no such post.
func (j *Jobs) earlierTask(ctx context.Context, earlier string) (string, error) {
	if post, isBare := layout.ParseID(earlier); isBare {
		s, err := j.writer.readStub(ctx, post)
		if rediserr.IsWrongType(err) || err == nil && !s.exists {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		earlier = s.argument()
	}
	if _, _, _, ok := parseIdentity(earlier); !ok {
		return "", nil
	}
	return postKind + ":" + earlier, nil
}
