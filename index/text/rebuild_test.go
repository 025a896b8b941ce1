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

// Readers see the same documents before, during and after a rebuild.
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
			t.Fatalf("%s: %v, want %v: %v", q.Expr, r.IDs, want, err)
		}
		best, err := completeOne(t.Context(), reader, "al")
		if err != nil || len(best) != 1 || best[0] != (completion{"all", int64(len(m.documents))}) {
			t.Fatalf("completions of al: %v, %v, want all with %d documents", best, err, len(m.documents))
		}
	}
	m.verify(t)
}

// A rebuild that is killed after any of its commands does not damage the index. Repeating a killed
// rebuild or repair makes the index correct.
func TestKilledMaintenance(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	for _, task := range []string{"rebuild", "repair"} {
		for n := 0; n < 400; n += 1 + n/4 {
			m := newModel()
			opt := Options{Partitions: 1 + n%2}
			key := fmt.Sprint("{", task, n, "}")
			m.x = small(open(t, client, key, opt))
			for i := range 30 {
				m.documents[int64(i+1)] = Document{Text: fmt.Sprint("all w", i%2, " u", i)}
			}
			require.OK(t)(m.x.PutMany(t.Context(), m.all))
			if task == "repair" {
				names := m.x.store.keys[0].forGeneration("0", false)
				records, _ := names.ids(2)
				require.OK(t)(client.Do(t.Context(), client.B().Del().Key(records, names.rare("u3")).Build()).Error())
			}
			var left atomic.Int64
			left.Store(int64(n))
			killed := small(open(t, dying{client, &left}, key, opt))
			_, err := runMaintenance(t.Context(), killed, m, task)
			if err == nil && left.Load() < 0 {
				t.Errorf("%s was killed after %d commands, but returned no error", task, n)
			}
			if task == "rebuild" && !m.correct(t) {
				t.Errorf("%s was killed after %d commands: a query returns wrong results", task, n)
			}
			for i := range m.x.store.keys { // expire the lease of the killed run
				require.OK(t)(expireLease(t.Context(), client, m.x.store.keys[i].Meta))
			}
			require.OK(t)(runMaintenance(t.Context(), m.x, m, task))
			m.verify(t)
			if !m.correct(t) {
				t.Errorf("%s was killed after %d commands and repeated: a query returns wrong results", task, n)
			}
		}
	}
}

// completeOne returns the most frequent word with a prefix.
func completeOne(ctx context.Context, x *Index, prefix string) (best []completion, err error) {
	err = retry(func() (err error) {
		best, err = reader{x.store}.complete(ctx, prefix, 1)
		return err
	})
	return best, err
}

// joining is a client that calls do, once, after a run has started in a partition.
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

// A rebuild discards documents that were written to the generation of a killed rebuild before the
// new rebuild created its own generation.
func TestRebuildAfterKilled(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	m := filled(t, client, "{after}", Options{})
	x, meta, fresh := m.x.store, m.x.store.keys[0].Meta, Document{Text: "fresh"}
	require.OK(t)(x.tracker().Begin(t.Context(), "killed"))
	killed := &rebuild{x: x}
	require.OK(t)(killed.script(t.Context(), x.scripts.next, 0, "killed").Error())
	require.OK(t)(expireLease(t.Context(), client, meta))
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
		t.Fatalf("Rebuild: %v; Put wrote to the generation of the killed rebuild: %v", err, joined)
	}
	m.verify(t)
}

// runMaintenance rebuilds or repairs an index.
func runMaintenance(ctx context.Context, x *Index, m *model, task string) (maintain.Report, error) {
	if task == "rebuild" {
		return x.Rebuild(ctx, *m.source(), maintain.Options{})
	}
	return x.Repair(ctx, m.source(), maintain.Options{})
}

// expireLease expires the lease of a run in a partition, if there is a run.
func expireLease(ctx context.Context, client rueidis.Client, meta string) error {
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
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	return l.Client.Do(canceled, l.Client.B().Ping().Build())
}

// If the server executes the last step of a rebuild but the reply is lost, the index keeps the new
// generation.
func TestRebuildLosesReply(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	for partitions := range 3 {
		key, opt := fmt.Sprint("{lost", partitions, "}"), Options{Partitions: partitions + 1}
		m := filled(t, client, key, opt)
		meta := m.x.store.keys[partitions].Meta
		rebuilder := small(open(t, losing{client, meta, new(atomic.Bool)}, key, opt))
		if _, err := rebuilder.Rebuild(t.Context(), *m.source(), maintain.Options{}); err == nil {
			t.Fatal("Rebuild returned no error, although a reply was lost")
		}
		if !m.correct(t) {
			t.Errorf("%d partitions: a query returns wrong results", partitions+1)
		}
		m.verify(t)
	}
}

// Late replies to commands that were sent before a rebuild do not make the rebuild write to another
// generation.
func TestLateReplyInRebuild(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	for name, late := range map[string]func(*store, rueidis.RedisResult){
		"read": func(x *store, r rueidis.RedisResult) {
			before := *x.state[0].Load()
			if err := x.sameGeneration(0, "0", r); !errors.Is(err, errMoved) {
				t.Errorf("read of generation 0: %v, want errMoved", err)
			}
			if after := *x.state[0].Load(); after != before {
				t.Errorf("generations after a late read: %v, want %v", after, before)
			}
		},
		"write": func(x *store, r rueidis.RedisResult) {
			current, err := r.ToString()
			if err != nil {
				t.Error(err)
			}
			x.state[0].Store(&generations{current: current})
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
		if !m.correct(t) {
			t.Errorf("late %s: a query returns wrong results", name)
		}
		m.verify(t)
	}
}
