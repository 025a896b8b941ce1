package text

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// Readers in other processes see the same documents before, during and after a rebuild.
func TestReadsDuringRebuild(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	m := filled(t, db.Client(t), "{read}", Options{Partitions: 2})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 4 {
			if _, err := m.x.Rebuild(t.Context(), *m.source(), maintain.Options{}); err != nil {
				t.Error(err)
			}
		}
	}()
	reader := small(open(t, db.Client(t), "{read}", Options{Partitions: 2}))
	all := queries()
	for i, running := 0, true; running; i++ {
		select {
		case <-done:
			running = false // one more iteration
		default:
		}
		q := Query{Expr: all[i*7%len(all)], Limit: maxLimit}
		r, err := reader.Search(t.Context(), q)
		if want := m.search(q); err != nil || !slices.Equal(r.IDs, want) {
			t.Fatalf("%s: %v, expected %v: %v", q.Expr, r.IDs, want, err)
		}
		best, err := completed(t.Context(), reader, "al")
		if err != nil || len(best) != 1 || best[0] != (completion{"all", int64(len(m.documents))}) {
			t.Fatalf("%v: %v", best, err)
		}
	}
	m.verify(t)
}

// A rebuild or repair killed after any of its commands does not make the index worse; repeating
// it makes the index right.
func TestKilledMaintenance(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	for _, what := range []string{"rebuild", "repair"} {
		for n := 0; n < 400; n += 1 + n/4 {
			m := newModel()
			opt := Options{Partitions: 1 + n%2}
			key := fmt.Sprint("{", what, n, "}")
			m.x = small(open(t, client, key, opt))
			for i := range 30 {
				m.documents[int64(i+1)] = Document{Text: fmt.Sprint("all w", i%2, " u", i)}
			}
			require.OK(t)(m.x.PutMany(t.Context(), m.all))
			if what == "repair" {
				names := m.x.store.keys[0].forGeneration("0", false)
				records, _ := names.ids(2)
				require.OK(t)(client.Do(t.Context(), client.B().Del().Key(records, names.rare("u3")).Build()).Error())
			}
			var left atomic.Int64
			left.Store(int64(n))
			killed := small(open(t, dying{client, &left}, key, opt))
			_, err := maintained(t.Context(), killed, m, what)
			if err == nil && left.Load() < 0 {
				t.Errorf("%s was killed after %d commands, without an error", what, n)
			}
			if what == "rebuild" && !m.right(t) {
				t.Errorf("%s was killed after %d commands, and a query is wrong", what, n)
			}
			for i := range m.x.store.keys { // expire the lease of the killed run
				require.OK(t)(lapse(t.Context(), client, m.x.store.keys[i].Meta))
			}
			require.OK(t)(maintained(t.Context(), m.x, m, what))
			m.verify(t)
			if !m.right(t) {
				t.Errorf("%s was killed after %d commands and repeated, and a query is wrong", what, n)
			}
		}
	}
}

// completed returns the most frequent word with a prefix.
func completed(ctx context.Context, x *Index, prefix string) (best []completion, err error) {
	err = retry(func() (err error) {
		best, err = reader{x.store}.complete(ctx, prefix, 1)
		return err
	})
	return best, err
}

// joining is a client that calls a function once a run has started in a partition.
type joining struct {
	rueidis.Client
	meta string
	once *sync.Once
	do   func()
}

func (j joining) Do(ctx context.Context, c rueidis.Completed) rueidis.RedisResult {
	r := j.Client.Do(ctx, c)
	if run, _ := j.Client.Do(ctx, j.Client.B().Hget().Key(j.meta).Field("rebuild").Build()).ToString(); run != "" && run != "killed" {
		j.once.Do(j.do)
	}
	return r
}

// Documents written to the generation of a killed rebuild, because the next rebuild has started
// but not created its own generation yet, are discarded.
func TestRebuildAfterKilled(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	m := filled(t, client, "{after}", Options{})
	x, meta, fresh := m.x.store, m.x.store.keys[0].Meta, Document{Text: "fresh"}
	require.OK(t)(x.tracker().Begin(t.Context(), "killed"))
	killed := &rebuild{x: x}
	require.OK(t)(killed.script(t.Context(), x.scripts.next, 0, "killed").Error())
	require.OK(t)(lapse(t.Context(), client, meta))
	joined := false
	rebuilder := small(open(t, joining{client, meta, new(sync.Once), func() {
		err := m.x.Put(t.Context(), 4242, fresh)
		if joined = m.x.store.state[0].Load().next == "1"; err != nil {
			t.Error(err)
		}
	}}, "{after}", Options{}))
	src := *m.source()
	all := src.All
	src.All = func(ctx context.Context) iter.Seq2[index.Object[Document], error] {
		if err := m.x.Remove(ctx, 4242, fresh); err != nil {
			t.Error(err)
		}
		return all(ctx)
	}
	if _, err := rebuilder.Rebuild(t.Context(), src, maintain.Options{}); err != nil || !joined {
		t.Fatal(err, joined)
	}
	m.verify(t)
}

func maintained(ctx context.Context, x *Index, m *model, what string) (maintain.Report, error) {
	if what == "rebuild" {
		return x.Rebuild(ctx, *m.source(), maintain.Options{})
	}
	return x.Repair(ctx, m.source(), maintain.Options{})
}

// lapse expires the lease of a run, if there is one.
func lapse(ctx context.Context, client rueidis.Client, meta string) error {
	running, err := client.Do(ctx, client.B().Hexists().Key(meta).Field("until").Build()).AsBool()
	if err != nil || !running {
		return err
	}
	return client.Do(ctx, client.B().Hset().Key(meta).FieldValue().FieldValue("until", "1").Build()).Error()
}

// losing is a client that loses the reply to the command that replaces the generation of a
// partition.
type losing struct {
	rueidis.Client
	meta string
	lost *atomic.Bool
}

func (l losing) Do(ctx context.Context, c rueidis.Completed) rueidis.RedisResult {
	r := l.Client.Do(ctx, c)
	moved, err := l.Client.Do(ctx, l.Client.B().Hexists().Key(l.meta).Field("generation").Build()).AsBool()
	if err != nil || !moved || !l.lost.CompareAndSwap(false, true) {
		return r
	}
	dead, cancel := context.WithCancel(ctx)
	cancel()
	return l.Client.Do(dead, l.Client.B().Ping().Build())
}

// If the reply to the last step of a rebuild is lost, although the server has executed it, the
// rebuild keeps the new index.
func TestRebuildLosesReply(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	for partitions := range 3 {
		key, opt := fmt.Sprint("{lost", partitions, "}"), Options{Partitions: partitions + 1}
		m := filled(t, client, key, opt)
		meta := m.x.store.keys[partitions].Meta
		rebuilder := small(open(t, losing{client, meta, new(atomic.Bool)}, key, opt))
		if _, err := rebuilder.Rebuild(t.Context(), *m.source(), maintain.Options{}); err == nil {
			t.Fatal("the rebuild has got all replies")
		}
		if !m.right(t) {
			t.Errorf("%d partitions: a query is wrong", partitions+1)
		}
		m.verify(t)
	}
}

// Late replies to commands from before the rebuild do not misdirect it to another generation.
func TestLateReplyInRebuild(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	for name, late := range map[string]func(*store, rueidis.RedisResult){
		"read": func(x *store, r rueidis.RedisResult) {
			before := *x.state[0].Load()
			if err := x.sameGeneration(0, "0", r); !errors.Is(err, errMoved) {
				t.Errorf("a read of the generation 0: %v", err)
			}
			if after := *x.state[0].Load(); after != before {
				t.Errorf("a read has made %v of %v", after, before)
			}
		},
		"write": func(x *store, r rueidis.RedisResult) {
			now, err := r.ToString()
			if err != nil {
				t.Error(err)
			}
			x.state[0].Store(&generations{current: now})
		},
	} {
		m := filled(t, client, "{late "+name+"}", Options{})
		other := small(open(t, client, "{late "+name+"}", Options{}))
		require.OK(t)(other.Rebuild(t.Context(), *m.source(), maintain.Options{}))
		reply := client.Do(t.Context(), m.x.store.generation(0))
		src := *m.source()
		all := src.All
		src.All = func(ctx context.Context) iter.Seq2[index.Object[Document], error] {
			late(m.x.store, reply)
			return all(ctx)
		}
		require.OK(t)(m.x.Rebuild(t.Context(), src, maintain.Options{}))
		if !m.right(t) {
			t.Errorf("late %s: a query is wrong", name)
		}
		m.verify(t)
	}
}
