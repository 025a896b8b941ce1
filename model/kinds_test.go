package model_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"retwis/index/decimal"

	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

// everything has a field of every kind.
type everything struct {
	Key  int64 `redis:",id"`
	Base       // its fields are promoted
	S    string
	B    bool
	I8   int8    `redis:",range"`
	U    uint64  `redis:",range"`
	F    float64 `redis:",range"`
	F32  float32
	At   time.Time     `redis:",range"`
	Sec  time.Time     `redis:"sec,unix,range"`
	For  time.Duration `redis:",range"`
	Raw  []byte        `redis:",range"`
	P    *int          `redis:",range"`
	PT   *time.Time
	L    []int `redis:",index"`
	Ds   []time.Duration
	M    map[string][]string
	Sub  struct{ A, B int }
	Arr  [3]bool
	Addr netip.Addr `redis:",index"`
	Big  *big.Int
	URL  url.URL
	Refs []model.Ref[everything] `redis:",index"`
	Skip string                  `redis:"-"`
	note string                  // unexported: not stored
}

type Base struct {
	Word string
	Rune rune
}

// drawEverything draws a record whose text is valid UTF-8.
func drawEverything(t *rapid.T) everything {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\x00\x01\xff", "<&>\u2028", strings.Repeat("é", 300)}))
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(-62135596799, 253402300799).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC()
	})
	e := everything{
		Base: Base{Word: toValidUTF8(text.Draw(t, "word")), Rune: rapid.Rune().Draw(t, "rune")},
		S:    toValidUTF8(text.Draw(t, "s")), B: rapid.Bool().Draw(t, "b"), I8: rapid.Int8().Draw(t, "i8"), U: rapid.Uint64().Draw(t, "u"),
		F: rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "f"), F32: rapid.Float32().Draw(t, "f32"),
		At: moment.Draw(t, "at"), Sec: moment.Draw(t, "sec").Truncate(time.Second), For: time.Duration(rapid.Int64().Draw(t, "for")),
		Raw: rapid.SliceOf(rapid.Byte()).Draw(t, "raw"), L: rapid.SliceOf(rapid.Int()).Draw(t, "l"),
		Ds:   rapid.SliceOf(rapid.Just(time.Second)).Draw(t, "ds"),
		M:    rapid.MapOf(rapid.StringMatching("[a-z]*"), rapid.SliceOf(rapid.StringMatching("[a-z]*"))).Draw(t, "m"),
		Addr: netip.AddrFrom4([4]byte{10, 0, 0, rapid.Byte().Draw(t, "addr")}), URL: url.URL{Scheme: "https", Host: "redis.io", Path: "/docs"},
		Refs: []model.Ref[everything]{{ID: "1"}, {ID: "2"}}, Arr: [3]bool{true, false, true},
	}
	e.Sub.A = rapid.Int().Draw(t, "sub")
	if rapid.Bool().Draw(t, "pointers") {
		e.P, e.PT, e.Big = ptr(rapid.Int().Draw(t, "p")), ptr(moment.Draw(t, "pt")), new(big.Int).Lsh(big.NewInt(-3), 100)
	}
	return e
}

func toValidUTF8(s string) string { return strings.ToValidUTF8(s, "?") }

// A named byte slice is stored as bytes, and a struct that marshals itself is a field,
// even if it is embedded.
func TestNamedAndEmbedded(t *testing.T) {
	t.Parallel()
	type hash []byte
	type file struct {
		ID   string `redis:",id"`
		Hash hash   `redis:",index"`
		time.Time
	}
	client := redistest.DB(t).Client(t)
	files := store[file](t, client, model.Options{Name: "file"})
	want := file{Hash: hash("\x00\xff"), Time: time.Unix(7, 0).UTC()}
	want = mustCreate(t, files, want)
	if got, err := files.Find(model.Eq("hash", hash("\x00\xff"))).First(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
	if text, err := client.Do(t.Context(), client.B().Hget().Key("file:1").Field("hash").Build()).ToString(); err != nil || text != "\x00\xff" {
		t.Errorf("the stored hash is %q, %v; want 00ff", text, err)
	}
}

// Records are read as they were written.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	all := store[everything](t, redistest.DB(t).Client(t), model.Options{Name: "all"})
	rapid.Check(t, func(r *rapid.T) {
		e := drawEverything(r)
		e.Skip, e.note = "not stored", "neither"
		created, err := all.Create(t.Context(), e)
		if err != nil {
			r.Fatal(err)
		}
		e.Key = created.Key
		e.Skip, e.note = "", ""
		got, err := all.Get(t.Context(), fmt.Sprint(e.Key))
		if err != nil || !same(got, e) {
			r.Fatalf("read\n%+v, want\n%+v; %v", got, e, err)
		}
	})
}

// same reports whether two records are equal. An empty []byte does not equal nil.
func same(a, b everything) bool {
	if a.Big != nil && b.Big != nil && a.Big.Cmp(b.Big) == 0 {
		a.Big, b.Big = nil, nil
	}
	return reflect.DeepEqual(a, b)
}

// Zero values are stored and read, and so is a struct that only has an id.
func TestRoundTripZero(t *testing.T) {
	t.Parallel()
	type only struct {
		ID string `redis:",id"`
	}
	client := redistest.DB(t).Client(t)
	all := store[everything](t, client, model.Options{Name: "all"})
	e := mustCreate(t, all, everything{})
	if got, err := all.Get(t.Context(), fmt.Sprint(e.Key)); err != nil || !reflect.DeepEqual(got, e) {
		t.Errorf("read %+v, want %+v; %v", got, e, err)
	}
	ids := store[only](t, client, model.Options{Name: "only", IDs: model.ClientAssigned})
	mustCreate(t, ids, only{"me"})
	if got, err := ids.Get(t.Context(), "me"); err != nil || got.ID != "me" {
		t.Errorf("Get: %+v, %v; want id me", got, err)
	}
	require.Fails(t, model.ErrTaken)(ids.Create(t.Context(), only{"me"}))
	checkErr(t, errOf(ids.Save(t.Context(), only{"me"})))
	require.Fails(t, model.ErrNotFound)(ids.Save(t.Context(), only{"you"}))
}

// Create refuses values that cannot be stored, names the field, and writes nothing.
func TestBadValues(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	all := store[everything](t, client, model.Options{Name: "all"})
	for want, e := range map[string]everything{
		"F: NaN":              {F: math.NaN()},
		"F32: +Inf":           {F32: float32(math.Inf(1))},
		"At: the year 10000":  {At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"raw has 1026 bytes":  {Raw: make([]byte, 512)},
		"l has 1001 elements": {L: manyInts(1001)},
		"id \"-7\"":           {Key: -7},
	} {
		if _, err := all.Create(t.Context(), e); !errors.Is(err, model.ErrValue) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	keys, err := client.Do(t.Context(), client.B().Keys().Pattern("all:*").Build()).AsStrSlice()
	if len(keys) > 0 || err != nil {
		t.Errorf("keys %q, %v; want none", keys, err)
	}
}

// manyInts returns the integers from 0 to n-1.
func manyInts(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Records of other programs are read as far as possible: missing fields are zero, unknown fields
// are kept, and damaged fields are reported with key and field.
func TestWrittenByOthers(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	hashes := store[everything](t, client, model.Options{Name: "h"})
	run := func(command ...string) {
		t.Helper()
		require.OK(t)(client.Do(t.Context(), client.B().Arbitrary(command...).Build()).Error())
	}
	run("HSET", "h:1", "word", "hi", "b", "true", "colour", "red")
	got, err := hashes.Get(t.Context(), "1")
	if err != nil || got.Word != "hi" || !got.B || got.I8 != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := hashes.Update(t.Context(), "1", func(e *everything) error { e.I8 = 5; return nil }); err != nil {
		t.Fatal(err)
	}
	require.OK(t)(hashes.Save(t.Context(), got))
	if colour, err := client.Do(t.Context(), client.B().Hget().Key("h:1").Field("colour").Build()).ToString(); colour != "red" {
		t.Errorf("the unknown field is %q, %v; want red", colour, err)
	}
	run("HSET", "h:2", "i8", "1000")
	run("SET", "h:3", "a string")
	for _, test := range []struct {
		id   string
		want string
	}{
		{"2", `key "h:2", field i8: "1000" is not an integer of 8 bits`},
		{"3", `key "h:3" does not hold a hash`},
	} {
		for name, do := range map[string]func() error{
			"Get":     func() error { _, err := hashes.Get(t.Context(), test.id); return err },
			"GetMany": func() error { _, err := hashes.GetMany(t.Context(), test.id); return err },
			"Update": func() error {
				_, err := hashes.Update(t.Context(), test.id, func(*everything) error { return nil })
				return err
			},
		} {
			if err := do(); !errors.Is(err, model.ErrCorrupt) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s %s: %v; want %q", name, test.id, err, test.want)
			}
		}
	}
	for _, id := range []string{"", "x", "01", strings.Repeat("1", 300)} {
		if _, err := hashes.Update(t.Context(), id, func(*everything) error { return nil }); err == nil {
			t.Errorf("id %.10q was accepted", id)
		}
		if _, err := hashes.Get(t.Context(), id); err == nil {
			t.Errorf("id %.10q was read", id)
		}
	}
}

// With Options.Keys, a model writes an existing layout.
func TestExistingLayout(t *testing.T) {
	t.Parallel()
	type legacy struct {
		ID   int64     `redis:",id"`
		Name string    `redis:"username,unique,caseinsensitive"`
		Time time.Time `redis:"time,unix"`
	}
	client := redistest.DB(t).Client(t)
	users := store[legacy](t, client, model.Options{Name: "user", Keys: model.Keys{Counter: "next_user_id", Unique: map[string]string{"username": "users"}}})
	mustCreate(t, users, legacy{Name: "Antirez", Time: time.Unix(1700000000, 0)})
	for _, test := range []struct{ key, field, want string }{
		{"user:1", "username", "Antirez"},
		{"user:1", "time", "1700000000"},
		{"users", "antirez", "1"},
	} {
		if got, err := client.Do(t.Context(), client.B().Hget().Key(test.key).Field(test.field).Build()).ToString(); got != test.want || err != nil {
			t.Errorf("field %s of %s is %q, %v; want %q", test.field, test.key, got, err, test.want)
		}
	}
	if n, err := client.Do(t.Context(), client.B().Get().Key("next_user_id").Build()).ToString(); n != "20" || err != nil { // a process reserves 20 ids at a time
		t.Errorf("the counter is %s, %v; want 20", n, err)
	}
}

// Reads are answered from the cache until the record changes.
func TestCachedReads(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	client := server.Client(t)
	opt := model.Options{Name: "citizen", Cache: time.Minute}
	citizens := store[citizen](t, client, opt)
	c := mustCreate(t, citizens, citizen{Email: "a@x"})
	for range 3 {
		if got, err := citizens.Get(t.Context(), c.ID); err != nil || got.Email != "a@x" {
			t.Fatal(got, err)
		}
		if got, err := citizens.GetMany(t.Context(), c.ID, "99"); err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
	}
	calls, err := client.Do(t.Context(), client.B().Info().Section("commandstats").Build()).ToString()
	if err != nil || !strings.Contains(calls, "cmdstat_pttl:calls=2,") { // one per cached id
		t.Errorf("commands %s, %v; want 2 calls of PTTL", calls, err)
	}
	other := store[citizen](t, server.Client(t), model.Options{Name: "citizen"})
	if _, err := other.Update(t.Context(), c.ID, func(c *citizen) error { c.Age = 7; return nil }); err != nil {
		t.Fatal(err)
	}
	for {
		got, err := citizens.Get(t.Context(), c.ID)
		require.OK(t)(err)
		if got.Age == 7 {
			break // the server has sent the invalidation
		}
	}
}

type zeros struct {
	ID    string    `redis:",id"`
	One   float64   `redis:"one,unique"`
	Many  []float32 `redis:"many,unique"`
	Maybe *float64  `redis:"maybe,unique"`
}

// Zero and negative zero are one value.
func TestNegativeZero(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		client, ctx := redistest.DB(t).Client(t), t.Context()
		opt := model.Options{Name: "zero", IDs: model.ClientAssigned, Partitions: partitions}
		s := store[zeros](t, client, opt)
		negative := math.Copysign(0, -1)
		for i, first := range []zeros{{One: 0, Many: []float32{0}, Maybe: new(float64)}, {One: negative, Many: []float32{float32(negative)}, Maybe: &negative}} {
			first.ID = fmt.Sprint("first", i)
			require.OK(t)(s.Create(ctx, first))
			for _, zero := range []float64{0, negative} {
				for _, second := range []zeros{{One: zero}, {One: 1, Many: []float32{float32(zero)}}, {One: 1, Maybe: &zero}} {
					second.ID = "second"
					if _, err := s.Create(ctx, second); !errors.Is(err, model.ErrTaken) {
						t.Errorf("Create of %+v beside %+v: %v; want ErrTaken", second, first, err)
						checkErr(t, s.Delete(ctx, second.ID))
					}
				}
				for _, field := range []string{"one", "many", "maybe"} {
					if found, err := s.Find(model.Eq(field, zero)).First(ctx); err != nil || found.ID != first.ID {
						t.Errorf("%s = %g: found %+v, %v; want %s", field, zero, found, err, first.ID)
					}
				}
			}
			require.OK(t)(s.Delete(ctx, first.ID))
		}
		// Other programs may store the sign.
		redisDo(t, client, "HSET", recordKey(opt, "old"), "one", "-0", "many", "[-0]", "maybe", "-0")
		opt.Adopt = func(string) bool { return true }
		s = store[zeros](t, client, opt)
		require.OK(t)(s.Repair(ctx, maintain.Options{}))
		if found, err := s.GetBy(ctx, "one", 0); err != nil || found.ID != "old" {
			t.Errorf("GetBy: %+v, %v; want old", found, err)
		}
		require.Fails(t, model.ErrTaken)(s.Create(ctx, zeros{ID: "second"}))
	}
}

// priced is found by the values of its decimals, not by their text.
type priced struct {
	ID    string            `redis:",id"`
	Price decimal.Decimal   `redis:"price,range"`
	Was   *decimal.Decimal  `redis:"was,index"`
	Code  decimal.Decimal   `redis:"code,unique"`
	All   []decimal.Decimal `redis:"all,index"`
	City  string            `redis:"city"`
}

func (priced) Indexes() []model.Index[priced] {
	return []model.Index[priced]{model.Composite[priced]("city", "price desc")}
}

func TestDecimals(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "item", func(t *testing.T, client rueidis.Client, opt model.Options) {
		ctx, s := t.Context(), store[priced](t, client, opt)
		parse := func(text string) decimal.Decimal {
			d, err := decimal.Parse(text)
			checkErr(t, err)
			return d
		}
		for _, text := range []string{"9.50", "10", "100.25", "-1", "2", "-0.5", "1000000000000.000000001"} {
			d := parse(text)
			mustCreate(t, s, priced{Price: d, Was: &d, Code: d, All: []decimal.Decimal{d, parse("7.0")}, City: "a"})
		}
		checkPrices := func(q *model.Query[priced], want string) {
			t.Helper()
			got := ""
			for x, err := range q.All(ctx) {
				checkErr(t, err)
				got += x.Price.String() + " "
			}
			if got != want {
				t.Errorf("prices %q, want %q", got, want)
			}
		}
		checkPrices(s.Find(model.Between("price", 5, 20)).OrderBy("price"), "9.50 10 ")
		checkPrices(s.Find(model.Between("price", parse("5"), "20.000")).OrderBy("price desc"), "10 9.50 ")
		checkPrices(s.Find(model.Below("price", 2.0)).OrderBy("price"), "-1 -0.5 ")
		checkPrices(s.Find().OrderBy("price"), "-1 -0.5 2 9.50 10 100.25 1000000000000.000000001 ")
		checkPrices(s.Find(model.Eq("city", "a")).OrderBy("price desc").Limit(2), "1000000000000.000000001 100.25 ")
		checkPrices(s.Find(model.Eq("price", parse("10.00"))), "10 ")
		checkPrices(s.Find(model.Eq("was", parse("10.00"))), "10 ")
		checkPrices(s.Find(model.Eq("was", 9.5)), "9.50 ")
		checkPrices(s.Find(model.Eq("code", parse("2.0"))), "2 ")
		checkPrices(s.Find(model.Eq("all", parse("100.2500"))), "100.25 ")
		var taken *model.TakenError
		if _, err := s.Create(ctx, priced{Code: parse("10.00")}); !errors.As(err, &taken) || taken.Field != "code" {
			t.Errorf("Create: %v; want a TakenError of field code", err)
		}
		checkErr(t, errOf(s.Create(ctx, priced{Code: parse("1.0000000000000001")})))
		require.Fails(t, model.ErrValue, "9 digits after the point")(s.Create(ctx, priced{Price: parse("0.0000000001")}))
		require.Gives(t, 7)(s.Count(ctx, model.Eq("all", 7)))
		checkVerify(t, s)
		m, err := model.Open(ctx, client, opt.Name)
		checkErr(t, err)
		require.Gives(t, 2)(m.Find(model.Between("price", 5, "20")).Count(ctx))
	})
}

// A bound of a condition beyond the range of a field's type selects all of its values or none,
// and a constant stands for the float32 with the same text.
func TestBoundsBeyondATypeAndFloat32(t *testing.T) {
	t.Parallel()
	type number struct {
		ID string   `redis:",id"`
		I  int8     `redis:"i,range"`
		U  *uint64  `redis:"u,range"`
		F  float32  `redis:"f,range,min=0.1,max=0.7"`
		L  []uint16 `redis:"l,range"`
	}
	ctx, s := t.Context(), store[number](t, redistest.DB(t).Client(t), model.Options{Name: "n"})
	u := uint64(math.MaxUint64)
	mustCreate(t, s, number{I: 127, U: &u, F: 0.1, L: []uint16{255}})
	mustCreate(t, s, number{I: -128, F: 0.7})
	for _, test := range []struct {
		cond model.Cond
		want int64
	}{
		{model.AtLeast("i", -129), 2},
		{model.Above("i", -129), 2},
		{model.Above("i", -1e300), 2},
		{model.AtMost("i", 128), 2},
		{model.Below("i", uint64(math.MaxUint64)), 2},
		{model.AtLeast("i", 128), 0},
		{model.Above("i", 128), 0},
		{model.AtMost("i", -129), 0},
		{model.Below("i", math.Inf(-1)), 0},
		{model.Below("i", 127), 1},
		{model.Between("i", -500, 500), 2},
		{model.Between("i", -500, 0), 1},
		{model.Between("i", 0, 500), 1},
		{model.Between("i", 200, 500), 0},
		{model.Between("i", -500, -200), 0},
		{model.AtLeast("u", -1), 1},
		{model.Above("u", -1), 1},
		{model.Below("u", -1), 0},
		{model.AtMost("u", 1e30), 1},
		{model.Not(model.AtLeast("u", -1)), 1},
		{model.AtLeast("l", -1), 1},
		{model.Above("l", 65536), 0},
		{model.AtMost("f", 1e300), 2},
		{model.AtLeast("f", math.Inf(-1)), 2},
		{model.Above("f", math.MaxFloat64), 0},
		{model.Eq("f", 0.1), 1},
		{model.Between("f", 0.2, 0.7), 1},
		{model.Above("f", 0.7), 0},
	} {
		if n, err := s.Count(ctx, test.cond); n != test.want || err != nil {
			t.Errorf("%v: %d, %v, want %d", test.cond, n, err, test.want)
		}
	}
	require.Fails(t, model.ErrInvalid)(s.Create(ctx, number{F: 0.70001}))
	for _, cond := range []model.Cond{model.Eq("i", 128), model.AtLeast("i", 1.5), model.Eq("f", 0.12345678901), model.AtLeast("f", math.NaN())} {
		if _, err := s.Count(ctx, cond); !errors.Is(err, model.ErrValue) {
			t.Errorf("%v: %v", cond, err)
		}
	}
}

// Create does not write a record if the next id does not fit into the type of the id, and returns
// the record unchanged.
func TestIDsRunOut(t *testing.T) {
	t.Parallel()
	type small struct {
		ID uint8 `redis:",id"`
		N  int
	}
	client := redistest.DB(t).Client(t)
	s := store[small](t, client, model.Options{Name: "small"})
	redisDo(t, client, "SET", "next_small_id", "254")
	if got := mustCreate(t, s, small{N: 1}); got.ID != 255 {
		t.Errorf("created %+v, want id 255", got)
	}
	if got, err := s.Create(t.Context(), small{N: 2}); !errors.Is(err, model.ErrValue) || got != (small{N: 2}) {
		t.Errorf("Create: %+v, %v; want ErrValue", got, err)
	}
	if got, err := s.CreateMany(t.Context(), []small{{N: 3}}); !errors.Is(err, model.ErrValue) || got[0] != (small{N: 3}) {
		t.Errorf("CreateMany: %+v, %v; want ErrValue", got, err)
	}
	if got, err := s.Get(t.Context(), "256"); err == nil || got != (small{}) {
		t.Errorf("Get: %+v, %v; want an error", got, err)
	}
}
