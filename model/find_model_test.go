package model_test

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"retwis/model"
)

// queryModel is a model and the records that it should have.
type queryModel struct {
	things  *model.Store[thing]
	records []thing            // records that have not expired
	among   []model.Collection // queries are restricted to the members of these

	created  func(a, b *thing) int // compares by creation
	answered *int                  // number of queries on indexes that do not contain all records
}

// find returns the query for a condition among the members of the collections.
func (f *queryModel) find(cond model.Cond) *model.Query[thing] {
	q := f.things.Find(cond)
	for _, c := range f.among {
		q = q.Among(c)
	}
	return q
}

// checkQuery draws a query and checks the results of its methods.
func (f *queryModel) checkQuery(ctx context.Context, t *rapid.T) {
	drawn := drawTree(t, 3)
	o := some(t, "order", orders()...)
	q := f.find(drawn.cond).OrderBy(o.fields...)
	if o.created {
		q = q.Newest().Reverse()
	}
	ordered := len(o.fields) > 0 || o.created
	reversed := ordered && rapid.Bool().Draw(t, "desc")
	if reversed {
		q = q.Reverse()
	}
	mayLackIndex := drawn.mayLackIndex || o.mayLackIndex
	noIndex := func(err error) bool { return mayLackIndex && errors.Is(err, model.ErrNoIndex) }
	if err := q.Check(); err != nil && !noIndex(err) {
		t.Fatal(err)
	}
	compare := o.compare
	if o.created {
		compare = f.created
	}
	var fitting, want []string
	byID := map[string]*thing{}
	for i := range f.records {
		x := &f.records[i]
		if byID[x.ID] = x; drawn.fits(x) {
			fitting = append(fitting, x.ID)
			if o.has(x) {
				want = append(want, x.ID)
			}
		}
	}
	limit := rapid.IntRange(0, 7).Draw(t, "limit")
	n, err := q.Count(ctx)
	if !noIndex(err) && (err != nil || int(n) != len(fitting)) {
		explained, _ := f.find(drawn.cond).Explain(ctx)
		t.Fatalf("counted %d, %v; want %d\n%s", n, err, len(fitting), explained)
	}
	countable := err == nil
	all, err := q.Slice(ctx)
	if noIndex(err) {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	if mayLackIndex {
		*f.answered++
	}
	got := idsOf(all)
	explained, err := q.Explain(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) && len(got)+len(want) > 0 {
		t.Fatalf("found %q, want %q\n%s", got, want, explained)
	}
	for i := 1; i < len(got); i++ {
		c := compare(byID[got[i-1]], byID[got[i]])
		if reversed && c < 0 || !reversed && c > 0 {
			t.Fatalf("%s is before %s\n%s", got[i-1], got[i], explained)
		}
	}
	f.checkPages(ctx, t, q.Limit(limit), got, limit)
	ids, err := q.Limit(limit).IDs(ctx)
	if limit == 0 {
		limit = len(got)
	}
	if err != nil || !slices.Equal(ids, got[:min(limit, len(got))]) && ordered || len(ids) != min(limit, len(got)) {
		t.Fatalf("IDs = %q, %v; want the first of %q", ids, err, got)
	}
	first, err := q.First(ctx)
	if len(got) == 0 && !errors.Is(err, model.ErrNotFound) || len(got) > 0 && (err != nil || !slices.Contains(got, first.ID)) {
		t.Fatalf("First = %v, %v; want one of %q", first.ID, err, got)
	}
	if !countable {
		return
	}
	upTo := rapid.IntRange(1, 10).Draw(t, "up to")
	if n, err := q.CountUpTo(ctx, upTo); err != nil || int(n) != min(upTo, len(fitting)) {
		t.Fatalf("CountUpTo(%d) = %d of %d, %v\n%s", upTo, n, len(fitting), err, explained)
	}
	f.checkFacets(ctx, t, q, fitting)
}

// checkFacets checks CountBy, which counts matching records by the values of a field.
func (f *queryModel) checkFacets(ctx context.Context, t *rapid.T, q *model.Query[thing], fitting []string) {
	fold := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "ß", "ss") }
	values := map[string]func(x *thing) []string{
		"name": func(x *thing) []string { return []string{fold(x.Name)} },
		"long": func(x *thing) []string { return []string{short(x.Long)} },
		"tags": func(x *thing) []string { return slices.Compact(slices.Sorted(slices.Values(x.Tags))) },
		"live": func(x *thing) []string { return []string{map[bool]string{true: "1", false: "0"}[x.Live]} },
		"boss": func(x *thing) []string {
			if x.Boss.ID == "" {
				return nil
			}
			return []string{x.Boss.ID}
		},
	}
	field := some(t, "facets", "name", "long", "tags", "live", "boss")
	counts := map[string]int64{}
	for i := range f.records {
		if x := &f.records[i]; slices.Contains(fitting, x.ID) {
			for _, v := range values[field](x) {
				counts[v]++
			}
		}
	}
	want := []model.ValueCount{}
	for v, n := range counts {
		want = append(want, model.ValueCount{Value: v, Count: n})
	}
	slices.SortFunc(want, func(a, b model.ValueCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	maxValues := rapid.IntRange(0, 4).Draw(t, "values")
	if maxValues > 0 {
		want = want[:min(maxValues, len(want))]
	}
	if got, err := q.CountBy(ctx, field, maxValues); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%s: counted %v, %v; want %v", field, got, err, want)
	}
}

// checkPages reads the pages of a query forward and back, and compares them with all results.
func (f *queryModel) checkPages(ctx context.Context, t *rapid.T, q *model.Query[thing], all []string, limit int) {
	var got []string
	var pageIDs [][]string
	prev := ""
	for pages, cursor := 0, ""; ; pages++ {
		page, err := q.After(cursor).Page(ctx)
		if err != nil || pages > len(all) {
			t.Fatalf("page %d: %v", pages, err)
		}
		got = append(got, idsOf(page.Items)...)
		pageIDs = append(pageIDs, idsOf(page.Items))
		if prev = page.Prev; (prev == "") != (cursor == "" || len(page.Items) == 0) {
			t.Fatalf("page %d with %d records has the cursor Prev %q", pages, len(page.Items), prev)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
		if limit > 0 && len(page.Items) != limit {
			t.Fatalf("page %d has %d records, want %d", pages, len(page.Items), limit)
		}
	}
	for i := len(pageIDs) - 2; i >= 0 && prev != ""; i-- {
		page, err := q.Before(prev).Page(ctx)
		if err != nil || !slices.Equal(idsOf(page.Items), pageIDs[i]) || page.Next == "" || (page.Prev == "") != (i == 0) {
			t.Fatalf("before page %d: %q, want %q; %q, %q, %v", i+1, idsOf(page.Items), pageIDs[i], page.Prev, page.Next, err)
		}
		prev = page.Prev
	}
	// Without an order, the plan of the pages may differ from that of the query without a limit,
	// so only the sets of ids are compared.
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(all)); !slices.Equal(got, want) {
		t.Fatalf("pages %q, want %q", got, want)
	}
}

func idsOf(things []thing) []string {
	ids := make([]string, len(things))
	for i := range things {
		ids[i] = things[i].ID
	}
	return ids
}

// checkSingle reads single records and single fields: Get finds a record if and only if the query
// does, and Pluck returns the field values of the records.
func (f *queryModel) checkSingle(ctx context.Context, t *rapid.T) {
	drawn := drawTree(t, 2)
	q := f.find(drawn.cond)
	if drawn.mayLackIndex {
		return
	}
	for i := range f.records {
		x := &f.records[i]
		has, err := q.Has(ctx, x.ID)
		if err != nil || has != drawn.fits(x) {
			t.Fatalf("Has(%s) = %v, %v", x.ID, has, err)
		}
		got, err := q.Limit(1).Get(ctx, x.ID)
		if has && (err != nil || got.ID != x.ID) || !has && !errors.Is(err, model.ErrNotFound) {
			t.Fatalf("Get(%s) = %v, %v; Has = %v", x.ID, got, err, has)
		}
	}
	if has, err := q.Has(ctx, "none"); has || err != nil {
		t.Fatalf("Has of a missing record = %v, %v", has, err)
	}
	o := some(t, "order", orders()...)
	if o.mayLackIndex {
		return
	}
	all, err := q.OrderBy(o.fields...).Slice(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for i := range all {
		want = append(want, all[i].ID+" "+all[i].Long)
	}
	var longs []string
	for long, err := range model.Pluck[string](ctx, q.OrderBy(o.fields...), "long") {
		if err != nil {
			t.Fatal(err)
		}
		longs = append(longs, long)
	}
	for i := range longs {
		got = append(got, all[min(i, len(all)-1)].ID+" "+longs[i])
	}
	if !slices.Equal(got, want) && len(o.fields) > 0 || len(got) != len(want) {
		t.Fatalf("Pluck: %q, want %q", got, want)
	}
	for i := range all {
		if score, err := model.Field[*float64](ctx, f.things, all[i].ID, "score"); err != nil || (score == nil) != (all[i].Score == nil) {
			t.Fatalf("Field score of %s = %v, %v; want %v", all[i].ID, score, err, all[i].Score)
		}
		if born, err := model.Field[time.Time](ctx, f.things, all[i].ID, "born"); err != nil || !born.Equal(all[i].Born) {
			t.Fatalf("Field born of %s = %v, %v; want %v", all[i].ID, born, err, all[i].Born)
		}
	}
}
