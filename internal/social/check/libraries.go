package check

import (
	"context"
	"fmt"
	"slices"

	"retwis/internal/mail"
	"retwis/internal/social/layout"
	"retwis/internal/social/media"
	"retwis/internal/social/storage"
	"retwis/maintain"
	"retwis/model"
)

// libraryCheck checks the lists of people.
type libraryCheck struct{ check *checker }

// some checks the lists of users: their owners and members exist, and who is left out of the
// home timeline follows from them.
func (c *libraryCheck) some(ctx context.Context, keys []string) error {
	for _, owner := range idsOf(keys) {
		if err := c.one(ctx, owner); err != nil {
			return err
		}
	}
	return nil
}

func (c *libraryCheck) one(ctx context.Context, owner int64) error {
	store, key := c.check.app.Internals().Library, layout.ListsKey(owner)
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

// records compares the records of lists with what package model keeps of them.
func (c *libraryCheck) records(ctx context.Context) error {
	return checkModel(ctx, c.check, layout.ListsPrefix+"*", "lists", c.check.app.Internals().Library.Verify)
}

// checkModel compares the records of a model with what package model keeps of them.
func checkModel(ctx context.Context, c *checker, key, what string, verify func(context.Context, maintain.Options, bool) (model.Report, error)) error {
	if c.opt.Part < 1 {
		return nil
	}
	report, err := verify(ctx, maintain.Options{}, false)
	if err != nil || report.Problems() == 0 {
		return err
	}
	p := Problem{
		Kind: maintain.Stale, Key: key,
		Detail: fmt.Sprintf("%d records of %s are not as package model keeps them", report.Problems(), what), Repair: "repair the model",
	}
	return c.found(ctx, p, func(ctx context.Context) (bool, error) {
		_, err := verify(ctx, maintain.Options{}, true)
		return true, err
	})
}

// pictures checks all pictures, and looks for files that belong to none.
func (c *keyCheck) pictures(ctx context.Context) error {
	if c.check.opt.Part < 1 {
		return nil
	}
	for f, err := range c.check.app.Internals().Pictures.Findings(ctx) {
		if err == nil {
			err = foundPicture(ctx, c.check, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addresses checks the e-mail addresses, and that their users exist.
func (c *keyCheck) addresses(ctx context.Context) error {
	store := c.check.app.Internals().Addresses
	if err := checkModel(ctx, c.check, layout.EmailMeta, "addresses", store.Verify); err != nil || c.check.opt.Part < 1 {
		return err
	}
	for r, err := range store.All(ctx) {
		if storage.IsDamaged(err) {
			continue // reported above
		}
		if err != nil {
			return err
		}
		exist, err := c.check.usersExist(ctx, []int64{r.ID})
		if err != nil {
			return err
		}
		p := Problem{Kind: maintain.Dangling, Key: layout.EmailKey(r.ID), Detail: fmt.Sprintf("user %d does not exist", r.ID), Repair: "remove it"}
		forget := func(ctx context.Context) (bool, error) { return true, store.Forget(ctx, r.ID) }
		switch {
		case !exist[r.ID]:
			err = c.check.found(ctx, p, c.check.withoutUser(r.ID, forget))
		case r.Address != nil && !mail.IsAddress(*r.Address):
			p.Kind, p.Detail = maintain.Invalid, "has no valid address"
			err = c.check.found(ctx, p, forget)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func foundPicture(ctx context.Context, c *checker, f media.Finding) error {
	return c.found(ctx, Problem{Kind: f.Kind, Key: f.Key, Detail: f.Detail, Repair: f.Repair, Leftover: f.Leftover}, f.Fix)
}

// pictures checks that the pictures of a post have records.
func (c *postCheck) pictures(ctx context.Context, p *post) error {
	found, err := c.check.app.Internals().Pictures.FindingsOf(ctx, p.id, p.author, p.media)
	for _, f := range found {
		if err == nil {
			err = foundPicture(ctx, c.check, f)
		}
	}
	return err
}
