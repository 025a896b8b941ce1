package index

import "context"

// sourceCheck looks at the objects: does the index say what they say?
type sourceCheck struct {
	*kept
	r *run
	m *mender
}

func (c sourceCheck) walk(ctx context.Context, src Source[string], from string) error {
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
		return c.r.stepped(ctx, n, ofSource+" "+from)
	}
	for o, err := range src.Walk(ctx, from) {
		if err != nil {
			return err
		}
		if o.Err == nil {
			o.Err = c.check(o.ID, o.Value)
		}
		if o.Err != nil {
			c.r.found(Problem{Kind: invalid, ID: o.ID, Found: o.Err.Error()})
			invalids++
		} else {
			ids, wants = append(ids, o.ID), append(wants, o.Value)
		}
		if o.Cursor != "" {
			from = o.Cursor
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
		p := Problem{Kind: missing, ID: id, Want: c.describe(wants[i])}
		if found[i] != "" {
			p.Kind, p.Found = stale, c.describe(found[i])
		}
		c.r.found(p)
		wrong = append(wrong, id)
	}
	return c.m.recheck(ctx, c.r, wrong)
}
