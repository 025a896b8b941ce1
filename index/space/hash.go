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

// Fetch gets the hashes of places that were read: see Index.Fetch. The fields are lat and
// lon.
func (g *Geo) Fetch(ctx context.Context, places []Place, opt index.FetchOptions) ([]index.Fetched, maintain.Report, error) {
	entries := make([]Entry, len(places))
	for i, p := range places {
		entries[i] = Entry{ID: p.ID, Values: []any{degrees(p.Lat), degrees(p.Lon)}, member: p.member}
	}
	return g.x.Fetch(ctx, entries, opt)
}

// PutHash sets fields of a hash and puts its point in one script: see
// index.Composite.PutHash. The dimensions are the fields of their names.
func (x *Index) PutHash(ctx context.Context, id, key string, fields map[string]string) error {
	return x.reader.lex.PutHash(ctx, id, key, fields, x.reader.points.hashMember())
}

// RemoveHash removes a hash and its point in one script: see index.Composite.PutHash.
func (x *Index) RemoveHash(ctx context.Context, id, key string) (bool, error) {
	return x.reader.lex.RemoveHash(ctx, id, key)
}

// PartitionKey returns the key of the sorted set that has the point of an id: that of the
// index, or of one of its partitions.
func (x *Index) PartitionKey(id string) string { return x.reader.set.Of(id).Index }

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
