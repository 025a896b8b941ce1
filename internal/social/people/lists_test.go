package people_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/check"
	"retwis/internal/social/moderation"
	"retwis/internal/social/people"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
	"retwis/internal/social/timeline"
)

// listsBundle is an application with helpers for lists.
type listsBundle struct{ *socialtest.Bundle }

func (b listsBundle) must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

func (b listsBundle) viewer(user social.User) *social.Viewer {
	b.T.Helper()
	v, err := b.Viewers.Get(b.Ctx, user)
	b.must(err)
	return v
}

func (b listsBundle) list(user social.User, name string, members ...social.User) people.List {
	b.T.Helper()
	list, err := b.Library.Create(b.Ctx, user, name)
	b.must(err)
	for _, m := range members {
		b.must(b.Library.Add(b.Ctx, b.viewer(user), list.ID, m))
	}
	list, err = b.Library.Get(b.Ctx, user, list.ID)
	b.must(err)
	return list
}

func (b listsBundle) members(user social.User, id string) []int64 {
	b.T.Helper()
	list, err := b.Library.Get(b.Ctx, user, id)
	b.must(err)
	return list.Members
}

func (b listsBundle) wantInvalid(err error, part string) {
	b.T.Helper()
	var invalid *social.InvalidError
	if !errors.As(err, &invalid) || !strings.Contains(invalid.Reason.String(), part) {
		b.T.Errorf("got %v, want an error with %q", err, part)
	}
}

func idsOf(page timeline.Listing) []int64 {
	ids := []int64{}
	for _, item := range page.Items {
		ids = append(ids, item.Entry.ID)
	}
	return ids
}

func TestNames(t *testing.T) {
	t.Parallel()
	b := listsBundle{socialtest.New(t)}
	ada, bob := b.NewUser("ada"), b.NewUser("bob")
	list := b.list(ada, "  Close\u202e   friends ")
	if list.Name != "Close friends" {
		t.Errorf("name = %q, want %q", list.Name, "Close friends")
	}
	for typed, part := range map[string]string{
		" \u200b ": "Give the list a name.", "CLOSE FRIENDS": "You already have a list with that name.",
		strings.Repeat("x", 51): "Use at most 50 characters.",
	} {
		_, err := b.Library.Create(b.Ctx, ada, typed)
		b.wantInvalid(err, part)
	}
	b.list(bob, "Close friends") // another user may use the name
	other := b.list(ada, "Work")
	b.wantInvalid(b.Library.Edit(b.Ctx, ada, other.ID, "close FRIENDS", false), "You already have a list with that name.")
	b.must(b.Library.Edit(b.Ctx, ada, list.ID, "Close Friends", false)) // a list may keep its name
	if err := b.Library.Edit(b.Ctx, bob, list.ID, "Mine", false); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("Edit by bob of ada's list: %v, want ErrNotFound", err)
	}
	if _, err := b.Library.Get(b.Ctx, bob, list.ID); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("Get by bob of ada's list: %v, want ErrNotFound", err)
	}
	b.must(b.Library.Delete(b.Ctx, ada, other.ID))
	b.must(b.Library.Delete(b.Ctx, ada, other.ID))
	all, err := b.Library.All(b.Ctx, ada)
	b.must(err)
	if len(all.Lists) != 1 || all.Lists[0].Name != "Close Friends" {
		t.Errorf("lists: %+v", all.Lists)
	}
	b.WantHealthy()
}

// The limits hold when two processes fill the same lists concurrently.
func TestLimits(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	b, other := listsBundle{socialtest.Watched(t, db.URL())}, listsBundle{socialtest.Watched(t, db.URL())}
	ada := b.NewUser("ada")
	done := make(chan error, 2)
	for n, process := range []listsBundle{b, other} {
		go func() {
			for i := range people.MaxLists {
				if _, err := process.Library.Create(b.Ctx, ada, fmt.Sprint("list ", n, " ", i)); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	b.wantInvalid(errors.Join(<-done, <-done), "the maximum")
	all, err := b.Library.All(b.Ctx, ada)
	b.must(err)
	if len(all.Lists) != people.MaxLists {
		t.Errorf("%d lists, want %d", len(all.Lists), people.MaxLists)
	}

	id := all.Lists[0].ID
	for uid := int64(2); uid < 2+people.MaxMembers; uid++ {
		b.Redis("HSET", storage.UserKey(uid), "username", fmt.Sprint("user", uid))
		b.must(b.Library.Add(b.Ctx, b.viewer(ada), id, social.User{ID: uid}))
	}
	b.must(b.Library.Add(b.Ctx, b.viewer(ada), id, social.User{ID: 2}))
	b.Redis("HSET", storage.UserKey(900), "username", "late")
	b.wantInvalid(other.Library.Add(b.Ctx, b.viewer(ada), id, social.User{ID: 900}), "has 200 people")
	b.wantInvalid(other.Library.Put(b.Ctx, b.viewer(ada), social.User{ID: 900}, []string{id}), "has 200 people")
	b.must(b.Library.Remove(b.Ctx, ada, id, 2))
	b.must(other.Library.Put(b.Ctx, b.viewer(ada), social.User{ID: 900}, []string{id, all.Lists[1].ID, "none"}))
	if got := b.members(ada, id); len(got) != people.MaxMembers || got[len(got)-1] != 900 {
		t.Errorf("%d members, want %d with user 900 last", len(got), people.MaxMembers)
	}

	for i := range people.MaxSearches {
		b.must(b.Library.SaveSearch(b.Ctx, ada, fmt.Sprintf(" from:ada  %d", i)))
	}
	b.must(b.Library.SaveSearch(b.Ctx, ada, "from:ada 0"))
	b.wantInvalid(b.Library.SaveSearch(b.Ctx, ada, "one more"), "the maximum")
	b.wantInvalid(b.Library.SaveSearch(b.Ctx, ada, " "), "Search for something")
	b.must(b.Library.ForgetSearch(b.Ctx, ada, "from:ada 0"))
	b.must(other.Library.SaveSearch(b.Ctx, ada, "one more"))
}

// The pages of a list match a sorted list of all posts of its members, without members who are
// muted or suspended.
func TestPagesAgainstSort(t *testing.T) {
	t.Parallel()
	b := listsBundle{socialtest.New(t)}
	rng := rand.New(rand.NewPCG(1, 30))
	ada := b.NewUser("ada")
	var people []social.User
	for i := range 12 {
		people = append(people, b.NewUser(fmt.Sprint("user", i)))
	}
	list := b.list(ada, "All", people[:9]...)
	type entry struct{ id, author, repostOf int64 }
	var all []entry
	authorOf := map[int64]int64{}
	for range 40 { // as many entries as a repost is compared with
		from := people[rng.IntN(len(people))]
		if len(all) > 0 && rng.IntN(6) == 0 {
			original := all[rng.IntN(len(all))]
			if original.repostOf != 0 || original.author == from.ID || original.author > people[8].ID {
				continue
			}
			if post, err := b.Posts.Repost(b.Ctx, from, original.id); err == nil && !slices.ContainsFunc(all, func(e entry) bool { return e.id == post.ID }) {
				all = append(all, entry{post.ID, from.ID, original.id})
			}
			continue
		}
		id := b.Publish(from, fmt.Sprint("post ", rng.Uint64()))
		authorOf[id] = from.ID
		all = append(all, entry{id, from.ID, 0})
	}
	_, err := b.Posts.Reply(b.Ctx, people[0], all[0].id, "a reply is not on a list")
	b.must(err)
	b.must(b.Relations.Mute(b.Ctx, ada, people[1], time.Time{}))
	b.must(b.Moderation.SetStanding(b.Ctx, social.Operator, people[2].ID, moderation.StandingChange{Standing: social.Suspended}))
	v := b.viewer(ada)
	var visible []entry
	for _, e := range slices.Backward(all) {
		hidden := v.Sees(e.author) < social.Unlisted || e.repostOf != 0 && v.Sees(authorOf[e.repostOf]) < social.Unlisted
		if e.author <= people[8].ID && !hidden {
			visible = append(visible, e)
		}
	}
	var want []int64
	for i, e := range visible { // a repost is omitted if the next entries show the post
		shown := func(o entry) bool { return o.id == e.repostOf || o.repostOf == e.repostOf }
		if e.repostOf == 0 || !slices.ContainsFunc(visible[i+1:], shown) {
			want = append(want, e.id)
		}
	}
	for _, limit := range []int{1, 3, 10, 200} {
		var got []int64
		for before := int64(0); ; {
			page, err := b.Library.Posts(b.Ctx, v, list, before, limit)
			b.must(err)
			got = append(got, idsOf(page)...)
			if before = page.Next; before == 0 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v, want %v", limit, got, want)
		}
	}
}

// A block removes both users from each other's lists and prevents adding them again. Removing an
// account deletes its lists and removes the user from all lists.
func TestLeavingLists(t *testing.T) {
	t.Parallel()
	b := listsBundle{socialtest.New(t)}
	ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
	adas, bobs := b.list(ada, "A", ada, bob, eve), b.list(bob, "B", ada, eve)
	before := b.viewer(ada)
	b.must(b.Relations.Block(b.Ctx, bob, ada, time.Time{}))
	if got := b.members(ada, adas.ID); !slices.Equal(got, []int64{ada.ID, eve.ID}) {
		t.Errorf("members of ada's list: %v, want ada and eve", got)
	}
	if got := b.members(bob, bobs.ID); !slices.Equal(got, []int64{eve.ID}) {
		t.Errorf("members of bob's list: %v, want eve", got)
	}
	for _, v := range []*social.Viewer{before, b.viewer(ada)} { // one viewer from before the block
		if err := b.Library.Add(b.Ctx, v, adas.ID, bob); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("Add of a user who has blocked the owner: %v, want ErrNotFound", err)
		}
	}
	if got := b.members(ada, adas.ID); len(got) != 2 {
		t.Errorf("members of ada's list after Add: %v, want 2", got)
	}
	b.must(b.Library.SaveSearch(b.Ctx, eve, "words"))
	b.must(b.Leaving.DeleteAccount(b.Ctx, eve.ID))
	b.Clock.Advance(time.Minute)
	b.must(b.Leaving.FinishRemoval(b.Ctx, eve.ID))
	if got := append(b.members(ada, adas.ID), b.members(bob, bobs.ID)...); !slices.Equal(got, []int64{ada.ID}) {
		t.Errorf("members of both lists after the removal of eve: %v, want ada", got)
	}
	if b.Redis("EXISTS", storage.ListsKey(eve.ID)) != "0" {
		t.Error("the lists of the removed account were not deleted")
	}
	b.WantHealthy()
}

// The home timeline omits posts by members of a list that is left out, except for the viewer's own
// posts. A change takes effect immediately in its process, and soon in other processes.
func TestLeftOutOfHome(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	b, other := listsBundle{socialtest.Watched(t, db.URL())}, listsBundle{socialtest.Watched(t, db.URL())}
	ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
	b.Connect(ada, bob)
	b.Connect(ada, eve)
	own, bobs, eves := b.Publish(ada, "own"), b.Publish(bob, "bob's"), b.Publish(eve, "eve's")
	home := func(process listsBundle) []int64 {
		page, err := process.Lists.HomePosts(b.Ctx, process.viewer(ada), 0, 10)
		b.must(err)
		return idsOf(page)
	}
	list := b.list(ada, "A", ada, bob)
	all, withoutBob := []int64{eves, bobs, own}, []int64{eves, own}
	for _, leftOut := range []bool{false, true, false, true} {
		want := all
		if leftOut {
			want = withoutBob
		}
		b.must(b.Library.Edit(b.Ctx, ada, list.ID, "A", leftOut))
		if got := home(b); !slices.Equal(got, want) {
			t.Errorf("left out %v: home has %v, want %v", leftOut, got, want)
		}
		b.Eventually("the other process", func() bool { return slices.Equal(home(other), want) })
	}
	b.must(b.Library.Delete(b.Ctx, ada, list.ID))
	if got := home(b); !slices.Equal(got, all) {
		t.Errorf("home after the deletion of the list has %v, want %v", got, all)
	}
}

// Repair finds and repairs each kind of damage, and a block works on damaged lists.
func TestDamage(t *testing.T) {
	t.Parallel()
	for _, damage := range []struct {
		name, want string
		redis      []string
	}{
		{"no owner", "user 99 does not exist", []string{"HSET", storage.ListsKey(99), "searches", "[]", "_version", "1"}},
		{"no member", "member 99 does not exist", []string{"HSET", storage.ListsKey(1), "lists", `[{"id":"a","name":"A","members":[99,2]}]`}},
		{"left out", "left_out", []string{"HSET", storage.ListsKey(1), "left_out", "[2]"}},
		{"no list", "rename it to", []string{"HSET", storage.ListsKey(1), "lists", "x"}},
		{"not in the model", "package model", []string{"DEL", storage.ListsKey(1)}},
	} {
		t.Run(damage.name, func(t *testing.T) {
			t.Parallel()
			b := listsBundle{socialtest.New(t)}
			ada, bob, cem := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("cem")
			b.list(ada, "A", bob)
			b.list(bob, "B", ada)
			b.WantHealthy()
			b.Redis(damage.redis...)
			b.must(b.Relations.Block(b.Ctx, cem, ada, time.Time{}))
			b.must(b.Relations.Unblock(b.Ctx, cem, ada))
			var found []string
			opt := check.Options{Report: func(p check.Problem) { found = append(found, p.String()) }}
			_, err := check.Repair(b.Ctx, b.App, opt)
			b.must(err)
			if !strings.Contains(strings.Join(found, " "), damage.want) {
				t.Errorf("found %q, want %q", found, damage.want)
			}
			b.WantHealthy()
		})
	}
}
