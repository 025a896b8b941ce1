package space

import (
	"context"

	"retwis/index"
	"retwis/maintain"
)

// Fetch gets the hashes of points that were read, in their order, compares the two, and on
// request repairs the points: see index.Composite.Fetch. The dimensions are the fields of
// their names.
func (x *Index) Fetch(ctx context.Context, entries []Entry, opt index.FetchOptions) ([]index.Fetched, maintain.Report, error) {
	members := make([]index.Member, len(entries))
	for i, e := range entries {
		members[i] = index.Member{ID: e.ID, Member: e.member}
		if e.member == "" { // it was not read from the index
			var err error
			if members[i], err = x.reader.points.member(e.ID, e.Values); err != nil {
				return nil, maintain.Report{}, x.reader.named(err)
			}
		}
	}
	return x.reader.lex.Fetch(ctx, members, x.reader.points.hashMember(), opt)
}

func (x *points) hashMember() index.HashMember {
	var names []string
	for d := range x.axes {
		names = append(names, x.axes[d].Name)
	}
	return index.HashMember{Fields: names, Member: func(id string, fields map[string]string) (string, bool, error) {
		values, ok, err := x.parse(id, fields)
		if !ok || err != nil {
			return "", false, err
		}
		m, err := x.member(id, values)
		return m.Member, true, err
	}}
}
