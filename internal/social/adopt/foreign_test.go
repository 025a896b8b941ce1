package adopt_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"retwis/internal/social/adopt"
)

// Adopt rejects a database of 2009 and does not change the database, even if counters are missing
// or the database also has the keys of a site of 2014.
func TestRefuse2009(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(b *bundle){
		"counters": func(b *bundle) { b.Redis("SET", "global:nextUserId", "1000") },
		"timeline": func(b *bundle) { b.Redis("LPUSH", "global:timeline", "1") },
		"users":    func(b *bundle) { b.Redis("SET", "uid:1000:username", "antirez") },
		"with a site of 2014": func(b *bundle) {
			php(b)
			b.Redis("SET", "global:nextPostId", "1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			write(b)
			before := b.Redis("KEYS", "*")
			if err := b.Adoption().Adopt(b.Ctx, nil); !errors.Is(err, adopt.Err2009) {
				t.Errorf("Adopt = %v, want Err2009", err)
			}
			if after := b.Redis("KEYS", "*"); after != before {
				t.Errorf("keys after Adopt: %q, before: %q", after, before)
			}
		})
	}
}

func TestAdoptForeign(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keys [][]string
		want string
	}{
		"empty":               {nil, ""},
		"locks":               {[][]string{{"SET", "redlock:token:{x}", "1"}, {"HSET", "redlock:boot", "run", "x"}}, ""},
		"an index":            {[][]string{{"ZADD", "ages", "0", "x"}, {"HSET", "ages.meta", "kind", "x"}, {"HSET", "ages.content", "1", "x"}}, ""},
		"a spread index":      {[][]string{{"ZADD", "{ages.0}", "0", "x"}, {"HSET", "{ages.0}.meta", "kind", "x"}, {"HSET", "{ages.0}.next.content", "1", "x"}}, ""},
		"a model":             {[][]string{{"HSET", "person:1", "n", "x"}, {"HSET", "person.meta", "kind", "x"}, {"SET", "next_person_id", "1"}, {"ZADD", "person.by.age", "0", "x"}}, ""},
		"a shop":              {[][]string{{"HSET", "cart:17", "apples", "2"}}, `"cart:17" (hash)`},
		"users of a shop":     {[][]string{{"HSET", "user:1", "mail", "x"}}, `"user:1" (hash)`},
		"a shop and an index": {[][]string{{"HSET", "ages.meta", "kind", "x"}, {"SET", "stock", "2"}}, `"stock" (string)`},
		"names without users": {[][]string{{"HSET", "users", "bob", "{}"}}, `"users" (hash)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			for _, command := range test.keys {
				b.Redis(command...)
			}
			err := b.Adoption().Adopt(b.Ctx, nil)
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				// Keys that are written after Adopt do not count as keys of another program.
				b.Redis("SET", "anything", "x")
			} else {
				if !errors.Is(err, adopt.ErrForeign) || !strings.Contains(err.Error(), test.want) {
					t.Fatalf("Adopt = %v, want ErrForeign with %s", err, test.want)
				}
				if got := b.Redis("EXISTS", "layout_owner"); got != "0" {
					t.Error("Adopt wrote to a rejected database")
				}
				if err := b.Adoption().Share(b.Ctx); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// Processes that start at the same time on an empty database do not mistake each other's keys for
// keys of another program.
func TestAdoptAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 30 {
		var wg sync.WaitGroup
		errs := make([]error, 16)
		for i := range errs {
			wg.Go(func() { errs[i] = b.Adoption().Adopt(b.Ctx, nil) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		b.Redis("FLUSHDB", "SYNC")
	}
}
