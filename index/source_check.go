package index

import (
	"context"

	engine "retwis/internal/maintain"
	"retwis/maintain"
)

// sourceCheck looks at the objects: does the index say what they say?
type sourceCheck struct {
	*kept
	r *engine.Run
	m *mender
}

func (c sourceCheck) run(ctx context.Context, src Source[string]) error {
	var ids, wants []string
	invalids := 0
	step := func() error {
		if len(ids) > 0 {
			if err := c.page(ctx, ids, wants); err != nil {
				return err
			}
		}
		n := len(ids) + invalids
		ids, wants, invalids = nil, nil, 0
		return c.r.Step(ctx, n)
	}
	for o, err := range src.All(ctx) {
		if err != nil {
			return err
		}
		if o.Err == nil {
			o.Err = c.check(o.ID, o.Value)
		}
		if o.Err != nil {
			c.r.Found(maintain.Problem{Kind: maintain.Invalid, ID: o.ID, Found: o.Err.Error()})
			invalids++
		} else {
			ids, wants = append(ids, o.ID), append(wants, o.Value)
		}
		if len(ids)+invalids == upkeepStep {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return step()
}

func (c sourceCheck) page(ctx context.Context, ids, wants []string) error {
	found, err := c.values(ctx, ids)
	if err != nil {
		return err
	}
	var wrong []string
	for i, id := range ids {
		if found[i] == wants[i] {
			continue
		}
		p := maintain.Problem{Kind: maintain.Missing, ID: id, Want: c.describe(wants[i])}
		if found[i] != "" {
			p.Kind, p.Found = maintain.Stale, c.describe(found[i])
		}
		c.r.Found(p)
		wrong = append(wrong, id)
	}
	return c.m.recheck(ctx, c.r, wrong)
}
