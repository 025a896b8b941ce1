package model_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/maintain"
	"retwis/model"
)

type shopOfCity struct {
	ID   string `redis:",id"`
	City string `redis:"city,index"`
	Mail string `redis:"mail,unique"`
	Note string `redis:"note"`
}

type shopOfTown struct {
	ID   string `redis:",id"`
	Town string `redis:"town,index,was=city"`
	Post string `redis:"post,unique,was=mail"`
	Memo string `redis:"memo,was=note"`
}

type shopWithMemo struct {
	ID   string `redis:",id"`
	City string `redis:"city,index"`
	Mail string `redis:"mail,unique"`
	Memo string `redis:"memo,was=note"`
}

// fieldsOf returns the fields of a hash as text.
func fieldsOf(t *testing.T, client rueidis.Client, key string) string {
	t.Helper()
	fields, err := client.Do(t.Context(), client.B().Hgetall().Key(key).Build()).AsStrMap()
	if err != nil || len(fields) == 0 {
		t.Fatalf("%s: %v, %v", key, fields, err)
	}
	return fmt.Sprint(fields)
}

// A renamed field keeps its values: they are read under the old name, each write moves
// those of its record, and Migrate the others.
func TestRenamedField(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]model.Options{
		"":           {Name: "shop"},
		"partitions": {Name: "shop", Partitions: 3},
		"cache":      {Name: "shop", Cache: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, ctx := redistest.DB(t).Client(t), t.Context()
			before := store[shopOfCity](t, client, opt)
			var ids []string
			for i := range 250 {
				ids = append(ids, createdOf(t, before, shopOfCity{City: fmt.Sprint("c", i%5), Mail: fmt.Sprint("m", i), Note: "n"}).ID)
			}
			shops := store[shopOfTown](t, client, opt)
			pending, err := shops.Pending(ctx)
			for _, want := range []string{"rename city to town", "rename mail to post", "rename note to memo"} {
				if !slices.Contains(pending, want) || err != nil {
					t.Errorf("%q, %v", pending, err)
				}
			}
			if s, err := shops.Get(ctx, ids[7]); err != nil || s.Town != "c2" || s.Post != "m7" || s.Memo != "n" {
				t.Errorf("%+v, %v", s, err)
			}
			if all, err := shops.GetMany(ctx, ids...); err != nil || len(all) != 250 || all[9].Town != "c4" {
				t.Errorf("%d, %v", len(all), err)
			}
			if r, err := shops.Migrate(ctx, maintain.Options{}); err != nil || r.Problems() != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if pending, err := shops.Pending(ctx); len(pending) > 0 || err != nil {
				t.Errorf("%q, %v", pending, err)
			}
			for _, id := range ids {
				fields := fieldsOf(t, client, recordKey(opt, id))
				if strings.Contains(fields, "city") || strings.Contains(fields, "mail") || strings.Contains(fields, "note") {
					t.Fatalf("%s: %q", id, fields)
				}
			}
			if n, err := shops.Count(ctx, model.Eq("town", "c3")); n != 50 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			if s, err := shops.GetBy(ctx, "post", "m8"); err != nil || s.ID != ids[8] {
				t.Errorf("%+v, %v", s, err)
			}
			if r, err := shops.Verify(ctx, maintain.Options{}); err != nil || r.Problems() != 0 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// A field without an index can be renamed too: Migrate has nothing to build, and moves the
// values. Until then, and if old programs write meanwhile, all operations find them.
func TestRenamedFieldWithoutIndex(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		client, ctx := redistest.DB(t).Client(t), t.Context()
		opt := model.Options{Name: "shop", Partitions: partitions}
		before := store[shopOfCity](t, client, opt)
		var ids []string
		for i := range 120 {
			ids = append(ids, createdOf(t, before, shopOfCity{City: "c", Mail: fmt.Sprint(i), Note: fmt.Sprint("n", i)}).ID)
		}
		shops := store[shopWithMemo](t, client, opt)
		if pending, err := shops.Pending(ctx); !slices.Equal(pending, []string{"rename note to memo"}) || err != nil {
			t.Fatalf("%q, %v", pending, err)
		}
		fields := func(id string) string { return fieldsOf(t, client, recordKey(opt, id)) }
		moved := func(id, memo string) {
			t.Helper()
			if s, err := shops.Get(ctx, id); err != nil || s.Memo != memo {
				t.Errorf("%s: %+v, %v", id, s, err)
			}
			if f := fields(id); strings.Contains(f, "note") {
				t.Errorf("%s: %q", id, f)
			}
		}
		if s, err := shops.Update(ctx, ids[0], func(s *shopWithMemo) error { s.Memo += "!"; return nil }); err != nil || s.Memo != "n0!" {
			t.Errorf("%+v, %v", s, err)
		}
		moved(ids[0], "n0!")
		if _, err := shops.Patch(ctx, ids[1], map[string]any{"memo": "p"}); err != nil {
			t.Error(err)
		}
		moved(ids[1], "p")
		if s, err := shops.Patch(ctx, ids[2], map[string]any{"city": "d"}); err != nil || s.Memo != "n2" {
			t.Errorf("%+v, %v", s, err)
		}
		s, err := shops.Get(ctx, ids[3])
		if err != nil {
			t.Fatal(err)
		}
		s.City = "e"
		if _, err := shops.Save(ctx, s); err != nil {
			t.Error(err)
		}
		moved(ids[3], "n3")
		s.ID, s.Mail, s.Memo = ids[4], "4", ""
		if _, err := shops.Put(ctx, s); err != nil {
			t.Error(err)
		}
		moved(ids[4], "")
		// A write between the reading and the writing of an Update is not lost.
		first := true
		if _, err := shops.Update(ctx, ids[5], func(s *shopWithMemo) error {
			if first {
				first = false
				redisDo(t, client, "HSET", recordKey(opt, ids[5]), "note", "late")
			}
			s.Memo += "!"
			return nil
		}); err != nil {
			t.Error(err)
		}
		moved(ids[5], "late!")
		if all, err := shops.Find(model.Eq("city", "c")).Slice(ctx); err != nil || slices.ContainsFunc(all, func(s shopWithMemo) bool { return s.Memo == "" }) {
			t.Errorf("%d, %v", len(all), err)
		}
		for memo, err := range model.Pluck[string](ctx, shops.Find(model.Eq("mail", "9")), "memo") {
			if err != nil || memo != "n9" {
				t.Errorf("%q, %v", memo, err)
			}
		}
		if r, err := shops.Migrate(ctx, maintain.Options{}); err != nil || r.Checked != 120 {
			t.Fatalf("%+v, %v", r, err)
		}
		for i, id := range ids[6:] {
			moved(id, fmt.Sprint("n", i+6))
		}
		if pending, err := shops.Pending(ctx); len(pending) > 0 || err != nil {
			t.Errorf("%q, %v", pending, err)
		}
		if r, err := shops.Verify(ctx, maintain.Options{}); err != nil || r.Problems() != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// A type may rename every field of the records.
func TestRenamedFields(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	one := store[struct {
		ID string `redis:",id"`
		A  string `redis:"a"`
	}](t, client, model.Options{Name: "one"})
	r, err := one.Create(t.Context(), struct {
		ID string `redis:",id"`
		A  string `redis:"a"`
	}{A: "7"})
	if err != nil {
		t.Fatal(err)
	}
	two := store[struct {
		ID string `redis:",id"`
		B  int    `redis:"b,range,was=a"`
	}](t, client, model.Options{Name: "one"})
	if _, err := two.Migrate(t.Context(), maintain.Options{}); err != nil {
		t.Fatal(err)
	}
	if s, err := two.Find(model.Above("b", 6)).First(t.Context()); err != nil || s.ID != r.ID || s.B != 7 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestWasIsRefused(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "one"}
	for want, err := range map[string]error{
		"write was=": refusedBy[struct {
			ID string `redis:",id"`
			A  string `redis:"a,was"`
		}](client, opt),
		`"x y" is not a name`: refusedBy[struct {
			ID string `redis:",id"`
			A  string `redis:"a,was=x y"`
		}](client, opt),
		`"b" is the name of another field`: refusedBy[struct {
			ID string `redis:",id"`
			A  string `redis:"a,was=b"`
			B  string `redis:"b"`
		}](client, opt),
		`"c" is what another field was called`: refusedBy[struct {
			ID string `redis:",id"`
			A  string `redis:"a,was=c"`
			B  string `redis:"b,was=c"`
		}](client, opt),
		"a counter cannot be renamed": refusedBy[struct {
			ID string `redis:",id"`
			A  int    `redis:"a,counter,was=b"`
		}](client, opt),
		"was and id": refusedBy[struct {
			ID string `redis:",id,was=b"`
		}](client, opt),
	} {
		if !errors.Is(err, model.ErrDeclaration) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
