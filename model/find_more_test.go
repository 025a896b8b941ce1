package model_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	s := pupils(t, redistest.DB(t).Client(t), model.Options{Name: "pupil"}, 100, func(i int) pupil {
		return pupil{Name: "n" + strconv.Itoa(i%2), Class: i, Grade: float32(i), Nick: ptr(strconv.Itoa(i)), Floor: i % 4, Door: i, Marks: []int{i, i + 1}}
	})
	for name, test := range map[string]struct {
		query *model.Query[pupil]
		want  string
	}{
		"all":                      {s.Find(), "scan all records\n"},
		"newest":                   {s.Find().Reverse(), "scan all records, newest first\n"},
		"one index":                {s.Find(model.Eq("name", "n1")), "scan index name: name = \"n1\"\n"},
		"a scan":                   {s.Find(model.Not(model.Eq("name", "n1"))), "scan all records\n  filter by not(name = \"n1\")\n"},
		"the smaller index":        {s.Find(model.Eq("name", "n1"), model.Between("class", 3, 5)), "scan index class: class between \"3\", \"5\" (about 3 entries)\n  filter by name = \"n1\"\n"},
		"a composite":              {s.Find(model.Eq("floor", 1), model.AtLeast("door", 50)), "scan index floor,door: floor = \"1\" and door >= \"50\"\n"},
		"unique":                   {s.Find(model.Eq("nick", "7"), model.Eq("name", "n1")), "scan index nick: nick = \"7\" (about 1 entries)\n  filter by name = \"n1\" and nick = \"7\"\n"},
		"two conditions on a list": {s.Find(model.Eq("marks", 7), model.AtLeast("marks", 8)), "scan index marks: marks = \"7\" (about 2 entries)\n  filter by marks >= \"8\"\n"},
		"two bounds of one field":  {s.Find(model.AtLeast("class", 7), model.Below("class", 9)), "scan index class: class < \"9\" and class >= \"7\"\n"},
		"branches": {
			s.Find(model.Or(model.Eq("class", 1), model.Eq("grade", 2))),
			"scan index class: class = \"1\"\nthen scan index grade: grade = \"2\"\n  filter by not(class = \"1\")\n",
		},
		"a branch that scans": {s.Find(model.Or(model.Eq("class", 1), model.Not(model.Eq("grade", 2)))), "scan all records\n  filter by or(class = \"1\", not(grade = \"2\"))\n"},
		"sorted": {
			s.Find(model.Between("class", 1, 5)).OrderBy("grade").Limit(3),
			"scan index class: class between \"1\", \"5\" (about 5 entries)\nsort the matches by index grade\n",
		},
		"in order": {
			s.Find(model.Eq("name", "n1")).OrderBy("grade").Limit(3),
			"scan index grade (about 100 entries)\n  filter by name = \"n1\"\nuntil there are enough: index grade is in order\n",
		},
		"in the order of a composite": {
			s.Find(model.Eq("floor", 2)).OrderBy("door desc").Limit(3),
			"scan index floor,door: floor = \"2\" (about 25 entries)\nuntil there are enough: index floor,door is in order\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := test.query.Explain(t.Context())
			if err != nil || x.String() != test.want {
				t.Errorf("%v\n%s\nwant\n%s", err, x, test.want)
			}
		})
	}
}

func TestFindOnACluster(t *testing.T) {
	t.Parallel()
	client := redistest.Cluster(t, 3).Client(t)
	for _, opt := range []model.Options{{Name: "{pupil}"}, {Name: "spread", Partitions: 5}} {
		t.Run(opt.Name, func(t *testing.T) {
			t.Parallel()
			const n = 200
			s := pupils(t, client, opt, n, func(i int) pupil {
				return pupil{Name: "n" + strconv.Itoa(i%3), Class: i % 10, Grade: float32(n - i), Nick: ptr("n" + strconv.Itoa(i)), Marks: []int{i % 4, i % 6}}
			})
			var two, listed, unique []int
			for i := range n {
				if i%3 == 2 && i%10 < 5 {
					two = append(two, i)
				}
				if i%4 >= 2 || i%6 >= 2 {
					listed = append(listed, i)
				}
				if i%9 == 2 {
					unique = append(unique, i)
				}
			}
			nicks := make([]string, len(unique))
			for i, u := range unique {
				nicks[i] = "n" + strconv.Itoa(u)
			}
			q := s.Find(model.Eq("name", "n2"), model.Below("class", 5))
			checkResults(t, q, two, nil)
			checkResults(t, q.OrderBy("grade"), two, func(i int) int { return n - i })
			checkResults(t, s.Find(model.AtLeast("marks", 2)), listed, nil)
			checkResults(t, s.Find(model.In("nick", nicks...)), unique, nil)
			checkResults(t, s.Find(model.In("nick", nicks...)).OrderBy("grade").Reverse(), unique, func(i int) int { return i - n })
			require.Gives(t, n)(s.Count(t.Context()))
		})
	}
}

type guest struct {
	ID      string    `redis:",id"`
	Room    int       `redis:"room,range"`
	Bed     int       `redis:"bed,range"`
	Name    *string   `redis:"name,unique"`
	Expires time.Time `redis:",expires"`
}

// Expired records are never found or counted, swept or not, while others expire.
func TestExpiredAreNotFound(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "guest", func(t *testing.T, client rueidis.Client, opt model.Options) {
		s := store[guest](t, client, opt)
		begin := time.Now()
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range 100 {
					x := guest{Room: 1, Bed: i, Name: ptr(fmt.Sprintf("%d.%d", g, i))}
					if i%4 > 0 { // some expire immediately, most in a moment
						x.Expires = begin.Add(time.Duration(i*4) * time.Millisecond)
					}
					checkErr(t, errOf(s.Create(t.Context(), x)))
				}
			})
		}
		for round := 0; time.Since(begin) < 500*time.Millisecond; round++ {
			for _, q := range []*model.Query[guest]{
				s.Find(model.Eq("room", 1)), s.Find(), s.Find(model.Eq("room", 1)).OrderBy("bed"), s.Find(model.Eq("room", 1), model.Not(model.Eq("bed", 2))),
				s.Find(model.In("name", "0.1", "0.2", "0.4")),
			} {
				before := time.Now()
				all, err := q.Slice(t.Context())
				require.OK(t)(err)
				for _, x := range all {
					if !x.Expires.IsZero() && x.Expires.Before(before.Add(-time.Millisecond)) {
						t.Fatalf("%v was found at %v", x, before)
					}
				}
			}
			before := time.Now()
			n, err := s.Find(model.Eq("room", 1)).Count(t.Context())
			alive := 0
			for i := range 100 {
				if i%4 == 0 || begin.Add(time.Duration(i*4)*time.Millisecond).After(before.Add(-2*time.Millisecond)) {
					alive += 4
				}
			}
			if err != nil || int(n) > alive {
				t.Fatalf("counted %d, %v, want at most %d", n, err, alive)
			}
		}
		wg.Wait()
		for _, q := range []*model.Query[guest]{s.Find(), s.Find(model.Eq("room", 1)), s.Find(model.Eq("room", 1), model.AtLeast("bed", 0)), s.Find(model.Eq("room", 1)).OrderBy("bed")} {
			n, err := q.Count(t.Context())
			ids, err2 := q.IDs(t.Context())
			if n != 100 || len(ids) != 100 || err != nil || err2 != nil {
				t.Fatalf("counted %d, %v; %d ids, %v; want 100", n, err, len(ids), err2)
			}
		}
	})
}

// Queries omit or report records and keys that other programs have changed.
func TestFindWhatOthersWrote(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	ctx := t.Context()
	s := pupils(t, client, model.Options{Name: "pupil"}, 10, func(i int) pupil { return pupil{Class: i, Name: "n", Grade: 1} })
	do := func(words ...string) {
		t.Helper()
		require.OK(t)(client.Do(ctx, client.B().Arbitrary(words...).Build()).Error())
	}
	q := s.Find(model.Eq("name", "n"), model.AtLeast("class", 2)).OrderBy("class")
	do("DEL", "pupil:3")                           // a deleted record
	do("HSET", "pupil:4", "class", "1")            // a record that no longer matches, but has an index entry
	do("HSET", "pupil:5", "class", "7")            // a record that belongs to another position of the index
	do("HDEL", "pupil.content", "6")               // a record without content
	do("ZADD", "pupil.by.class", "0", "garbage")   // not a valid entry
	do("ZADD", "pupil.by.class", "0", "\x80")      // not a valid entry either
	do("HSET", "pupil:8", "more", "than is known") // a field that the model does not have
	for i, q := range []*model.Query[pupil]{q, q.Limit(2), s.Find(model.AtLeast("class", 2), model.Eq("grade", 1)).OrderBy("class")} {
		got := pupilIDs(readPages(t, q))
		want := []string{"2", "6", "7", "8", "9"} // 6 is in the sets for these conditions
		if i == 2 {
			want = []string{"2", "7", "8", "9"}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("query %d: found %q, want %q", i, got, want)
		}
	}
	do("HSET", "pupil:9", "class", "nine")
	require.Fails(t, model.ErrCorrupt, `"pupil:9", field class`)(q.Slice(ctx))
	do("SET", "pupil.by.name:n", "text")
	if _, err := s.Find(model.Eq("name", "n")).Slice(ctx); err == nil || !strings.Contains(err.Error(), `"pupil.by.name:n" holds a string`) {
		t.Fatalf("Slice: %v; want an error that names the key", err)
	}
	// Another process has dropped an index.
	do("HDEL", "pupil.meta", "built:grade=grade:float")
	_, sliceErr := s.Find(model.Eq("grade", 1)).Slice(ctx)
	_, countErr := s.Find(model.Eq("grade", 1)).Count(ctx)
	_, idsErr := s.Find(model.Eq("class", 2)).OrderBy("grade").IDs(ctx)
	for _, err := range []error{sliceErr, countErr, idsErr} {
		if !errors.Is(err, model.ErrSchema) {
			t.Fatalf("query of a dropped index: %v; want ErrSchema", err)
		}
	}
}

type lodging struct {
	ID   string `redis:",id"`
	City string `redis:"city,range,caseinsensitive"`
	Beds int    `redis:"beds,range"`
}

func (lodging) Indexes() []model.Index[lodging] {
	return []model.Index[lodging]{model.Composite[lodging]("city", "beds")} // case-sensitive
}

// A condition compares text as the index of its field does, even if another index would be
// faster.
func TestFindFoldsAsTheFieldDoes(t *testing.T) {
	t.Parallel()
	s := store[lodging](t, redistest.DB(t).Client(t), model.Options{Name: "lodging"})
	for i := range 30 {
		mustCreate(t, s, lodging{City: []string{"Bari", "BARI", "Como"}[i%3], Beds: i / 3})
	}
	q := s.Find(model.Eq("city", "bari"), model.Between("beds", 2, 5))
	for _, q := range []*model.Query[lodging]{q, q.OrderBy("beds"), q.OrderBy("beds desc").Limit(8)} {
		if all, err := q.Slice(t.Context()); err != nil || len(all) != 8 {
			t.Fatalf("found %v, %v; want 8 records", all, err)
		}
	}
}

// Pages distinguish records created at the same moment by id, even if the last record of a page
// was deleted.
func TestRecordsOfOneMoment(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	const n = 30
	s := pupils(t, client, model.Options{Name: "pupil"}, n, func(int) pupil { return pupil{} })
	for i := range n {
		require.OK(t)(client.Do(t.Context(), client.B().Zadd().Key("pupil.all").ScoreMember().ScoreMember(5, strconv.Itoa(i)).Build()).Error())
	}
	for _, q := range []*model.Query[pupil]{s.Find(), s.Find().Reverse()} {
		seen := map[string]bool{}
		deleted := 0
		for _, p := range readPages(t, q.Limit(4), func(page []pupil) {
			deleted++
			require.OK(t)(s.Delete(t.Context(), page[3].ID))
		}) {
			if seen[p.ID] {
				t.Fatalf("record %s was returned twice", p.ID)
			}
			seen[p.ID] = true
		}
		all, err := s.Find().IDs(t.Context())
		if err != nil || len(seen) != len(all)+deleted {
			t.Fatalf("%d records returned, %d left, %d deleted, %v", len(seen), len(all), deleted, err)
		}
	}
}

// A query finds a record even if its cached copy is older than the index.
func TestFindCached(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	writer := pupils(t, db.Client(t), model.Options{Name: "pupil"}, 3, func(int) pupil { return pupil{} })
	reader := store[pupil](t, db.Client(t), model.Options{Name: "pupil", IDs: model.ClientAssigned, Cache: time.Minute})
	for i := range 100 {
		require.OK(t)(reader.GetMany(t.Context(), "0", "1", "2"))
		require.OK(t)(writer.Patch(t.Context(), "1", map[string]any{"class": i + 1}))
		all, err := reader.Find(model.Eq("class", i+1)).Slice(t.Context())
		if err != nil || len(all) != 1 || all[0].Class != i+1 {
			t.Fatalf("found %v, %v; want class %d", all, err, i+1)
		}
	}
}

// Queries use an index only once it is built, and then without a restart.
func TestFindDuringMigrate(t *testing.T) {
	t.Parallel()
	type old struct {
		ID   string `redis:",id"`
		Name string `redis:"name,index"`
		Room int    `redis:"room,range"`
	}
	type now struct {
		ID   string `redis:",id"`
		Name string `redis:"name,range"`
		Room int    `redis:"room,range"`
	}
	forEachLayout(t, "lodger", func(t *testing.T, client rueidis.Client, opt model.Options) {
		before := store[old](t, client, opt)
		for i := range 10 {
			mustCreate(t, before, old{Name: "n" + strconv.Itoa(i), Room: i})
		}
		after, other := store[now](t, client, opt), store[now](t, client, opt)
		_, findErr := after.Find(model.Eq("name", "n1")).Slice(t.Context())
		_, orderErr := after.Find().OrderBy("name").Slice(t.Context())
		for _, err := range []error{findErr, orderErr} {
			if !errors.Is(err, model.ErrSchema) || !strings.Contains(err.Error(), "index name is not built yet: run Migrate") {
				t.Fatalf("query of an unbuilt index: %v; want ErrSchema", err)
			}
		}
		if all, err := after.Find(model.Above("room", 7)).Slice(t.Context()); err != nil || len(all) != 2 {
			t.Fatalf("found %v, %v; want 2 records", all, err)
		}
		require.OK(t)(after.Migrate(t.Context(), maintain.Options{}))
		for _, s := range []*model.Store[now]{after, other} {
			q := s.Find(model.Prefix("name", "n")).OrderBy("name desc")
			all, err := q.Slice(t.Context())
			for errors.Is(err, model.ErrSchema) && s == other && t.Context().Err() == nil {
				time.Sleep(10 * time.Millisecond) // the state is read once a second
				all, err = q.Slice(t.Context())
			}
			if err != nil || len(all) != 10 || all[0].Room != 9 {
				t.Fatalf("found %v, %v; want 10 records, room 9 first", all, err)
			}
		}
		require.Fails(t, model.ErrSchema)(before.Find(model.Eq("name", "n1")).Slice(t.Context()))
	})
}

// A cursor continues in the index of its position, even if a better index was built since.
func TestCursorDuringMigrate(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "tenant", func(t *testing.T, client rueidis.Client, opt model.Options) {
		before := store[tenantBefore](t, client, opt)
		for i := range 10 {
			mustCreate(t, before, tenantBefore{Room: i, House: 7})
		}
		s := store[tenant](t, client, opt)
		q := s.Find(model.Eq("house", 7)).OrderBy("room").Limit(4)
		first, err := q.Page(t.Context())
		require.OK(t)(err)
		require.OK(t)(s.Migrate(t.Context(), maintain.Options{}))
		if x, err := q.Explain(t.Context()); err != nil || x.Order != "house,room" {
			t.Fatalf("plan %v, %v; want the order of index house,room", x, err)
		}
		second, err := q.After(first.Next).Page(t.Context())
		if err != nil || len(second.Items) != 4 || second.Items[0].Room != 4 {
			t.Fatalf("second page %v, %v; want 4 records from room 4", second, err)
		}
		// A cursor in a dropped index is refused.
		require.OK(t)(store[tenantBefore](t, client, opt).Migrate(t.Context(), maintain.Options{}))
		after := store[tenantAfter](t, client, opt)
		require.OK(t)(after.Migrate(t.Context(), maintain.Options{}))
		require.Fails(t, model.ErrCursor)(after.Find(model.Eq("house", 7)).OrderBy("room").After(second.Next).Page(t.Context()))
	})
}

type tenantBefore struct {
	ID    string `redis:",id"`
	House int    `redis:"house,range"`
	Room  int    `redis:"room,range"`
}

type tenant tenantBefore

func (tenant) Indexes() []model.Index[tenant] {
	return []model.Index[tenant]{model.Composite[tenant]("house", "room")}
}

type tenantAfter struct {
	ID    string `redis:",id"`
	House int    `redis:"house,range"`
	Room  int    `redis:"room"`
}

func (tenantAfter) Indexes() []model.Index[tenantAfter] {
	return []model.Index[tenantAfter]{model.Composite[tenantAfter]("house", "room")}
}

func FuzzCursor(f *testing.F) {
	s := store[guest](f, redistest.DB(f).Client(f), model.Options{Name: "guest", Partitions: 2})
	for i := range 12 {
		if _, err := s.Create(f.Context(), guest{Room: i % 3, Bed: i, Name: ptr(strconv.Itoa(i))}); err != nil {
			f.Fatal(err)
		}
	}
	queries := []*model.Query[guest]{
		s.Find(), s.Find().Reverse(), s.Find(model.AtLeast("room", 0)), s.Find(model.AtLeast("room", 0), model.AtLeast("bed", 1)).OrderBy("bed").Reverse(),
		s.Find(model.Or(model.Eq("room", 1), model.In("name", "0", "2", "3"))),
	}
	var cursors [][]byte
	for _, q := range queries {
		page, err := q.Limit(2).Page(f.Context())
		if err != nil || page.Next == "" {
			f.Fatal(page.Next, err)
		}
		b, err := base64.RawURLEncoding.DecodeString(page.Next)
		if err != nil {
			f.Fatal(err)
		}
		cursors = append(cursors, b[8:])
		f.Add(len(cursors)-1, b[8:])
	}
	f.Fuzz(func(t *testing.T, n int, body []byte) {
		q := queries[uint(n)%uint(len(queries))].Limit(2)
		page, err := q.Page(t.Context())
		require.OK(t)(err)
		valid, err := base64.RawURLEncoding.DecodeString(page.Next)
		require.OK(t)(err)
		for _, bytes := range [][]byte{body, append(valid[:8:8], body...)} {
			_, err := q.After(base64.RawURLEncoding.EncodeToString(bytes)).Page(t.Context())
			if err != nil && !errors.Is(err, model.ErrCursor) {
				t.Fatalf("cursor %x: %v; want ErrCursor or no error", bytes, err)
			}
		}
	})
}
