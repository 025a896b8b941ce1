package space

import (
	"context"

	"retwis/index"
	"retwis/index/internal/entries"
	"retwis/maintain"
)

// Fetch gets the hashes of points returned by a query, in their order, compares points with
// hashes, and repairs the points if opt.Repair is set: see index.Composite.Fetch. Each dimension
// is read from the field of the same name.
func (x *Index) Fetch(ctx context.Context, read []Entry, opt index.FetchOptions) ([]index.Fetched, maintain.Report, error) {
	all := make([]entries.Entry, len(read))
	for i, e := range read {
		all[i] = entries.Entry{ID: e.ID, Value: e.member}
		if e.member == "" { // not returned by a query
			var err error
			if all[i].Value, err = x.reader.points.member(e.ID, e.Values); err != nil {
				return nil, maintain.Report{}, x.reader.wrap(err)
			}
		}
	}
	var names []string
	for d := range x.reader.points.axes {
		names = append(names, x.reader.points.axes[d].Name)
	}
	return entries.Fetch[index.Fetched](ctx, x.reader.entries, all, entries.Hashes{
		Key: opt.Key, Fields: opt.Fields, Repair: opt.Repair, Needs: names,
		Value: func(id string, fields map[string]string) (string, bool, error) {
			values, ok, err := x.reader.points.parse(id, fields)
			if !ok || err != nil {
				return "", false, err
			}
			m, err := x.reader.points.member(id, values)
			return m, true, err
		},
	})
}
