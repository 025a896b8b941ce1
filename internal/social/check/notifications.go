package check

import (
	"context"
	"fmt"

	"retwis/internal/redis/reply"
	"retwis/internal/social/notify"
	"retwis/maintain"
)

// noticeCheck checks notifications.
type noticeCheck struct{ check *checker }

// inbox checks that each notification can be read.
func (c *noticeCheck) inbox(ctx context.Context, key string) error {
	list, err := reply.OrEmpty(c.check.client.Do(ctx, c.check.client.B().Lrange().Key(key).Start(0).Stop(-1).Build()).AsStrSlice())
	if err != nil {
		return err
	}
	for _, text := range list {
		if notify.IsValid(text) {
			continue
		}
		p := Problem{Kind: maintain.Invalid, Key: key, Detail: fmt.Sprintf("not a notification: %.60q", text), Repair: "remove it"}
		err := c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.check.client.Do(ctx, c.check.client.B().Lrem().Key(key).Count(0).Element(text).Build()).AsBool()
		})
		if err != nil {
			return err
		}
	}
	return c.check.run.Pace(ctx, len(list))
}
