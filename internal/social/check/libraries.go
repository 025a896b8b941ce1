package check

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"retwis/internal/social/storage"

	"retwis/maintain"
)

// libraryCheck checks the users' lists of people.
type libraryCheck struct{ check *checker }

// lists checks that the owners and members of lists exist, and that the users omitted from the home
// timelines match the lists.
func (c *libraryCheck) lists(ctx context.Context, keys []string) error {
	for _, owner := range idsOf(keys) {
		if err := c.list(ctx, owner); err != nil {
			return err
		}
	}
	return nil
}

func (c *libraryCheck) list(ctx context.Context, owner int64) error {
	store, key := c.check.app.Internals().Library, storage.ListsKey(owner)
	all, err := store.Get(ctx, owner)
	if storage.IsDamaged(err) {
		p := Problem{Kind: maintain.Invalid, Key: key, Detail: err.Error(), Repair: "rename it to " + setAsideKey(key, 1)}
		return c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return c.check.setAside(ctx, key, "hash") })
	}
	if err != nil {
		return err
	}
	members := all.Members()
	exist, err := c.check.usersExist(ctx, append(slices.Clone(members), owner))
	if err != nil {
		return err
	}
	if !exist[owner] {
		p := Problem{Kind: maintain.Dangling, Key: key, Detail: fmt.Sprintf("user %d does not exist", owner), Repair: "remove it"}
		return c.check.found(ctx, p, c.check.withoutUser(owner, func(ctx context.Context) (bool, error) { return true, store.Forget(ctx, owner) }))
	}
	for _, member := range members {
		if exist[member] {
			continue
		}
		p := Problem{
			Kind: maintain.Dangling, Key: key, Leftover: true,
			Detail: fmt.Sprintf("member %d does not exist", member), Repair: "remove it",
		}
		err := c.check.found(ctx, p, c.check.withoutUser(member, func(ctx context.Context) (bool, error) {
			return true, store.RemoveMembers(ctx, []int64{owner}, func(_, other int64) bool { return other == member })
		}))
		if err != nil {
			return err
		}
	}
	if detail := all.Problem(); detail != "" {
		p := Problem{Kind: maintain.Invalid, Key: key, Detail: detail, Repair: "write it again"}
		return c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return store.Rewrite(ctx, owner) })
	}
	return nil
}

// findings reports the problems that other packages find in their own data.
func (c *keyCheck) findings(ctx context.Context) error {
	if c.check.opt.Part < 1 {
		return nil
	}
	in := c.check.app.Internals()
	for _, findings := range []iter.Seq2[storage.Finding, error]{
		in.Library.Findings(ctx), in.Pictures.Findings(ctx, c.check.opt.DeleteFiles), in.Addresses.Findings(ctx, c.check.userExists),
	} {
		for f, err := range findings {
			if err == nil {
				err = report(ctx, c.check, f)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func report(ctx context.Context, c *checker, f storage.Finding) error {
	return c.found(ctx, Problem{Kind: f.Kind, Key: f.Key, Detail: f.Detail, Repair: f.Repair, Leftover: f.Leftover}, f.Fix)
}

// pictures checks that the pictures of a post have records.
func (c *postCheck) pictures(ctx context.Context, p *post) error {
	found, err := c.check.app.Internals().Pictures.FindingsOf(ctx, p.id, p.author, p.media)
	for _, f := range found {
		if err == nil {
			err = report(ctx, c.check, f)
		}
	}
	return err
}
