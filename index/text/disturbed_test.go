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
	client  func(t *testing.T) rueidis.Client                        // returns a new client
	writer  func(client rueidis.Client, r *rand.Rand) rueidis.Client // wraps the client of a writer, unless nil
	retried bool                                                     // failed searches are retried
	disturb func(t *testing.T, d *disturbed, done <-chan struct{})   // unless nil, runs during the searches
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

// Random queries with every operator return correct results while documents are put, replaced and
// removed.
func TestSearchDuringWrites(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	searchDisturbed(t, disturbance{client: func(t *testing.T) rueidis.Client { return db.Client(t) }})
}

// Random queries return correct results while writers are killed during writes and repeat them.
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

// Random queries return correct results while the server is killed and restarted.
func TestSearchDuringRestarts(t *testing.T) {
	t.Parallel()
	// Each write is in the file before its reply, so it survives the kill of the server.
	server := redistest.Own(t, "appendonly yes", "appendfsync no")
	searchDisturbed(t, disturbance{
		client:  func(t *testing.T) rueidis.Client { return server.Client(t) },
		retried: true,
		disturb: func(t *testing.T, d *disturbed, done <-chan struct{}) {
			for n := 0; n < 1+disturbedSearches()/1000 && d.waitForWrites(100, done); n++ {
				server.Restart(t, true)
			}
		},
	})
}

// Random queries return correct results while the slot of the index moves back and forth between
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

// searchDisturbed compares random queries with the model during writes and a disturbance.
func searchDisturbed(t *testing.T, dist disturbance) {
	t.Helper()
	const key = disturbedKey
	d := &disturbed{model: newModel(), versions: map[int64]int{}, wrote: make(chan struct{})}
	d.every = true
	opt := Options{Text: d.read}
	d.x = small(open(t, dist.client(t), key, opt))
	var clients []rueidis.Client // created before the disturbance
	for range disturbedWriters + disturbedReaders {
		clients = append(clients, dist.client(t))
	}
	var writers, disturber sync.WaitGroup
	for w, client := range clients[:disturbedWriters] {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 3))
			d.write(t, int64(w), r, func() *Index {
				if dist.writer != nil {
					return small(open(t, dist.writer(client, r), key, opt))
				}
				return small(open(t, client, key, opt))
			})
		})
	}
	done := make(chan struct{})
	if dist.disturb != nil {
		disturber.Go(func() { dist.disturb(t, d, done) })
	}
	var readers sync.WaitGroup
	for i, client := range clients[disturbedWriters:] {
		x := small(open(t, client, key, opt))
		readers.Go(func() { d.search(t, x, i, dist.retried) })
	}
	readers.Wait()
	close(done)
	disturber.Wait()
	d.stop.Store(true)
	writers.Wait()
	if t.Failed() {
		return
	}
	d.verify(t)
	t.Logf("%d writes during %d searches", d.writes.Load(), disturbedSearches())
}

// read implements Options.Text.
func (d *disturbed) read(ctx context.Context, ids []int64) (map[int64]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text(ctx, ids)
}

// write puts, replaces and removes documents until d.stop is set. It repeats each write, with a new
// Index, until the write succeeds.
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
		retryWrite(t, func() error {
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

// retryWrite repeats a write until the write succeeds. ErrConflict fails the test.
func retryWrite(t *testing.T, do func() error) {
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

// unused returns an ID of a writer that no document has had. Some IDs are far from the others.
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
		d.checkResult(t, q.Expr, got, &disturbed{model: &model{documents: documents}, versions: versions})
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

// checkResult compares a result with the documents that have not changed since before was copied.
func (d *disturbed) checkResult(t *testing.T, e *Expr, got []int64, before *disturbed) {
	if !slices.IsSortedFunc(got, func(a, b int64) int { return int(min(1, max(-1, b-a))) }) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("%s: not in order: %v", e, got)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, version := range d.versions {
		if version%2 == 1 || version != before.versions[id] {
			continue
		}
		document, exists := before.documents[id]
		match := false
		if exists {
			match, _ = d.matches(e, document)
		}
		if found := slices.Contains(got, id); found != match {
			t.Errorf("%s: document %d with %q is found: %v, want %v", e, id, document, found, match)
		}
	}
}

// waitForWrites waits for n more writes. It returns false if the searches finish first.
func (d *disturbed) waitForWrites(n int, done <-chan struct{}) bool {
	for range n {
		select {
		case <-d.wrote:
		case <-done:
			return false
		}
	}
	return true
}

// moveBackAndForth moves the slot of the index between two masters of a Cluster, a few keys at a
// time, at least twice and until the searches are done.
func (d *disturbed) moveBackAndForth(t *testing.T, c *redistest.ClusterServers, done <-chan struct{}) {
	slot := slots.Slot([]byte(disturbedKey))
	from := slot * 2 / slots.Slots
	moves := 0
	for ; !t.Failed() && (moves < 2 || d.waitForWrites(20, done)); moves++ {
		if err := c.MoveSlot(t.Context(), slot, from, 1-from); err != nil {
			t.Error(err)
		}
		from = 1 - from
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

// No prefix in the vocabulary has more words than a prefix query expands to, so the model of a
// disturbed index matches all words with a prefix.
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
			t.Errorf("%d words begin with %q, want at most %d", n, first, completions)
		}
	}
}

// A prefix completes to a word while the number of documents with the word crosses magnitudes in
// both directions.
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
		if words, err := completeOne(t.Context(), reader, "wo"); err != nil || len(words) != 1 {
			t.Errorf("completions of wo: %v, %v, want one", words, err)
			break
		}
	}
	stop.Store(true)
	wg.Wait()
}
