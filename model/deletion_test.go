package model_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/model"
)

// node refers to other nodes with each of the rules.
type node struct {
	ID    string            `redis:",id"`
	Under []model.Ref[node] `redis:"under,index,cascade"`
	Holds model.Ref[node]   `redis:"holds,index,restrict"`
	Sees  []model.Ref[node] `redis:"sees,index,clear"`
}

// Delete in random graphs with cycles agrees with a traversal in memory.
func TestDeletePropertyOfGraphs(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "m", func(t *testing.T, client rueidis.Client, opt model.Options) {
		round := 0
		rapid.Check(t, func(rt *rapid.T) {
			round++
			opt.Name, opt.IDs = fmt.Sprint("node", round), model.ClientAssigned
			s := store[node](t, client, opt)
			n := rapid.IntRange(1, 8).Draw(rt, "nodes")
			ref := rapid.Custom(func(rt *rapid.T) model.Ref[node] {
				return model.To[node](fmt.Sprint(rapid.IntRange(1, n+1).Draw(rt, "to"))) // n+1 does not exist
			})
			refs := rapid.SliceOfN(ref, 0, 3)
			nodes := map[string]node{}
			for i := range n {
				x := node{ID: fmt.Sprint(i + 1), Under: refs.Draw(rt, "under"), Sees: refs.Draw(rt, "sees")}
				if rapid.IntRange(0, 9).Draw(rt, "holds") == 0 {
					x.Holds = ref.Draw(rt, "held")
				}
				nodes[x.ID] = mustCreate(t, s, x)
			}
			for _, id := range rapid.SliceOfN(rapid.IntRange(1, n), 1, 3).Draw(rt, "deleted") {
				deleteNode(rt, t, s, nodes, fmt.Sprint(id))
			}
		})
	})
}

// deleteNode deletes a node, and compares the remaining nodes with a traversal in memory.
func deleteNode(rt *rapid.T, t *testing.T, s *model.Store[node], nodes map[string]node, id string) {
	err := s.Delete(t.Context(), id)
	_, existed := nodes[id]
	if errors.Is(err, model.ErrNotFound) && !existed {
		err = nil // its dependents are deleted nevertheless
	} else if err == nil && !existed {
		rt.Fatalf("Delete(%s) of a missing node succeeded", id)
	}
	doomed := withDependents(nodes, id)
	held, heldByOthers := false, false
	for _, x := range nodes {
		if _, there := nodes[x.Holds.ID]; doomed[x.Holds.ID] && x.ID != x.Holds.ID && there {
			held = true
			heldByOthers = heldByOthers || !doomed[x.ID]
		}
	}
	now := map[string]node{}
	for other := range nodes {
		x, err := s.Get(t.Context(), other)
		if err == nil {
			now[other] = x
		} else if !errors.Is(err, model.ErrNotFound) {
			rt.Fatal(err)
		}
	}
	switch {
	case err != nil && (!errors.Is(err, model.ErrReferenced) || !held):
		rt.Fatal(err)
	case err == nil && heldByOthers:
		rt.Fatalf("%s was deleted although another node holds one of its dependents", id)
	case err != nil:
		if _, there := now[id]; !there && existed {
			rt.Fatalf("%s was deleted, but Delete returned %v", id, err)
		}
		for other := range nodes {
			if _, there := now[other]; !there && !doomed[other] {
				rt.Fatalf("%s was deleted, but does not depend on %s", other, id)
			}
		}
	default:
		for other, x := range nodes {
			got, there := now[other]
			if there == doomed[other] {
				rt.Fatalf("%s exists: %v; the nodes to delete are %v", other, there, doomed)
			}
			gone := func(r model.Ref[node]) bool { return doomed[r.ID] }
			if want := slices.DeleteFunc(slices.Clone(x.Sees), gone); there && !slices.Equal(got.Sees, want) {
				rt.Fatalf("%s sees %v, want %v", other, got.Sees, want)
			}
		}
	}
	clear(nodes)
	for other, x := range now {
		nodes[other] = x
	}
}

// withDependents returns a node and all its dependents.
func withDependents(nodes map[string]node, id string) map[string]bool {
	all := map[string]bool{id: true}
	for grown := true; grown; {
		grown = false
		for _, x := range nodes {
			if !all[x.ID] && slices.ContainsFunc(x.Under, func(r model.Ref[node]) bool { return all[r.ID] }) {
				all[x.ID], grown = true, true
			}
		}
	}
	return all
}

// With cascade and clear, no reference to a deleted record is left. In one slot this also holds
// for restrict: a record that still exists after a reference to it was written is not deleted.
func TestDeleteDuringWrites(t *testing.T) {
	t.Parallel()
	forEachLibrary(t, func(t *testing.T, l library) {
		kinds := 2
		if strings.HasSuffix(t.Name(), "one_database") {
			kinds = 3
		}
		testDeleteDuringWrites(t, l, kinds)
	})
}

func testDeleteDuringWrites(t *testing.T, l library, kinds int) {
	ctx := t.Context()
	stop := make(chan struct{})
	var deleting, writing sync.WaitGroup
	const authors = 4
	var ids [authors]atomic.Value // the current author of each goroutine; each author is deleted once
	var deleted, refused atomic.Int64
	for a := range authors {
		ids[a].Store("")
		deleting.Go(func() {
			for round := 0; ; round++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("%d-%d", a, round)
				mustCreate(t, l.authors, author{ID: id})
				ids[a].Store(id)
				for range 10 { // the lifetime of the author
					_, err := l.authors.Get(ctx, id)
					checkErr(t, err)
				}
				err := l.authors.Delete(ctx, id)
				for ; errors.Is(err, model.ErrReferenced); err = l.authors.Delete(ctx, id) {
					refused.Add(1)
				}
				checkErr(t, err)
				deleted.Add(1)
			}
		})
	}
	for w := range 4 {
		writing.Go(func() {
			for i := range 100 {
				id := fmt.Sprintf("%d-%d", w, i)
				author := ids[i%authors].Load().(string)
				for author == "" {
					author = ids[i%authors].Load().(string)
				}
				writeReference(t, l, id, author, i%kinds)
			}
		})
	}
	writing.Wait()
	close(stop)
	deleting.Wait()
	if deleted.Load() == 0 || refused.Load() == 0 && kinds == 3 {
		t.Errorf("%d authors deleted, %d deletions refused; want some of each", deleted.Load(), refused.Load())
	}
	for w := range 4 {
		for i := range 100 {
			id := fmt.Sprintf("%d-%d", w, i)
			if p, err := l.posts.Get(ctx, id); err == nil {
				if there, _ := l.authors.Has(ctx, p.Author.ID); !there {
					t.Errorf("post %s refers to a deleted author", id)
				}
			}
			if b, err := l.bands.Get(ctx, id); err == nil && b.Lead != nil {
				if there, _ := l.authors.Has(ctx, b.Lead.ID); !there {
					t.Errorf("band %s refers to a deleted author", id)
				}
			}
		}
	}
}

// writeReference writes a record that refers to an author, and deletes it if the author does
// not exist afterwards.
func writeReference(t *testing.T, l library, id, authorID string, kind int) {
	ctx, ref := t.Context(), model.To[author](authorID)
	switch kind {
	case 2:
		mustCreate(t, l.invoices, invoice{ID: id, Payer: ref})
		for range 3 { // while the invoice refers to the author, the author cannot be deleted
			there, err := l.authors.Has(ctx, authorID)
			checkErr(t, err)
			if !there {
				break
			}
			for range 5 {
				if still, err := l.authors.Has(ctx, authorID); !still || err != nil {
					t.Errorf("author %s was deleted although invoice %s refers to it (%v)", authorID, id, err)
				}
			}
		}
		checkErr(t, l.invoices.Delete(ctx, id))
	case 0:
		mustCreate(t, l.posts, post{ID: id, Author: ref})
		if there, err := l.authors.Has(ctx, authorID); !there {
			checkErr(t, err)
			if err := l.posts.Delete(ctx, id); err != nil && !errors.Is(err, model.ErrNotFound) {
				t.Error(err)
			}
		}
	default:
		mustCreate(t, l.bands, band{ID: id, Lead: &ref})
		if there, err := l.authors.Has(ctx, authorID); !there {
			checkErr(t, err)
			_, err := l.bands.Update(ctx, id, func(b *band) error { b.Lead = nil; return nil })
			checkErr(t, err)
		}
	}
}

// An interrupted Delete leaves the record, and can be repeated.
func TestDeleteInterrupted(t *testing.T) {
	t.Parallel()
	forEachLibrary(t, func(t *testing.T, l library) {
		ada := model.To[author]("ada")
		mustCreate(t, l.authors, author{ID: "ada"})
		const n = 300
		var wg sync.WaitGroup
		for w := range 10 {
			wg.Go(func() {
				for i := w; i < n; i += 10 {
					id := strconv.Itoa(i)
					p := post{ID: id, Author: ada}
					if i%2 == 1 { // some posts are deleted in the second step
						p = post{ID: id, Parent: model.To[post](strconv.Itoa(i - 1))}
					}
					mustCreate(t, l.posts, p)
					mustCreate(t, l.bands, band{ID: id, Members: []model.Ref[author]{ada}})
				}
			})
		}
		wg.Wait()
		interrupted := 0
		for wait := 500 * time.Microsecond; ; wait += 500 * time.Microsecond {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			err := l.authors.Delete(ctx, "ada")
			cancel()
			if err == nil || errors.Is(err, model.ErrNotFound) && interrupted > 0 {
				break
			}
			interrupted++
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		if interrupted == 0 {
			t.Error("no Delete was interrupted")
		}
		for i := range n {
			id := strconv.Itoa(i)
			if there, err := l.posts.Has(t.Context(), id); there || err != nil {
				t.Errorf("post %s is left (%v)", id, err)
			}
			if b, err := l.bands.Get(t.Context(), id); err != nil || len(b.Members) > 0 {
				t.Errorf("%+v, %v", b, err)
			}
		}
	})
}

// Delete deletes many records that refer to one record, directly and in a chain.
func TestDeleteMany(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	l := libraryOf(t, func(name string) (rueidis.Client, model.Options) {
		return client, model.Options{Name: name}
	})
	n := redistest.Cases(1500, 10_000)
	var wg sync.WaitGroup
	for w := range 50 {
		wg.Go(func() {
			for i := w; i < n; i += 50 {
				p := post{ID: strconv.Itoa(i), Author: model.To[author]("ada")}
				if i > n-n/10 { // a chain
					p = post{ID: p.ID, Parent: model.To[post](strconv.Itoa(i - 1))}
				}
				mustCreate(t, l.posts, p)
			}
		})
	}
	wg.Wait()
	mustCreate(t, l.authors, author{ID: "ada"})
	checkErr(t, l.authors.Delete(t.Context(), "ada"))
	for _, key := range []string{"post.all", "post.content", "post.by.author", "post.by.parent", "author.all"} {
		if redisDo(t, client, "EXISTS", key) != "0" {
			t.Errorf("%s is left", key)
		}
	}
}

// Delete follows a long chain in which every record also refers to the end of the chain, but
// refuses more than 1000 cycles.
func TestDeleteThroughCycles(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	for _, n := range []int{150, 1100} {
		s := store[node](t, client, model.Options{Name: fmt.Sprint("node", n), IDs: model.ClientAssigned})
		end := model.To[node]("end")
		for i := range n {
			under := []model.Ref[node]{end}
			if i > 0 {
				under = append(under, model.To[node](fmt.Sprintf("%04d", i-1)))
			}
			mustCreate(t, s, node{ID: fmt.Sprintf("%04d", i), Under: under})
		}
		mustCreate(t, s, node{ID: "end", Under: []model.Ref[node]{model.To[node](fmt.Sprintf("%04d", n-1))}})
		mustCreate(t, s, node{ID: "last", Under: []model.Ref[node]{end}})
		err := s.Delete(t.Context(), "0000")
		if n > 1000 {
			if !errors.Is(err, model.ErrReferenced) || !strings.Contains(err.Error(), "1000 cycles") {
				t.Error(err)
			}
			continue
		}
		checkErr(t, err)
		if left := redisDo(t, client, "EXISTS", fmt.Sprintf("node%d.all", n)); left != "0" {
			t.Error("records are left")
		}
	}
}
