package model

import (
	"context"
	"errors"
	"fmt"
)

// A record that goes without a unique value, because another has it, waits for it:
// when the owner leaves the value, the record that waits is brought into the index.
// Migrate and Repair write down who waits; the meta of a model that is not spread
// says that somebody does, so that scripts report the values that records leave.

// waitingFor is how the members of user.waiting begin that wait for a value. The id
// follows.
func waitingFor(e entry) string {
	return fmt.Sprintf("%d:%d:%s", e.index.number, len(e.value), e.value)
}

// waitersAtOnce is how many of those who wait for a value are looked at when it is
// left. There is one owner: the others go on waiting.
const waitersAtOnce = 16

// wait writes down that a record waits for a value. First what is asked for by
// scripts, and then who it is.
func (u *claims) enqueue(ctx context.Context, id string, e entry) error {
	p := u.waitingPart(e)
	return errors.Join(
		u.client.Do(ctx, u.client.B().Zadd().Key(p.waiting).ScoreMember().ScoreMember(0, waitingFor(e)+id).Build()).Error(),
		u.client.Do(ctx, u.client.B().Hset().Key(p.meta).FieldValue().FieldValue("waiting", "1").Build()).Error(),
	)
}

// handOver brings those who wait for a value that was left into its index: the first
// has it then.
func (u *claims) handOver(ctx context.Context, e entry) error {
	p := u.waitingPart(e)
	prefix := waitingFor(e)
	from, to := startingWith(prefix).byLex()
	members, err := u.client.Do(ctx, u.client.B().Zrange().Key(p.waiting).Min(from).Max(to).Bylex().Limit(0, waitersAtOnce).Build()).AsStrSlice()
	if err != nil || len(members) == 0 {
		return err
	}
	for _, member := range members {
		// One that has to wait again is written down again.
		if err := u.client.Do(ctx, u.client.B().Zrem().Key(p.waiting).Member(member).Build()).Error(); err != nil {
			return err
		}
		if err := u.align(ctx, []string{member[len(prefix):]}); err != nil {
			return err
		}
	}
	return nil
}
