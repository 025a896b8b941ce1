package unique

import (
	"context"
	"errors"
	"fmt"

	"retwis/model/internal/schema"
)

// A record that goes without a unique value, because another has it, waits for it:
// when the owner leaves the value, the record that waits is brought into the index.
// Migrate and Repair write down who waits; the meta of a model that is not spread
// says that somebody does, so that scripts report the values that records leave.

// waitingFor is how the members of user.waiting begin that wait for a value. The id
// follows.
func waitingFor(e schema.Entry) string {
	return fmt.Sprintf("%d:%d:%s", e.Index.Number, len(e.Value), e.Value)
}

// waitersAtOnce is how many of those who wait for a value are looked at when it is
// left. There is one owner: the others go on waiting.
const waitersAtOnce = 16

// wait writes down that a record waits for a value. First what is asked for by
// scripts, and then who it is.
func (u *Claims) Enqueue(ctx context.Context, id string, e schema.Entry) error {
	p := u.UniquePartition(e)
	return errors.Join(
		u.Client.Do(ctx, u.Client.B().Zadd().Key(p.Waiting).ScoreMember().ScoreMember(0, waitingFor(e)+id).Build()).Error(),
		u.Client.Do(ctx, u.Client.B().Hset().Key(p.Meta).FieldValue().FieldValue("waiting", "1").Build()).Error(),
	)
}

// handOver brings those who wait for a value that was left into its index: the first
// has it then.
func (u *Claims) handOver(ctx context.Context, e schema.Entry) error {
	p := u.UniquePartition(e)
	prefix := waitingFor(e)
	from, to := schema.PrefixRange(prefix).Lex()
	members, err := u.Client.Do(ctx, u.Client.B().Zrange().Key(p.Waiting).Min(from).Max(to).Bylex().Limit(0, waitersAtOnce).Build()).AsStrSlice()
	if err != nil || len(members) == 0 {
		return err
	}
	for _, member := range members {
		// One that has to wait again is written down again.
		if err := u.Client.Do(ctx, u.Client.B().Zrem().Key(p.Waiting).Member(member).Build()).Error(); err != nil {
			return err
		}
		if err := u.Align(ctx, []string{member[len(prefix):]}); err != nil {
			return err
		}
	}
	return nil
}
