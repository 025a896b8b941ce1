package unique

import (
	"context"
	"errors"
	"fmt"

	"retwis/model/internal/schema"
)

// A record without a unique value that another record has waits for it: when the owner
// leaves the value, the waiting record enters the index. Migrate and Repair enqueue
// these records. With one partition the meta says that some wait, so that scripts
// report the values that records leave.

// waitingFor returns the prefix of the members of user.waiting that wait for a value.
// The id follows.
func waitingFor(e schema.Entry) string {
	return fmt.Sprintf("%d:%d:%s", e.Index.Number, len(e.Value), e.Value)
}

// waitersAtOnce is how many waiting records are aligned when a value is left. One gets
// it, and the others keep waiting.
const waitersAtOnce = 16

// Enqueue makes a record wait for a value. The member comes first, then the field that
// scripts read.
func (u *Claims) Enqueue(ctx context.Context, id string, e schema.Entry) error {
	p := u.UniquePartition(e)
	return errors.Join(
		u.Client.Do(ctx, u.Client.B().Zadd().Key(p.Waiting).ScoreMember().ScoreMember(0, waitingFor(e)+id).Build()).Error(),
		u.Client.Do(ctx, u.Client.B().Hset().Key(p.Meta).FieldValue().FieldValue("waiting", "1").Build()).Error(),
	)
}

// handOver aligns the records that wait for a value that was left: the first one gets
// it.
func (u *Claims) handOver(ctx context.Context, e schema.Entry) error {
	p := u.UniquePartition(e)
	prefix := waitingFor(e)
	from, to := schema.PrefixRange(prefix).Lex()
	members, err := u.Client.Do(ctx, u.Client.B().Zrange().Key(p.Waiting).Min(from).Max(to).Bylex().Limit(0, waitersAtOnce).Build()).AsStrSlice()
	if err != nil || len(members) == 0 {
		return err
	}
	for _, member := range members {
		// A record that still has to wait is enqueued again.
		if err := u.Client.Do(ctx, u.Client.B().Zrem().Key(p.Waiting).Member(member).Build()).Error(); err != nil {
			return err
		}
		if err := u.Align(ctx, []string{member[len(prefix):]}); err != nil {
			return err
		}
	}
	return nil
}
