package model_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// forEachLayout runs f as a subtest without and with partitions.
func forEachLayout(t *testing.T, name string, f func(t *testing.T, client rueidis.Client, opt model.Options)) {
	t.Helper()
	for _, partitions := range []int{1, 3} {
		t.Run(fmt.Sprintf("in %d", partitions), func(t *testing.T) {
			t.Parallel()
			f(t, redistest.DB(t).Client(t), model.Options{Name: name, Partitions: partitions})
		})
	}
}

type member struct {
	ID    string  `redis:",id"`
	Email string  `redis:"email,unique,caseinsensitive"`
	Phone *string `redis:"phone,unique"`
}

func ptr[T any](v T) *T { return &v }

// If many writers claim a value at the same time, exactly one of them gets the value, and the
// index leads to its record.
func TestUniqueDuringWrites(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "member", func(t *testing.T, client rueidis.Client, opt model.Options) {
		members := store[member](t, client, opt)
		for round := range 5 {
			email := fmt.Sprintf("%d@example.com", round)
			var mu sync.Mutex
			var winners []string
			var owners []string
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() {
					m, err := members.Create(t.Context(), member{Email: email})
					mu.Lock()
					defer mu.Unlock()
					var taken *model.TakenError
					switch {
					case err == nil:
						winners = append(winners, m.ID)
					case errors.As(err, &taken) && taken.Field == "email" && taken.Value == email:
						owners = append(owners, taken.Owner)
					default:
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if len(winners) != 1 || len(owners) != 63 {
				t.Fatalf("records %v have %s, %d writers were refused; want 1 and 63", winners, email, len(owners))
			}
			for _, owner := range owners {
				if owner != winners[0] {
					t.Fatalf("a TakenError names owner %s, want %s", owner, winners[0])
				}
			}
			if id := ownerOf(t, client, opt, "email", email); id != winners[0] {
				t.Fatalf("the index leads to record %s, want %s", id, winners[0])
			}
		}
	})
}

// Values move from record to record, and back, without being lost or owned twice.
func TestUniqueMoves(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "member", func(t *testing.T, client rueidis.Client, opt model.Options) {
		members := store[member](t, client, opt)
		const records, values = 6, 4
		for i := range records {
			mustCreate(t, members, member{Email: fmt.Sprint("own", i)})
		}
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 30 {
					id := fmt.Sprint((i*7+w*5)%records + 1)
					value := fmt.Sprint("v", (i*3+w)%values)
					_, err := members.Update(t.Context(), id, func(m *member) error {
						if i%3 == 2 {
							m.Phone = nil
						} else {
							m.Phone = &value
						}
						return nil
					})
					if err != nil && !errors.Is(err, model.ErrTaken) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		owners := map[string]string{}
		for i := range records {
			m, err := members.Get(t.Context(), fmt.Sprint(i+1))
			require.OK(t)(err)
			if m.Phone == nil {
				continue
			}
			if other, ok := owners[*m.Phone]; ok {
				t.Fatalf("%s and %s both have %s", other, m.ID, *m.Phone)
			}
			owners[*m.Phone] = m.ID
		}
		for v := range values {
			value := fmt.Sprint("v", v)
			if id := ownerOf(t, client, opt, "phone", value); id != owners[value] {
				t.Errorf("%s: the index leads to record %q, want %q", value, id, owners[value])
			}
		}
	})
}

// ownerOf returns the id that a unique index has for a value, or an empty string.
func ownerOf(t *testing.T, client rueidis.Client, opt model.Options, index, value string) string {
	t.Helper()
	for i := range max(opt.Partitions, 1) {
		key := opt.Name + ".by." + index
		if opt.Partitions > 1 {
			key = fmt.Sprintf("{%s.%d}.by.%s", opt.Name, i, index)
		}
		text, err := client.Do(t.Context(), client.B().Hget().Key(key).Field(value).Build()).ToString()
		if rueidis.IsRedisNil(err) {
			continue
		}
		require.OK(t)(err)
		id, _, _ := splitClaim(text)
		return id
	}
	return ""
}

// splitClaim splits the value of a field of a unique index.
func splitClaim(text string) (id, token, deadline string) {
	parts := []string{"", "", ""}
	at := 0
	for _, r := range text {
		if r == 0 {
			at++
			continue
		}
		parts[at] += string(r)
	}
	return parts[0], parts[1], parts[2]
}

// A writer confirms the claim of a dead writer if the record has the value, and otherwise takes
// the value over.
func TestAbandonedClaims(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "member", Partitions: 3, IDs: model.Counter}
	members := store[member](t, client, opt)
	m := mustCreate(t, members, member{Email: "a"})
	key := hashOf(t, client, "email", "a")
	set := func(value, text string) {
		t.Helper()
		require.OK(t)(client.Do(t.Context(), client.B().Hset().Key(key).FieldValue().FieldValue(value, text).Build()).Error())
	}
	later := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())

	// The writer died after writing the record: the record keeps the value.
	set("a", m.ID+"\x00token\x00"+later)
	require.Fails(t, model.ErrTaken)(members.Create(t.Context(), member{Email: "a"}))
	if text, _ := client.Do(t.Context(), client.B().Hget().Key(key).Field("a").Build()).ToString(); text != m.ID+"\x00token" {
		t.Errorf("the claim was not confirmed: %q", text)
	}
	// The writer died before writing the record, or before releasing a former value of the record.
	for _, text := range []string{"77\x00token\x00" + later, "77\x00token\x001", "77\x00token", m.ID + "\x00old"} {
		require.OK(t)(members.Delete(t.Context(), m.ID))
		set("a", text)
		m = mustCreate(t, members, member{Email: "a"})
	}
}

// hashOf returns the key of the hash that has a unique value.
func hashOf(t *testing.T, client rueidis.Client, index, value string) string {
	t.Helper()
	for i := range 3 {
		key := fmt.Sprintf("{member.%d}.by.%s", i, index)
		if there, _ := client.Do(t.Context(), client.B().Hexists().Key(key).Field(value).Build()).AsBool(); there {
			return key
		}
	}
	t.Fatalf("no hash has %q", value)
	return ""
}

// A writer stopped between its claim and its write finds that another record now has the value.
func TestSlowWriterIsRefused(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	slow := &stalling{Client: client, stalled: make(chan struct{}), resume: make(chan struct{})}
	opt := model.Options{Name: "member", Partitions: 3}
	members := store[member](t, slow, opt)
	quick := store[member](t, client, opt)
	errs := make(chan error, 1)
	slow.stall.Store(true)
	go func() {
		_, err := members.Create(t.Context(), member{Email: "a"})
		errs <- err
	}()
	<-slow.stalled // the writer has its claim, and is about to write
	m := mustCreate(t, quick, member{Email: "a"})
	close(slow.resume)
	var taken *model.TakenError
	if err := <-errs; !errors.As(err, &taken) || taken.Owner != m.ID {
		t.Fatalf("slow writer: %v; want a TakenError", err)
	}
	if id := ownerOf(t, client, opt, "email", "a"); id != m.ID {
		t.Errorf("the index leads to record %s, want %s", id, m.ID)
	}
}

// A writer stopped between its claim and its write is refused even if an expired record with the
// same id had the value.
func TestSlowWriterAfterExpiry(t *testing.T) {
	t.Parallel()
	type guest struct {
		ID      string    `redis:",id"`
		Email   string    `redis:"email,unique"`
		Expires time.Time `redis:",expires"`
	}
	client := redistest.DB(t).Client(t)
	slow := &stalling{Client: client, stalled: make(chan struct{}), resume: make(chan struct{})}
	opt := model.Options{Name: "guest", Partitions: 3, IDs: model.ClientAssigned}
	guests, quick := store[guest](t, slow, opt), store[guest](t, client, opt)
	mustCreate(t, quick, guest{ID: "1", Email: "a", Expires: time.Now().Add(20 * time.Millisecond)})
	for there := true; there; {
		var err error
		if there, err = quick.Has(t.Context(), "1"); err != nil {
			t.Fatal(err)
		}
	}
	slow.stall.Store(true)
	errs := make(chan error, 1)
	go func() {
		_, err := guests.Create(t.Context(), guest{ID: "1", Email: "a"})
		errs <- err
	}()
	<-slow.stalled // the writer has its claim, and is about to write
	g := mustCreate(t, quick, guest{ID: "2", Email: "a"})
	close(slow.resume)
	var taken *model.TakenError
	if err := <-errs; !errors.As(err, &taken) || taken.Owner != g.ID {
		t.Fatalf("slow writer: %v; want a TakenError", err)
	}
}

type seat struct {
	ID   string `redis:",id"`
	Room string `redis:"room"`
	Row  int    `redis:"row"`
}

func (seat) Indexes() []model.Index[seat] {
	return []model.Index[seat]{model.Composite[seat]("room", "row").Unique()}
}

// A TakenError of a composite index names all its fields.
func TestTakenNamesAllFields(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "seat", func(t *testing.T, client rueidis.Client, opt model.Options) {
		seats := store[seat](t, client, opt)
		mustCreate(t, seats, seat{Room: "hall", Row: -3})
		_, err := seats.Create(t.Context(), seat{Room: "hall", Row: -3})
		var taken *model.TakenError
		if want := `room="hall",row=-3`; !errors.As(err, &taken) || taken.Field != "room,row" || taken.Value != want || !strings.Contains(err.Error(), want+" is taken by record 1") {
			t.Errorf("%v; want a TakenError of %s", err, want)
		}
	})
}

// A page that ends at the empty unique value has a next page.
func TestPageEndsAtTheEmptyValue(t *testing.T) {
	t.Parallel()
	type account struct {
		ID    string   `redis:",id"`
		Email *string  `redis:"email,unique"`
		Nicks []string `redis:"nicks,unique"`
	}
	for _, partitions := range []int{1, 3} {
		accounts := store[account](t, redistest.DB(t).Client(t), model.Options{Name: "account", Partitions: partitions})
		for _, email := range []string{"", "a", "b"} {
			mustCreate(t, accounts, account{Email: &email, Nicks: []string{email}})
		}
		for _, q := range []*model.Query[account]{
			accounts.Find(model.In("email", "", "a", "b")).Limit(1), accounts.Find(model.In("nicks", "b", "a", "")).Limit(1),
		} {
			var found []string
			for _, a := range readPages(t, q) {
				found = append(found, *a.Email)
			}
			if !slices.Equal(found, []string{"", "a", "b"}) {
				t.Errorf("found %q, want all three records", found)
			}
		}
	}
}

// After the owner has released a unique value, Repair gives the value to one of the other records
// that have it.
func TestRepairGivesTakenValue(t *testing.T) {
	t.Parallel()
	type before struct {
		ID    string `redis:",id"`
		Email string `redis:"email"`
	}
	type after struct {
		ID    string `redis:",id"`
		Email string `redis:"email,unique"`
	}
	for _, partitions := range []int{1, 3} {
		for what, release := range map[string]func(context.Context, *model.Store[after]) error{
			"deleted": func(ctx context.Context, s *model.Store[after]) error { return s.Delete(ctx, "1") },
			"changed": func(ctx context.Context, s *model.Store[after]) error {
				_, err := s.Patch(ctx, "1", map[string]any{"email": "other"})
				return err
			},
		} {
			client := redistest.DB(t).Client(t)
			opt := model.Options{Name: "member", Partitions: partitions}
			old := store[before](t, client, opt)
			mustCreate(t, old, before{Email: "same"})
			now := store[after](t, client, opt)
			if r, err := now.Migrate(t.Context(), maintain.Options{}); err != nil || r.Invalid != 0 {
				t.Fatalf("Migrate: %+v, %v; want no invalid records", r, err)
			}
			opt.Adopt = adoptAll
			now = store[after](t, client, opt)
			// Write records as another program would.
			for i := 2; i < 5; i++ {
				key := fmt.Sprint("member:", i)
				for p := 0; partitions > 1 && p < partitions; p++ {
					key = fmt.Sprintf("{member.%d}:%d", p, i)
					require.OK(t)(client.Do(t.Context(), client.B().Hset().Key(key).FieldValue().FieldValue("email", "same").Build()).Error())
				}
				require.OK(t)(client.Do(t.Context(), client.B().Hset().Key(key).FieldValue().FieldValue("email", "same").Build()).Error())
			}
			if r, err := now.Repair(t.Context(), maintain.Options{}); err != nil || r.Invalid != 3 {
				t.Fatalf("%s, %d partitions: Repair: %+v, %v; want 3 invalid records", what, partitions, r, err)
			}
			require.OK(t)(release(t.Context(), now))
			if r, err := now.Repair(t.Context(), maintain.Options{}); err != nil || r.Invalid != 2 {
				t.Errorf("%s, %d partitions: Repair: %+v, %v; want 2 invalid records", what, partitions, r, err)
			}
			if _, err := now.Create(t.Context(), after{Email: "same"}); !errors.Is(err, model.ErrTaken) {
				t.Errorf("%s, %d partitions: Create: %v; want ErrTaken", what, partitions, err)
			}
			if r, err := now.Verify(t.Context(), maintain.Options{}); err != nil || r.Missing != 0 || r.Invalid != 2 {
				t.Errorf("%s, %d partitions: Verify: %+v, %v; want 2 invalid records", what, partitions, r, err)
			}
		}
	}
}
