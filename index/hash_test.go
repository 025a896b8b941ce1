package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/maintain"
)

// A hash and its entry are written together, or neither is.
func TestPutHash(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), client(t)
	for _, partitions := range []int{1, 3} {
		key := fmt.Sprint("halls", partitions)
		x := composite(t, c, key, Options{Columns: columns(t, "city:string,seats:int"), Partitions: partitions})
		hash := func(id string) string { return key + ":hall:" + id }
		src, err := x.Hashes(hash("*"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			fields := map[string]string{"city": "Palermo", "seats": strconv.Itoa(i), "name": "", "": "empty"}
			if err := x.PutHash(ctx, fmt.Sprint(i), hash(fmt.Sprint(i)), fields); err != nil {
				t.Fatal(err)
			}
		}
		// Some of the columns: the others are taken from the hash.
		if err := x.PutHash(ctx, "3", hash("3"), map[string]string{"seats": "300"}); err != nil {
			t.Fatal(err)
		}
		if err := x.PutHash(ctx, "4", hash("4"), map[string]string{"name": "Teatro"}); err != nil {
			t.Fatal(err)
		}
		if e, err := x.Get(ctx, "3"); err != nil || fmt.Sprint(e.Values) != "[Palermo 300]" {
			t.Errorf("%v, %v", e, err)
		}
		stored, err := c.Do(ctx, c.B().Hgetall().Key(hash("4")).Build()).AsStrMap()
		if err != nil || fmt.Sprint(stored) != "map[:empty city:Palermo name:Teatro seats:4]" {
			t.Errorf("%v, %v", stored, err)
		}
		// What is refused changes nothing.
		c.Do(ctx, c.B().Set().Key(hash("text")).Value("x").Build())
		for _, wrong := range []struct {
			id, key string
			fields  map[string]string
			message string
		}{
			{"new", hash("new"), map[string]string{"seats": "1"}, `the hash "` + hash("new") + `": invalid value: it has no field "city", which the index needs`},
			{"3", hash("3"), map[string]string{"seats": "many"}, `column seats: "many" is not an integer`},
			{"3", hash("3"), nil, "0 fields to set"},
			{"", hash("3"), map[string]string{"seats": "1"}, "an id has 0 bytes"},
			{"3", "", map[string]string{"seats": "1"}, "is empty"},
			{"3", x.lex.set.Of("3").Content, map[string]string{"seats": "1", "city": "x"}, "is a key of the index"},
			{"text", hash("text"), map[string]string{"seats": "1", "city": "x"}, "WRONGTYPE the key holds a string and no hash"},
		} {
			if err := x.PutHash(ctx, wrong.id, wrong.key, wrong.fields); err == nil || !strings.Contains(err.Error(), wrong.message) {
				t.Errorf("%v: %v, want %s", wrong.fields, err, wrong.message)
			}
		}
		if _, err := x.RemoveHash(ctx, "text", hash("text")); err == nil {
			t.Error("RemoveHash has removed a string")
		}
		if r, err := x.Verify(ctx, &src, maintain.Options{}); err != nil || r.Problems() != 0 || r.Checked != 40 {
			t.Errorf("%+v, %v", r, err)
		}
		for i, want := range []bool{true, false} {
			if was, err := x.RemoveHash(ctx, "3", hash("3")); err != nil || was != want {
				t.Error(i, was, err)
			}
		}
		if r, err := x.Verify(ctx, &src, maintain.Options{}); err != nil || r.Problems() != 0 || r.Checked != 38 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	// Not into an index that is declared otherwise, nor into other data.
	y := composite(t, c, "halls1", Options{Columns: columns(t, "seats:int")})
	if err := y.PutHash(ctx, "1", "h1", map[string]string{"seats": "1"}); !errors.Is(err, ErrDeclared) {
		t.Error(err)
	}
	c.Do(ctx, c.B().Zadd().Key("byHand").ScoreMember().ScoreMember(0, "x").Build())
	z := composite(t, c, "byHand", Options{Columns: columns(t, "seats:int")})
	if err := z.PutHash(ctx, "1", "h1", map[string]string{"seats": "1"}); !errors.Is(err, ErrForeign) {
		t.Error(err)
	}
	if n, err := c.Do(ctx, c.B().Exists().Key("h1").Build()).AsInt64(); err != nil || n != 0 {
		t.Error("the hash was written without its entry", err)
	}
}

func TestNumericPutHash(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	x := numeric[int](t, "puthash", NumericOptions{Name: "age"})
	for _, age := range []string{"20", "31"} {
		if err := x.PutHash(ctx, "anna", "person:anna", map[string]string{"age": age, "name": "Anna"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.PutHash(ctx, "anna", "person:anna", map[string]string{"name": "Anna B."}); err != nil {
		t.Fatal(err)
	}
	if e, err := x.Get(ctx, "anna"); err != nil || e.Number != 31 {
		t.Error(e, err)
	}
	if err := x.PutHash(ctx, "anna", "person:anna", map[string]string{"age": "9007199254740993"}); !errors.Is(err, ErrValue) {
		t.Error(err)
	}
	if was, err := x.RemoveHash(ctx, "anna", "person:anna"); err != nil || !was {
		t.Error(was, err)
	}
	if n, err := x.set.Client.Do(ctx, x.set.Client.B().Exists().Key("person:anna").Build()).AsInt64(); err != nil || n != 0 {
		t.Error(n, err)
	}
}

// Writers that each set other fields of the same hashes: at every moment the hash and the
// entry agree.
func TestPutHashAmongWriters(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), client(t)
	x := composite(t, c, "both", Options{Columns: columns(t, "a:int,b:int")})
	key := func(id string) string { return "both:thing:" + id }
	src, err := x.Hashes("both:thing:*")
	if err != nil {
		t.Fatal(err)
	}
	for id := range 5 {
		if err := x.PutHash(ctx, fmt.Sprint(id), key(fmt.Sprint(id)), map[string]string{"a": "0", "b": "0"}); err != nil {
			t.Fatal(err)
		}
	}
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for w := range 4 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(5, uint64(w)))
			for range 300 {
				id := strconv.Itoa(random.IntN(5))
				fields := map[string]string{[]string{"a", "b"}[w%2]: strconv.Itoa(random.IntN(100))}
				if random.IntN(10) == 0 {
					fields["a"], fields["b"] = "1", "2"
				}
				// After ten changes in a row it gives up, and has written nothing.
				if err := x.PutHash(ctx, id, key(id), fields); err != nil && !strings.Contains(err.Error(), "was changed 10 times meanwhile") {
					t.Error(err)
				}
			}
		})
	}
	readers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			err := c.Dedicated(func(d rueidis.DedicatedClient) error {
				replies := d.DoMulti(ctx, d.B().Multi().Build(), d.B().Hmget().Key(key("3")).Field("a", "b").Build(),
					d.B().Hget().Key("both.content").Field("3").Build(), d.B().Exec().Build())
				both, err := replies[3].ToArray()
				if err != nil {
					return err
				}
				fields, _ := both[0].AsStrSlice()
				entry, _ := both[1].ToString()
				want, err := x.member("3", []any{fields[0], fields[1]})
				if err == nil && entry != want.Member {
					err = fmt.Errorf("the hash has %v, the entry %s", fields, x.describe(entry))
				}
				return err
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	writers.Wait()
	close(done)
	readers.Wait()
	if r, err := x.Verify(ctx, &src, maintain.Options{}); err != nil || r.Problems() != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A write during a rebuild or repair is noted like any other.
func TestPutHashDuringRebuild(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "noted", 2)
	for i := range 250 {
		o.put(fmt.Sprint(i), 20)
	}
	written := false
	_, err := o.index.Rebuild(t.Context(), o.source, maintain.Options{Rate: 1_000_000, Progress: func(maintain.Progress) {
		if !written {
			written = true
			for i := range 100 {
				if err := o.index.PutHash(t.Context(), fmt.Sprint(i), o.key(fmt.Sprint(i)), map[string]string{"age": "50"}); err != nil {
					t.Error(err)
				}
				if _, err := o.index.RemoveHash(t.Context(), fmt.Sprint(i+100), o.key(fmt.Sprint(i+100))); err != nil {
					t.Error(err)
				}
			}
		}
	}})
	if r := o.verify(); err != nil || !written || r.Problems() != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// On a Cluster the hash must be in the slot of the index.
func TestPutHashOnACluster(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), redistest.Cluster(t, 3).Client(t)
	one := composite(t, c, "{one}", Options{Columns: columns(t, "a:int")})
	if err := one.PutHash(ctx, "1", "{one}:1", map[string]string{"a": "7"}); err != nil {
		t.Error(err)
	}
	err := one.PutHash(ctx, "1", "thing:1", map[string]string{"a": "7"})
	if !errors.Is(err, ErrValue) || !strings.Contains(err.Error(), `give the hash the hash tag of the index, as in "{one}:1"`) {
		t.Error(err)
	}
	many := composite(t, c, "{many}", Options{Columns: columns(t, "a:int"), Partitions: 3})
	for i := range 20 {
		id := fmt.Sprint(i)
		own := many.PartitionKey(id)
		if err := many.PutHash(ctx, id, own+":"+id, map[string]string{"a": "7"}); err != nil {
			t.Error(err)
		}
	}
	if n, err := many.Len(ctx); err != nil || n != 20 {
		t.Error(n, err)
	}
	if was, err := one.RemoveHash(ctx, "1", "{one}:1"); err != nil || !was {
		t.Error(was, err)
	}
}
