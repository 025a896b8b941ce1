package model_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"retwis/model"
)

// thing is a record with a field of every searchable kind.
type thing struct {
	ID      string           `redis:",id"`
	Name    string           `redis:"name,index,caseinsensitive"`
	Long    string           `redis:"long,index"`
	Age     int8             `redis:"age,range"`
	Score   *float64         `redis:"score,range"`
	City    string           `redis:"city,range"`
	Tags    []string         `redis:"tags,index"`
	Nums    []int            `redis:"nums,range"`
	Mail    *string          `redis:"mail,unique"`
	Nicks   []string         `redis:"nicks,unique,caseinsensitive"`
	Boss    model.Ref[thing] `redis:"boss,index"`
	Born    time.Time        `redis:"born,range"`
	Seen    time.Time        `redis:"seen,range,unix"`
	Took    time.Duration    `redis:"took,range"`
	Live    bool             `redis:"live,index"`
	Big     uint64           `redis:"big,range"`
	Data    []byte           `redis:"data,range"`
	Room    int              `redis:"room"`
	Price   float64          `redis:"price"`
	Row     int              `redis:"row"`
	Seat    int              `redis:"seat"`
	Place   string           `redis:"place"`
	Day     int              `redis:"day"`
	Due     *int             `redis:"due"`
	Parts   []string         `redis:"parts"`
	Hits    int              `redis:"hits,counter,range,min=-3,max=9"`
	Total   *int64           `redis:"total,counter,range"`
	Plain   int              `redis:"plain,counter"`
	Friends model.Set        `redis:"friends" json:"-"`
	History model.List       `redis:"history" json:"-"`
	Made    time.Time        `redis:"made,created,range"`
	Changed time.Time        `redis:",updated"`
	Version int64            `redis:",version"`
	Expires time.Time        `redis:",expires"`
}

// computes reports whether things have computed indexes; without computed indexes, Incr and Touch
// use scripts of their own. Only TestAgainstMaps uses things, and it draws the value.
var computes bool

func (thing) Indexes() []model.Index[thing] {
	all := []model.Index[thing]{
		model.Composite[thing]("city", "age desc"),
		model.Composite[thing]("room", "price desc"),
		model.Composite[thing]("tags", "age"),
		model.Composite[thing]("live", "score"), // not all things have a score
		model.Composite[thing]("row", "seat").Unique(),
		model.Composite[thing]("live", "hits desc"),
		model.Composite[thing]("city", "room").CaseInsensitive(),
		model.Composite[thing]("name", "room"), // case-sensitive, unlike the field
		model.Composite[thing]("made", "plain desc"),
		// These indexes do not contain all records.
		model.Composite[thing]("place", "due"),
		model.Composite[thing]("day", "parts"),
		model.Composite[thing]("due", "day"),
		model.Composite[thing]("place", "day", "due"),
	}
	if computes {
		all = append(all, model.Computed("initial", func(t thing) *string {
			if t.City == "" {
				return nil
			}
			s := t.City[:1]
			return &s
		}), model.Computed("words", func(t thing) []string { return strings.Fields(t.Long) }).CaseInsensitive())
	}
	return all
}

// day is the reference time of the drawn times.
var day = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// some draws one of the values.
func some[V any](t *rapid.T, name string, values ...V) V {
	return rapid.SampledFrom(values).Draw(t, name)
}

func cities() []string { return []string{"", "a", "A", "a\x00", "ab", "abc", "b", "ba", "ÿ", "ÿÿ"} }

func longs() []string {
	return []string{"", "One two", "two three one", strings.Repeat("x ", 40), strings.Repeat("x ", 41)}
}

// drawThing draws a record with values from a small range, so that many are equal.
func drawThing(t *rapid.T, n int) thing {
	x := thing{
		Name: some(t, "name", "", "Ada", "ada", "Straße", "STRASSE", "Ben"), Long: some(t, "long", longs()...),
		Age: some[int8](t, "age", -128, -1, 0, 1, 2, 3, 127), City: some(t, "city", cities()...),
		Boss: model.To[thing](some(t, "boss", "", "1", "2")), Took: some(t, "took", 0, time.Second, -time.Hour),
		Live: rapid.Bool().Draw(t, "live"), Big: some[uint64](t, "big", 0, 1, 1<<63, 1<<64-1),
		Room: some(t, "room", 1, 2), Price: some(t, "price", -1.5, 0, 2.5, 1e300), Row: n / 5, Seat: n % 5,
	}
	x.Place, x.Day, x.Hits = some(t, "place", "a", "b", "c"), rapid.IntRange(0, 2).Draw(t, "day"), rapid.IntRange(-3, 9).Draw(t, "hits")
	x.Due = some(t, "due", nil, nil, ptr(0), ptr(1), ptr(2), ptr(3))
	x.Parts = some(t, "parts", nil, []string{}, []string{"a"}, []string{"a", "b"})
	x.Score = some(t, "score", nil, ptr(-0.5), ptr(0.0), ptr(7.25))
	x.Tags = some(t, "tags", nil, []string{}, []string{"x"}, []string{"y", "x", "y"}, []string{"x", "y", "z"})
	x.Nums = some(t, "nums", nil, []int{1}, []int{1, 2, 3}, []int{3, -7}, []int{9, 2})
	x.Data = some(t, "data", nil, []byte{}, []byte("d\x00"), []byte("dd"), []byte("\xff"), []byte("\xff\xff"))
	x.Born = some(t, "born", time.Time{}, day, day.Add(1), day.AddDate(-300, 0, 0))
	x.Seen = some(t, "seen", time.Time{}, day, day.Add(time.Second))
	if rapid.Bool().Draw(t, "mail") {
		x.Mail = ptr(fmt.Sprintf("m%d", n))
	}
	if rapid.Bool().Draw(t, "nicks") {
		x.Nicks = []string{fmt.Sprintf("n%d", n), fmt.Sprintf("k%d", n)}
	}
	switch some(t, "expires", 0, 0, 1, 2) {
	case 1:
		x.Expires = day.AddDate(100, 0, 0)
	case 2:
		x.Expires = day.AddDate(-100, 0, 0)
	}
	return x
}

// drawnCond is a condition and the equivalent predicate.
type drawnCond struct {
	cond         model.Cond
	fits         func(*thing) bool
	mayLackIndex bool // the query may return ErrNoIndex, because no index contains all records
}

// drawCond draws a condition on a field. valuesOf returns the values of the field in a record.
func drawCond[V any](t *rapid.T, field string, exactOnly bool, compare func(a, b V) int, valuesOf func(*thing) []V, values ...V) drawnCond {
	anyOf := func(holds func(V) bool) func(*thing) bool {
		return func(x *thing) bool { return slices.ContainsFunc(valuesOf(x), holds) }
	}
	a, b := some(t, "a", values...), some(t, "b", values...)
	ops := []string{"eq", "in", "between", "atleast", "atmost", "above", "below"}
	if exactOnly {
		ops = ops[:2]
	}
	switch some(t, field, ops...) {
	case "eq":
		return drawnCond{cond: model.Eq(field, a), fits: anyOf(func(v V) bool { return compare(v, a) == 0 })}
	case "in":
		list := []V{a, b}[:rapid.IntRange(0, 2).Draw(t, "n")]
		return drawnCond{cond: model.In(field, list...), fits: anyOf(func(v V) bool {
			return slices.ContainsFunc(list, func(w V) bool { return compare(v, w) == 0 })
		})}
	case "between":
		return drawnCond{cond: model.Between(field, a, b), fits: anyOf(func(v V) bool { return compare(v, a) >= 0 && compare(v, b) <= 0 })}
	case "atleast":
		return drawnCond{cond: model.AtLeast(field, a), fits: anyOf(func(v V) bool { return compare(v, a) >= 0 })}
	case "atmost":
		return drawnCond{cond: model.AtMost(field, a), fits: anyOf(func(v V) bool { return compare(v, a) <= 0 })}
	case "above":
		return drawnCond{cond: model.Above(field, a), fits: anyOf(func(v V) bool { return compare(v, a) > 0 })}
	}
	return drawnCond{cond: model.Below(field, a), fits: anyOf(func(v V) bool { return compare(v, a) < 0 })}
}

// single returns a valuesOf function for a field that always has one value.
func single[V any](valueOf func(*thing) V) func(*thing) []V {
	return func(x *thing) []V { return []V{valueOf(x)} }
}

// optional returns a valuesOf function for a pointer.
func optional[V any](valueOf func(*thing) *V) func(*thing) []V {
	return func(x *thing) []V {
		if v := valueOf(x); v != nil {
			return []V{*v}
		}
		return nil
	}
}

// notZero returns a valuesOf function for a time, which is absent if it is zero.
func notZero(valueOf func(*thing) time.Time) func(*thing) []time.Time {
	return func(x *thing) []time.Time {
		if v := valueOf(x); !v.IsZero() {
			return []time.Time{v}
		}
		return nil
	}
}

// unindexed marks a condition on a field without an index that contains all records.
func unindexed(c drawnCond) drawnCond {
	c.mayLackIndex = true
	return c
}

func byText(a, b []byte) int { return strings.Compare(string(a), string(b)) }

// folded compares texts without regard to case.
func folded(a, b string) int {
	fold := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "ß", "ss") }
	return strings.Compare(fold(a), fold(b))
}

func drawField(t *rapid.T) string {
	fields := []string{
		"name", "long", "age", "score", "city", "tags", "nums", "mail", "nicks", "boss", "born", "seen", "took",
		"live", "big", "data", "room", "price", "seat", "prefix", "hits", "total", "place", "day", "due", "parts",
	}
	if computes {
		fields = append(fields, "initial", "words")
	}
	return some(t, "field", fields...)
}

// drawLeaf draws a condition on a field, or a condition that also needs other fields.
func drawLeaf(t *rapid.T, field string) drawnCond {
	switch field {
	case "name":
		return drawCond(t, "name", true, folded, single(func(x *thing) string { return x.Name }), "ADA", "strasse", "Straße", "nobody", "")
	case "long":
		return drawCond(t, "long", true, strings.Compare, single(func(x *thing) string { return x.Long }), longs()...)
	case "age":
		return drawCond(t, "age", false, cmp.Compare[int8], single(func(x *thing) int8 { return x.Age }), -128, -1, 0, 1, 3, 100, 127)
	case "score":
		return drawCond(t, "score", false, cmp.Compare[float64], optional(func(x *thing) *float64 { return x.Score }), -1, -0.5, 0, 7.25)
	case "city":
		return drawCond(t, "city", false, strings.Compare, single(func(x *thing) string { return x.City }), cities()...)
	case "tags":
		return drawCond(t, "tags", true, strings.Compare, func(x *thing) []string { return x.Tags }, "x", "y", "z", "nothing")
	case "nums":
		return drawCond(t, "nums", false, cmp.Compare[int], func(x *thing) []int { return x.Nums }, -7, 0, 1, 2, 3, 9)
	case "mail":
		return drawCond(t, "mail", true, strings.Compare, optional(func(x *thing) *string { return x.Mail }), "m1", "m2", "m3", "m99")
	case "nicks":
		return drawCond(t, "nicks", true, folded, func(x *thing) []string { return x.Nicks }, "n1", "N2", "Strasse", "k3", "n99")
	case "boss":
		return drawCond(t, "boss", true, strings.Compare, func(x *thing) []string {
			if x.Boss.IsZero() {
				return nil
			}
			return []string{x.Boss.ID}
		}, "1", "2", "3")
	case "born":
		return drawCond(t, "born", false, time.Time.Compare, notZero(func(x *thing) time.Time { return x.Born }), day, day.Add(1), day.AddDate(-400, 0, 0))
	case "seen":
		return drawCond(t, "seen", false, time.Time.Compare, notZero(func(x *thing) time.Time { return x.Seen }), day, day.Add(time.Second))
	case "took":
		return drawCond(t, "took", false, cmp.Compare[time.Duration], single(func(x *thing) time.Duration { return x.Took }), 0, 1, time.Second, -time.Hour)
	case "live":
		return drawCond(t, "live", true, func(a, b bool) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) }, single(func(x *thing) bool { return x.Live }), true, false)
	case "big":
		return drawCond(t, "big", false, cmp.Compare[uint64], single(func(x *thing) uint64 { return x.Big }), 0, 2, 1<<63, 1<<64-1)
	case "data":
		return drawCond(t, "data", false, byText, func(x *thing) [][]byte {
			if x.Data == nil {
				return nil
			}
			return [][]byte{x.Data}
		}, []byte{}, []byte("d"), []byte("d\x00"), []byte("e"), []byte("\xff"), []byte("\xff\xff"))
	case "room":
		return drawCond(t, "room", false, cmp.Compare[int], single(func(x *thing) int { return x.Room }), 1, 2, 3)
	case "price":
		price := drawCond(t, "price", false, cmp.Compare[float64], single(func(x *thing) float64 { return x.Price }), -2, -1.5, 0, 2.5, 1e300)
		room := rapid.IntRange(1, 3).Draw(t, "room")
		return drawnCond{cond: model.And(price.cond, model.Eq("room", room)), fits: func(x *thing) bool { return x.Room == room && price.fits(x) }}
	case "seat":
		row, seats := rapid.IntRange(0, 2).Draw(t, "row"), []int{2, rapid.IntRange(0, 5).Draw(t, "seat")}
		return drawnCond{cond: model.And(model.Eq("row", row), model.In("seat", seats...)), fits: func(x *thing) bool { return x.Row == row && slices.Contains(seats, x.Seat) }}
	case "hits":
		return drawCond(t, "hits", false, cmp.Compare[int], single(func(x *thing) int { return x.Hits }), -3, 0, 5, 9)
	case "total":
		return drawCond(t, "total", false, cmp.Compare[int64], optional(func(x *thing) *int64 { return x.Total }), 0, 1<<59, -1<<59, 1<<62)
	case "place":
		return unindexed(drawCond(t, "place", false, strings.Compare, single(func(x *thing) string { return x.Place }), "a", "b", "c"))
	case "day":
		return unindexed(drawCond(t, "day", false, cmp.Compare[int], single(func(x *thing) int { return x.Day }), 0, 1, 2))
	case "due":
		return unindexed(drawCond(t, "due", false, cmp.Compare[int], optional(func(x *thing) *int { return x.Due }), 0, 1, 2, 3))
	case "parts":
		return unindexed(drawCond(t, "parts", true, strings.Compare, func(x *thing) []string { return x.Parts }, "a", "b", "c"))
	case "initial":
		return drawCond(t, "initial", false, strings.Compare, func(x *thing) []string {
			if x.City == "" {
				return nil
			}
			return []string{x.City[:1]}
		}, "a", "b", "c", "\xc3")
	case "words":
		return drawCond(t, "words", false, folded, func(x *thing) []string { return strings.Fields(x.Long) }, "one", "ONE", "Two", "x", "zzz")
	}
	p := some(t, "prefix", "", "a", "ab", "a\x00", "ÿ", "\xc3", "z")
	if computes && rapid.Bool().Draw(t, "words") {
		p = some(t, "word", "T", "tw", "", "x")
		return drawnCond{cond: model.Prefix("words", p), fits: func(x *thing) bool {
			return slices.ContainsFunc(strings.Fields(x.Long), func(w string) bool { return strings.HasPrefix(strings.ToLower(w), strings.ToLower(p)) })
		}}
	}
	return drawnCond{cond: model.Prefix("city", p), fits: func(x *thing) bool { return strings.HasPrefix(x.City, p) }}
}

// drawTree draws a tree of conditions.
func drawTree(t *rapid.T, depth int) drawnCond {
	if depth == 0 {
		return drawLeaf(t, drawField(t))
	}
	op := some(t, "op", "leaf", "and", "and", "or", "not", "same")
	if op == "leaf" {
		return drawLeaf(t, drawField(t))
	}
	if op == "not" {
		term := drawTree(t, depth-1)
		return drawnCond{model.Not(term.cond), func(x *thing) bool { return !term.fits(x) }, term.mayLackIndex}
	}
	field := ""
	if op == "same" { // conditions on one field, which can overlap
		op, field = some(t, "same", "and", "or"), drawField(t)
	}
	terms := make([]drawnCond, rapid.IntRange(0, 3).Draw(t, "terms"))
	conds := make([]model.Cond, len(terms))
	mayLackIndex := false
	for i := range terms {
		if field != "" {
			terms[i] = drawLeaf(t, field)
		} else {
			terms[i] = drawTree(t, depth-1)
		}
		conds[i] = terms[i].cond
		mayLackIndex = mayLackIndex || terms[i].mayLackIndex
	}
	if op == "and" {
		return drawnCond{model.And(conds...), func(x *thing) bool {
			return !slices.ContainsFunc(terms, func(term drawnCond) bool { return !term.fits(x) })
		}, mayLackIndex}
	}
	return drawnCond{model.Or(conds...), func(x *thing) bool {
		return slices.ContainsFunc(terms, func(term drawnCond) bool { return term.fits(x) })
	}, mayLackIndex}
}

// order is a sort order and the equivalent comparison.
type order struct {
	fields       []string
	has          func(*thing) bool // reports whether a record has the fields
	compare      func(a, b *thing) int
	created      bool // sorts by creation rather than by fields
	mayLackIndex bool // the query may return ErrNoIndex
}

// orders returns the orders to draw from.
func orders() []order {
	always := func(*thing) bool { return true }
	hasDue := func(x *thing) bool { return x.Due != nil }
	byCity := func(a, b *thing) int { return strings.Compare(a.City, b.City) }
	byAge := func(a, b *thing) int { return cmp.Compare(a.Age, b.Age) }
	all := []order{
		{fields: nil, has: always, compare: func(a, b *thing) int { return 0 }},
		{has: always, created: true},
		{fields: []string{"age"}, has: always, compare: byAge},
		{fields: []string{"city"}, has: always, compare: byCity},
		{fields: []string{"city", "age desc"}, has: always, compare: func(a, b *thing) int { return cmp.Or(byCity(a, b), byAge(b, a)) }},
		{fields: []string{"city desc", "age"}, has: always, compare: func(a, b *thing) int { return cmp.Or(byCity(b, a), byAge(a, b)) }},
		{fields: []string{"score"}, has: func(x *thing) bool { return x.Score != nil }, compare: func(a, b *thing) int { return cmp.Compare(*a.Score, *b.Score) }},
		{fields: []string{"born"}, has: func(x *thing) bool { return !x.Born.IsZero() }, compare: func(a, b *thing) int { return a.Born.Compare(b.Born) }},
		{fields: []string{"room desc", "price"}, has: always, compare: func(a, b *thing) int { return cmp.Or(cmp.Compare(b.Room, a.Room), cmp.Compare(a.Price, b.Price)) }},
		{fields: []string{"hits desc"}, has: always, compare: func(a, b *thing) int { return cmp.Compare(b.Hits, a.Hits) }},
		{fields: []string{"made"}, has: always, compare: func(a, b *thing) int { return a.Made.Compare(b.Made) }},
		{fields: []string{"place", "due"}, has: hasDue, compare: func(a, b *thing) int {
			return cmp.Or(strings.Compare(a.Place, b.Place), cmp.Compare(*a.Due, *b.Due))
		}, mayLackIndex: true},
		{fields: []string{"due"}, has: hasDue, compare: func(a, b *thing) int { return cmp.Compare(*a.Due, *b.Due) }, mayLackIndex: true},
		{fields: []string{"day"}, has: always, compare: func(a, b *thing) int { return cmp.Compare(a.Day, b.Day) }, mayLackIndex: true},
		{fields: []string{"big"}, has: always, compare: func(a, b *thing) int { return cmp.Compare(a.Big, b.Big) }},
		{fields: []string{"made", "plain desc"}, has: always, compare: func(a, b *thing) int { return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(b.Plain, a.Plain)) }},
		{fields: []string{"total"}, has: func(x *thing) bool { return x.Total != nil }, compare: func(a, b *thing) int { return cmp.Compare(*a.Total, *b.Total) }},
	}
	if computes {
		all = append(all, order{
			fields: []string{"initial"}, has: func(x *thing) bool { return x.City != "" },
			compare: func(a, b *thing) int { return strings.Compare(a.City[:1], b.City[:1]) },
		})
	}
	return all
}
