package check

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/social/notify"
	"retwis/maintain"
)

// noticeCheck checks notifications.
type noticeCheck struct{ check *checker }

// inbox checks that each notification can be read.
func (c *noticeCheck) inbox(ctx context.Context, key string) error {
	list, err := c.check.client.Do(ctx, c.check.client.B().Lrange().Key(key).Start(0).Stop(-1).Build()).AsStrSlice()
	if err != nil && !rediserr.IsWrongType(err) {
		return err
	}
	for _, text := range list {
		if err := c.notification(ctx, key, text, c.check.client.B().Lrem().Key(key).Count(0).Element(text).Build()); err != nil {
			return err
		}
	}
	return c.check.run.Pace(ctx, len(list))
}

// stream is inbox for the stream of an earlier version.
func (c *noticeCheck) stream(ctx context.Context, key string) error {
	after := "-"
	for {
		page, err := c.check.client.Do(ctx, c.check.client.B().Xrange().Key(key).Start(after).End("+").Count(scanCount).Build()).AsXRange()
		if rediserr.IsWrongType(err) || err == nil && len(page) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		for _, n := range page {
			if err := c.notification(ctx, key, notify.FromStream(n), c.check.client.B().Xdel().Key(key).Id(n.ID).Build()); err != nil {
				return err
			}
		}
		after = "(" + page[len(page)-1].ID
		if err := c.check.run.Pace(ctx, len(page)); err != nil {
			return err
		}
	}
}

// notification reports an entry that cannot be read.
func (c *noticeCheck) notification(ctx context.Context, key, text string, remove rueidis.Completed) error {
	if notify.IsValid(text) {
		return nil
	}
	p := Problem{Kind: maintain.Invalid, Key: key, Detail: fmt.Sprintf("not a notification: %.60q", text), Repair: "remove it"}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return c.check.client.Do(ctx, remove).AsBool() })
}
