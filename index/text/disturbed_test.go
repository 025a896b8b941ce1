package text

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/index/text/internal/words"
	slots "retwis/internal/redis/keys"
	"retwis/internal/redistest"
	"retwis/internal/require"
)

// disturbance describes what happens to an index while documents are written and searched.
type disturbance struct {
	client  func(t *testing.T) rueidis.Client                        // for a reader
	writer  func(client rueidis.Client, r *rand.Rand) rueidis.Client // nil: the reader's client
	retried bool                                                     // failed searches are retried
	disturb func(t *testing.T, d *disturbed, done <-chan struct{})   // nil: only writes
}

// disturbed holds documents that writers change while others search. A document that does not
// change during a search must be in its result if and only if it matches.
type disturbed struct {
	*model
	mu       sync.Mutex
	versions map[int64]int // odd: a write is in progress
	stop     atomic.Bool
	writes   atomic.Int64
	wrote    chan struct{} // receives a value per write, if the disturbance waits for writes
}

const (
	disturbedKey     = "{disturbed}"
	disturbedWriters = 3
	disturbedReaders = 2
	disturbedIDs     = 60 // per writer
)

// disturbedSearches returns the number of searches that a test compares.
func disturbedSearches() int {
	if redistest.Long {
		return 10_000
	}
	return 300
}

// Random queries with every operator give right results while documents are put, edited and
// removed.
func TestSearchDuringWrites(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	searchDisturbed(t, disturbance{client: func(t *testing.T) rueidis.Client { return db.Client(t) }})
}

// Random queries give right results while writers are killed during a write, which they repeat.
func TestSearchDuringKills(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	searchDisturbed(t, disturbance{
		client: func(t *testing.T) rueidis.Client { return db.Client(t) },
		writer: func(client rueidis.Client, r *rand.Rand) rueidis.Client {
			var left atomic.Int64
			left.Store(r.Int64N(6))
			return dying{client, &left}
		},
	})
}

// Random queries give right results while the server is killed and restarted.
func TestSearchDuringRestarts(t *testing.T) {
	t.Parallel()
	// Each write is in the file before its reply, which is enough to survive a killed process.
	server := redistest.Own(t, "appendonly yes", "appendfsync no")
	searchDisturbed(t, disturbance{
		client:  func(t *testing.T) rueidis.Client { return server.Client(t) },
		retried: true,
		disturb: func(t *testing.T, d *disturbed, done <-chan struct{}) {
			for n := 0; n < 1+disturbedSearches()/1000 && d.written(100, done); n++ {
				server.Restart(t, true)
			}
		},
	})
}

// Random queries give right results while all slots of the index move back and forth between
// two servers of a Cluster, key by key.
func TestSearchDuringMoves(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, 2)
	searchDisturbed(t, disturbance{
		client:  func(t *testing.T) rueidis.Client { return c.Client(t) },
		retried: true,
		disturb: func(t *testing.T, d *disturbed, done <-chan struct{}) { d.moveBackAndForth(t, c, done) },
	})
}

// searchDisturbed compares random queries while writers work and the index is disturbed.
func searchDisturbed(t *testing.T, by disturbance) {
	t.Helper()
	const key = disturbedKey
	d := &disturbed{model: newModel(), versions: map[int64]int{}, wrote: make(chan struct{})}
	d.every = true
	opt := Options{Text: d.read}
	d.x = small(open(t, by.client(t), key, opt))
	var clients []rueidis.Client // created before the disturbance
	for range disturbedWriters + disturbedReaders {
		clients = append(clients, by.client(t))
	}
	var writers, others sync.WaitGroup
	for w, client := range clients[:disturbedWriters] {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 3))
			d.write(t, int64(w), r, func() *Index {
				if by.writer != nil {
					return small(open(t, by.writer(client, r), key, opt))
				}
				return small(open(t, client, key, opt))
			})
		})
	}
	done := make(chan struct{})
	if by.disturb != nil {
		others.Go(func() { by.disturb(t, d, done) })
	}
	var readers sync.WaitGroup
	for i, client := range clients[disturbedWriters:] {
		x := small(open(t, client, key, opt))
		readers.Go(func() { d.search(t, x, i, by.retried) })
	}
	readers.Wait()
	close(done)
	others.Wait()
	d.stop.Store(true)
	writers.Wait()
	if t.Failed() {
		return
	}
	d.verify(t)
	t.Logf("%d writes during %d searches", d.writes.Load(), disturbedSearches())
}

// read is Options.Text.
func (d *disturbed) read(ctx context.Context, ids []int64) (map[int64]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text(ctx, ids)
}

// write puts, replaces and removes documents until it is stopped. Each write is repeated until
// it succeeds, with another Index each time.
func (d *disturbed) write(t *testing.T, writer int64, r *rand.Rand, x func() *Index) {
	var ids [disturbedIDs]int64
	document := rapid.Custom(drawSeparated)
	for seed := int(writer); !d.stop.Load() && !t.Failed(); seed += disturbedWriters {
		id := &ids[r.IntN(len(ids))]
		if *id == 0 {
			*id = d.unused(writer, r)
		}
		d.mu.Lock()
		before, exists := d.documents[*id]
		d.versions[*id]++
		d.mu.Unlock()
		after := document.Example(seed)
		remove := exists && r.IntN(4) == 0
		repeated(t, func() error {
			switch {
			case remove:
				return x().Remove(t.Context(), *id, before)
			case exists:
				return x().Replace(t.Context(), *id, before, after)
			}
			return x().Put(t.Context(), *id, after)
		})
		d.mu.Lock()
		d.documents[*id] = after
		if remove {
			delete(d.documents, *id)
		}
		d.versions[*id]++
		d.mu.Unlock()
		if remove {
			*id = 0
		}
		d.writes.Add(1)
		select {
		case d.wrote <- struct{}{}:
		default:
		}
	}
}

// repeated repeats a write until it succeeds.
func repeated(t *testing.T, do func() error) {
	for {
		err := do()
		if err == nil {
			return
		}
		if errors.Is(err, ErrConflict) || t.Context().Err() != nil {
			t.Error(err)
			return
		}
	}
}

// unused returns an id of a writer that no document has had. Some are far from the others.
func (d *disturbed) unused(writer int64, r *rand.Rand) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		n := r.Int64N(1 << 12)
		if r.IntN(20) == 0 {
			n <<= 30
		}
		id := disturbedWriters*n + writer + 1
		if d.versions[id] == 0 {
			return id
		}
	}
}

// search compares the results of random queries with the model.
func (d *disturbed) search(t *testing.T, x *Index, reader int, retried bool) {
	expr := rapid.Custom(func(t *rapid.T) *Expr { return drawExpr(t, 3) })
	for seed := reader; seed < disturbedSearches() && !t.Failed(); seed += disturbedReaders {
		q := Query{Expr: expr.Example(seed), Limit: 1 + seed%50}
		if !d.hasWords(q.Expr) {
			continue
		}
		d.mu.Lock()
		documents, versions := maps.Clone(d.documents), maps.Clone(d.versions)
		d.mu.Unlock()
		got, err := pages(t.Context(), x, q)
		if retried && err != nil {
			seed -= disturbedReaders // retry, with the current state
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", q.Expr, err)
			return
		}
		d.judge(t, q.Expr, got, &disturbed{model: &model{documents: documents}, versions: versions})
	}
}

// pages reads all pages of a query.
func pages(ctx context.Context, x *Index, q Query) (ids []int64, err error) {
	for {
		r, err := x.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		if ids = append(ids, r.IDs...); r.Next == 0 {
			return ids, nil
		}
		q.Before = r.Next
	}
}

// judge compares a result with the documents that have not changed since the search started.
func (d *disturbed) judge(t *testing.T, e *Expr, got []int64, began *disturbed) {
	if !slices.IsSortedFunc(got, func(a, b int64) int { return int(min(1, max(-1, b-a))) }) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("%s: not in order: %v", e, got)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, version := range d.versions {
		if version%2 == 1 || version != began.versions[id] {
			continue
		}
		document, exists := began.documents[id]
		match := false
		if exists {
			match, _ = d.matches(e, document)
		}
		if found := slices.Contains(got, id); found != match {
			t.Errorf("%s: %d with %q is found: %v, expected %v", e, id, document, found, match)
		}
	}
}

// written waits for n more writes. It returns false if the searches finish before that.
func (d *disturbed) written(n int, done <-chan struct{}) bool {
	for range n {
		select {
		case <-d.wrote:
		case <-done:
			return false
		}
	}
	return true
}

// moveBackAndForth moves the slot of the index between two masters of a Cluster, a few keys at
// a time, until the searches are done, and at least there and back once.
func (d *disturbed) moveBackAndForth(t *testing.T, c *redistest.ClusterServers, done <-chan struct{}) {
	slot := slots.Slot([]byte(disturbedKey))
	at := slot * 2 / slots.Slots
	moves := 0
	for ; !t.Failed() && (moves < 2 || d.written(20, done)); moves++ {
		if err := c.MoveSlot(t.Context(), slot, at, 1-at); err != nil {
			t.Error(err)
		}
		at = 1 - at
	}
	t.Logf("the slot moved %d times", moves)
}

// drawSeparated draws a document whose words are separated by blanks, so that the index has
// exactly the words of the vocabulary.
func drawSeparated(t *rapid.T) Document {
	d := drawDocument(t)
	d.Text = strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary()), 0, 8).Draw(t, "apart"), " ")
	return d
}

// No prefix of the vocabulary has more words than a prefix is completed with, so in the model
// of a disturbed index all of them match.
func TestFewCompletions(t *testing.T) {
	t.Parallel()
	var splitter words.Splitter
	terms := words.Terms(splitter.Atoms(strings.Join(vocabulary(), " ")))
	for _, term := range terms {
		first, _ := utf8.DecodeRuneInString(term)
		n := 0
		for _, other := range terms {
			if strings.HasPrefix(other, string(first)) {
				n++
			}
		}
		if n > completions {
			t.Errorf("%d words begin as %q", n, term)
		}
	}
}

// A word is completed while the number of its documents crosses magnitudes in both directions.
func TestCompleteDuringWrites(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	reader, writer := open(t, db.Client(t), "{magnitude}", Options{}), open(t, db.Client(t), "{magnitude}", Options{})
	d := Document{Text: "word"}
	for id := range int64(31) {
		require.OK(t)(writer.Put(t.Context(), id+1, d))
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for id := int64(32); !stop.Load(); id++ {
			if err := errors.Join(writer.Put(t.Context(), id, d), writer.Remove(t.Context(), id, d)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 2000 {
		if words, err := completed(t.Context(), reader, "wo"); err != nil || len(words) != 1 {
			t.Error(words, err)
			break
		}
	}
	stop.Store(true)
	wg.Wait()
}
