package space

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/maintain"
)

// Hashes are written with their points, and points that disagree are repaired.
func TestHashes(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), redistest.DB(t).Client(t)
	x := newIndex(t, c, "points", "x:int(0..400),f:float(-1..1)", Options{Partitions: 2})
	key := func(id string) string { return "point:" + id }
	for i := range 30 {
		id := fmt.Sprint(i)
		if err := x.PutHash(ctx, id, key(id), map[string]string{"x": id, "f": "0.25", "name": "p" + id}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.PutHash(ctx, "1", key("1"), map[string]string{"x": "100"}); err != nil {
		t.Fatal(err)
	}
	if err := x.PutHash(ctx, "1", key("1"), map[string]string{"x": "401"}); !errors.Is(err, index.ErrValue) {
		t.Error(err)
	}
	if was, err := x.RemoveHash(ctx, "2", key("2")); err != nil || !was {
		t.Error(was, err)
	}
	src, err := x.Hashes("point:*")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := x.Verify(ctx, &src, maintain.Options{}); err != nil || r.Problems() != 0 || r.Checked != 58 {
		t.Errorf("%+v, %v", r, err)
	}
	c.Do(ctx, c.B().Hset().Key(key("1")).FieldValue().FieldValue("f", "0.5").Build())
	c.Do(ctx, c.B().Del().Key(key("3")).Build())
	entries := list(t, x.Select(ctx, Box{{}, {}}, index.Page{}))
	entries = append(entries, Entry{ID: "4", Values: []any{4, 0.25}})
	found, report, err := x.Fetch(ctx, entries, index.FetchOptions{Key: key, Fields: []string{"name"}, Repair: true})
	if err != nil || len(found) != 29 || report.Stale != 1 || report.Dangling != 1 || report.Repaired != 2 {
		t.Errorf("%d, %+v, %v", len(found), report, err)
	}
	if i := slices.IndexFunc(found, func(f index.Fetched) bool { return f.Stale }); i < 0 || found[i].ID != "1" || fmt.Sprint(found[i].Fields) != "map[name:p1]" {
		t.Errorf("%v", found)
	}
	if r, err := x.Verify(ctx, &src, maintain.Options{}); err != nil || r.Problems() != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, _, err := x.Fetch(ctx, []Entry{{ID: "1", Values: []any{1}}}, index.FetchOptions{}); !errors.Is(err, index.ErrValue) {
		t.Error(err)
	}
	if x.PartitionKey("1") != x.reader.set.Of("1").Index {
		t.Error(x.PartitionKey("1"))
	}
}

// Places are compared with hashes, too, whether they were read or not.
func TestFetchPlaces(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := newGeo(t, []Place{{ID: "Palermo", Lat: 38.115556, Lon: 13.361389}, {ID: "Catania", Lat: 37.502669, Lon: 15.087269}}, 1)
	key := func(id string) string { return "city:" + id }
	if err := g.Index().PutHash(ctx, "Catania", key("Catania"), map[string]string{"lat": "37.502669", "lon": "15.087269"}); err != nil {
		t.Fatal(err)
	}
	near, err := g.Nearest(ctx, 38, 14, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, places := range [][]Place{near, {{ID: "Catania", Lat: 37.502669, Lon: 15.087269}, {ID: "Palermo", Lat: 38.115556, Lon: 13.361389}}} {
		found, report, err := g.Fetch(ctx, places, index.FetchOptions{Key: key})
		if err != nil || len(found) != 1 || found[0].Stale || report.Dangling != 1 || report.Problems() != 1 {
			t.Errorf("%v, %+v, %v", found, report, err)
		}
	}
}
