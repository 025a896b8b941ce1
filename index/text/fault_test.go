package text

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/index"
	engine "retwis/internal/maintain"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// filled returns a model whose index has rare terms, tails, offsets and bitmaps.
func filled(t rapid.TB, client rueidis.Client, key string, opt Options) *model {
	t.Helper()
	m := newModel()
	m.x = small(open(t, client, key, opt))
	for i := range 150 {
		id := int64(i + 1)
		if i%10 == 0 {
			id = int64(i) << 30
		}
		if id > 0 {
			m.documents[id] = Document{Text: fmt.Sprint("all w", i%3, " v", i%40, " u", i), Terms: []string{fmt.Sprint("from:", i%7)}}
		}
	}
	if n, err := m.x.PutMany(context.Background(), m.all); err != nil || n != len(m.documents) {
		t.Fatalf("PutMany() = %d, %v, want %d", n, err, len(m.documents))
	}
	return m
}

// all yields the documents of the model.
func (m *model) all(yield func(int64, Document) bool) {
	for id, d := range m.documents {
		if !yield(id, d) {
			return
		}
	}
}

// queries returns queries that together read all postings of an index from filled.
func queries() (all []*Expr) {
	for i := range 150 {
		all = append(all, Word(fmt.Sprint("u", i)))
	}
	for i := range 40 {
		all = append(all, Word(fmt.Sprint("v", i)))
	}
	for i := range 7 {
		all = append(all, Exact(fmt.Sprint("from:", i)))
	}
	return append(all, Word("all"), Word("w0"), Word("w1"), Word("w2"))
}

// correct reports whether all queries return the expected documents.
func (m *model) correct(t rapid.TB) bool {
	t.Helper()
	for _, e := range queries() {
		q := Query{Expr: e, Limit: maxLimit}
		r, err := m.x.Search(context.Background(), q)
		if err != nil && !errors.Is(err, index.ErrCorrupt) {
			t.Fatalf("%s: %v", e, err)
		}
		if err != nil || !slices.Equal(r.IDs, m.search(q)) {
			return false
		}
	}
	return true
}

// Eight writers put, replace and remove documents in random order while tails are sealed.
func TestWriters(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	for _, partitions := range []int{1, 3} {
		m := newModel()
		m.x = small(open(t, db.Client(t), fmt.Sprint("{writers", partitions, "}"), Options{Partitions: partitions}))
		var mu sync.Mutex
		var wg sync.WaitGroup
		for w := range 8 {
			x := small(open(t, db.Client(t), m.x.Key(), m.x.Options()))
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(w), 1))
				for i := range 60 {
					id := int64(r.Perm(400)[0]*8+w) + 1
					mu.Lock()
					before, exists := m.documents[id]
					gone := m.gone[id]
					mu.Unlock()
					after := Document{Text: fmt.Sprint("all w", r.IntN(3), " v", i%40, " u", id%150), Terms: []string{fmt.Sprint("from:", w%7)}}
					var err error
					switch {
					case gone:
						continue
					case !exists:
						err = x.Put(t.Context(), id, after)
					case r.IntN(3) == 0:
						err = x.Remove(t.Context(), id, before)
						gone = true
					default:
						err = x.Replace(t.Context(), id, before, after)
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if m.documents[id] = after; gone {
						delete(m.documents, id)
						m.gone[id] = true
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		m.verify(t)
		if !m.correct(t) {
			t.Error("a query returns wrong results")
		}
	}
}

// Twenty writers replace one document: every text replaces the previous text, and no word of an
// older text remains.
func TestOneDocument(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	m := newModel()
	m.x = small(open(t, db.Client(t), "{one}", Options{}))
	var current atomic.Pointer[Document]
	current.Store(&Document{Text: "first"})
	require.OK(t)(m.x.Put(t.Context(), 1, *current.Load()))
	var wg sync.WaitGroup
	var conflicts, replaced atomic.Int64
	for w := range 20 {
		wg.Go(func() {
			for i := range 20 {
				before, after := current.Load(), &Document{Text: fmt.Sprint("all u", w, " v", i)}
				switch err := m.x.Replace(t.Context(), 1, *before, *after); {
				case err == nil:
					replaced.Add(1)
					current.Store(after)
				case errors.Is(err, ErrConflict):
					conflicts.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	m.documents[1] = *current.Load()
	m.verify(t)
	if !m.correct(t) || replaced.Load() == 0 || conflicts.Load() == 0 {
		t.Errorf("%d replaced, %d conflicts, want both and correct results", replaced.Load(), conflicts.Load())
	}
}

// dying is the client of a process that is killed after a number of commands.
type dying struct {
	rueidis.Client
	left *atomic.Int64
}

func (d dying) context(ctx context.Context) context.Context {
	if d.left.Add(-1) >= 0 {
		return ctx
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	return canceled
}

func (d dying) Do(ctx context.Context, c rueidis.Completed) rueidis.RedisResult {
	return d.Client.Do(d.context(ctx), c)
}

func (d dying) DoMulti(ctx context.Context, c ...rueidis.Completed) []rueidis.RedisResult {
	return d.Client.DoMulti(d.context(ctx), c...)
}

// If a process is killed after any of its commands, repeating the writes makes the index correct.
func TestKilled(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	for n := 0; n < 40; n += redistest.Cases(3, 1) {
		m := newModel()
		var left atomic.Int64
		left.Store(int64(n))
		work := func(x *Index) (err error) {
			for i := range 12 {
				err = errors.Join(err, x.Put(t.Context(), int64(i+1), Document{Text: fmt.Sprint("all w", i%2)}))
			}
			err = errors.Join(err, x.Replace(t.Context(), 3, Document{Text: "all w0"}, Document{Text: "all v1 u7"}))
			return errors.Join(err, x.Remove(t.Context(), 4, Document{Text: "all w1"}))
		}
		key := fmt.Sprint("{killed", n, "}")
		if err := work(small(open(t, dying{client, &left}, key, Options{Partitions: 1 + n%2}))); (err == nil) != (left.Load() >= 0) {
			t.Fatalf("writes killed after %d commands: %v", n, err)
		}
		m.x = small(open(t, client, key, Options{Partitions: 1 + n%2}))
		if err := work(m.x); err != nil && !errors.Is(err, ErrConflict) {
			t.Fatalf("writes repeated after %d commands: %v", n, err)
		}
		for i := range 12 {
			m.documents[int64(i+1)] = Document{Text: fmt.Sprint("all w", i%2)}
		}
		m.documents[3] = Document{Text: "all v1 u7"}
		delete(m.documents, 4)
		m.verify(t)
		if !m.correct(t) {
			t.Errorf("killed after %d commands: a query returns wrong results", n)
		}
	}
}

// Rebuild corrects a damaged index during writes, and leaves no keys of the old generation.
func TestRebuild(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	client := db.Client(t)
	m := filled(t, client, "{rebuilt}", Options{Partitions: 2})
	for id, d := range m.documents {
		if id%5 == 0 {
			require.OK(t)(m.x.Remove(t.Context(), id, d))
			delete(m.documents, id)
			m.gone[id] = true
		}
	}
	n := m.x.store.keys[0].forGeneration("0", false)
	require.OK(t)(client.Do(t.Context(), client.B().Del().Key(n.tail("all"), n.tail("w0"), n.list).Build()).Error())
	writer := small(open(t, db.Client(t), "{rebuilt}", Options{Partitions: 2}))
	src := m.source()
	added := map[int64]Document{}
	write := func(i int) {
		id, d := int64(5000-i), Document{Text: fmt.Sprint("all w", i%3), Terms: []string{"from:1"}}
		if err := writer.Put(t.Context(), id, d); err != nil {
			t.Error(err)
		}
		if i%3 == 0 {
			if err := writer.Replace(t.Context(), id, d, Document{Text: "all v1"}); err != nil {
				t.Error(err)
			}
			d = Document{Text: "all v1"}
		}
		if i%7 == 0 {
			if err := writer.Remove(t.Context(), id, d); err != nil {
				t.Error(err)
			}
			return
		}
		added[id] = d
	}
	source := *src
	source.All = func(ctx context.Context) iter.Seq2[index.Object[Document], error] {
		return func(yield func(index.Object[Document], error) bool) {
			i := 0
			for o, err := range src.All(ctx) {
				write(i)
				if i++; !yield(o, err) {
					return
				}
			}
			write(i)
		}
	}
	report, err := m.x.Rebuild(t.Context(), source, maintain.Options{})
	if err != nil || report.Checked != int64(len(m.documents)) {
		t.Fatalf("Rebuild: %v, %+v, want %d checked", err, report, len(m.documents))
	}
	for id, d := range added {
		m.documents[id] = d
	}
	m.verify(t)
	if !m.correct(t) {
		t.Error("a query returns wrong results")
	}
	for id := range m.gone {
		if err := writer.Put(t.Context(), id, Document{Text: "all"}); !errors.Is(err, ErrRemoved) {
			t.Errorf("Put of the removed document %d: %v, want ErrRemoved", id, err)
		}
	}
	if old, err := client.Do(t.Context(), client.B().Keys().Pattern("*rebuilt*.0.*:*").Build()).AsStrSlice(); err != nil || len(old) > 0 {
		t.Errorf("old keys: %v, %q", err, old)
	}
}

// A failed rebuild changes nothing. A killed rebuild leaves keys that Repair removes.
func TestFailedRebuild(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	m := filled(t, client, "{failed}", Options{Partitions: 2})
	broken := errors.New("broken")
	src := m.source()
	failing := index.Source[Document]{All: func(ctx context.Context) iter.Seq2[index.Object[Document], error] {
		return func(yield func(index.Object[Document], error) bool) {
			i := 0
			for o := range src.All(ctx) {
				if i++; i == 100 {
					yield(o, broken)
					return
				}
				if !yield(o, nil) {
					return
				}
			}
		}
	}}
	require.Fails(t, broken)(m.x.Rebuild(t.Context(), failing, maintain.Options{}))
	m.verify(t)
	if !m.correct(t) {
		t.Error("a query returns wrong results")
	}
	invalid := index.Source[Document]{All: index.Objects(func(yield func(index.Object[Document], error) bool) {
		_ = yield(index.Object[Document]{ID: "x"}, nil)
	}).All}
	require.Fails(t, index.ErrValue)(m.x.Rebuild(t.Context(), invalid, maintain.Options{}))
	if _, err := m.x.Rebuild(t.Context(), index.Source[Document]{}, maintain.Options{}); err == nil {
		t.Error("Rebuild accepted a source without All")
	}
	if _, err := m.x.Repair(t.Context(), &failing, maintain.Options{}); err == nil {
		t.Error("Repair accepted a source without Lookup")
	}
	keys := func() int {
		all, err := client.Do(t.Context(), client.B().Keys().Pattern("*failed*").Build()).AsStrSlice()
		require.OK(t)(err)
		return len(all)
	}
	for range 3 {
		require.OK(t)(m.x.Rebuild(t.Context(), *src, maintain.Options{}))
	}
	before := keys()
	// A rebuild is killed: after its lease expires, its generation receives no more writes.
	run := "killed"
	require.OK(t)(m.x.store.tracker().Begin(t.Context(), run))
	r := &rebuild{x: m.x.store, run: engine.Start(maintain.Options{}), src: *src, generations: make([]generations, len(m.x.store.keys))}
	for i := range m.x.store.keys {
		reply, err := r.script(t.Context(), m.x.store.scripts.next, i, run).AsStrSlice()
		require.OK(t)(err)
		r.generations[i] = generations{current: reply[0], next: reply[1]}
		m.x.store.state[i].Store(&r.generations[i])
	}
	require.OK(t)(r.fill(t.Context(), run))
	require.OK(t)(m.x.Put(t.Context(), 4242, Document{Text: "all"}))
	m.documents[4242] = Document{Text: "all"}
	for i := range m.x.store.keys {
		require.OK(t)(client.Do(t.Context(), client.B().Hset().Key(m.x.store.keys[i].Meta).FieldValue().FieldValue("until", "1").Build()).Error())
	}
	if err := r.fill(t.Context(), run); !errors.Is(engine.Replaced(err), maintain.ErrReplaced) {
		t.Errorf("fill after the lease: %v, want ErrReplaced", err)
	}
	require.OK(t)(m.x.Put(t.Context(), 4243, Document{Text: "all"}))
	m.documents[4243] = Document{Text: "all"}
	m.repaired(t)
	if after := keys(); after > before+4 {
		t.Errorf("%d keys after the repair, want at most %d", after, before+4)
	}
	// The declarations are lost: Rebuild stores them again, in a generation without leftover keys.
	for i := range m.x.store.keys {
		require.OK(t)(client.Do(t.Context(), client.B().Del().Key(m.x.store.keys[i].Meta, m.x.Key()+".meta").Build()).Error())
	}
	m.x = small(open(t, client, "{failed}", Options{Partitions: 2}))
	m.repaired(t)
	for range 3 {
		require.OK(t)(m.x.Rebuild(t.Context(), *m.source(), maintain.Options{}))
		m.verify(t)
	}
}

// While documents are put in random order, so that tails are sealed and segments are split, a
// search finds all documents that existed when the search started, each once and in order.
func TestReadsDuringWrites(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	opt := Options{Partitions: 2}
	reader := small(open(t, db.Client(t), "{busy}", opt))
	const documents = 1200
	var put [documents + 1]atomic.Bool
	var wg sync.WaitGroup
	for w := range 3 {
		x := small(open(t, db.Client(t), "{busy}", opt))
		wg.Go(func() {
			for _, i := range rand.New(rand.NewPCG(uint64(w), 2)).Perm(documents) {
				if i%3 != w {
					continue
				}
				if err := x.Put(t.Context(), int64(i+1), Document{Text: fmt.Sprint("all w", i%2)}); err != nil {
					t.Error(err)
					return
				}
				put[i+1].Store(true)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		var before []int64
		for id := documents; id > 0; id-- {
			if put[id].Load() {
				before = append(before, int64(id))
			}
		}
		got := searchAll(t, reader, Query{Expr: Word("all"), Limit: 50})
		if !slices.IsSortedFunc(got, func(a, b int64) int { return int(b - a) }) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("not in order: %v", got)
		}
		found := map[int64]bool{}
		for _, id := range got {
			found[id] = true
		}
		for _, id := range before {
			if !found[id] {
				t.Fatalf("document %d is missing: found %d documents, want at least %d", id, len(got), len(before))
			}
		}
	}
}
