//go:build long

package model_test

import (
	"errors"

	"retwis/model"
)

// ohmIndexCases returns the cases of indices.rb.
func ohmIndexCases() map[string]func(c *ohmCase) {
	email := func(address string) model.Cond { return model.Eq("email", address) }
	return map[string]func(c *ohmCase){
		"indices: be able to find by the given attribute": func(c *ohmCase) {
			users, all := ohmMails(c)
			equal(c, value[ohmMail](c)(users.Find(email("foo")).First(c.ctx)), all[0])
		},
		"indices: raise if the index doesn't exist": func(c *ohmCase) {
			users, _ := ohmMails(c)
			if _, err := users.Find(model.Eq("address", "foo")).IDs(c.ctx); !errors.Is(err, model.ErrValue) {
				c.Errorf("%v; want ErrValue", err)
			}
			if _, err := users.Find(model.Eq("capacity", 1)).IDs(c.ctx); !errors.Is(err, model.ErrNoIndex) {
				c.Errorf("%v; want ErrNoIndex", err)
			}
		},
		"indices: avoid intersections with the all collection": func(c *ohmCase) {
			users, _ := ohmMails(c)
			plan, err := users.Find(email("foo")).Explain(c.ctx)
			c.ok(err)
			equal(c, len(plan.Steps), 1)
			equal(c, plan.Steps[0].Filter, "")
		},
		"indices: allow multiple chained finds": func(c *ohmCase) {
			users, _ := ohmMails(c)
			equal(c, found(c, users.Find(email("foo"), model.Eq("activation_code", "bar"), model.Eq("update", "baz"))), []string{"1"})
		},
		"indices: return nil if no results are found": func(c *ohmCase) {
			users, _ := ohmMails(c)
			equal(c, found(c, users.Find(email("foobar"))), []string{})
			if _, err := users.Find(email("foobar")).First(c.ctx); !errors.Is(err, model.ErrNotFound) {
				c.Errorf("%v; want ErrNotFound", err)
			}
		},
		"indices: update indices when changing attribute values": func(c *ohmCase) {
			users, all := ohmMails(c)
			all[0].Email = ptr("baz")
			c.ok(errOf(users.Save(c.ctx, all[0])))
			equal(c, found(c, users.Find(email("foo"))), []string{})
			equal(c, found(c, users.Find(email("baz"))), []string{"1"})
		},
		"indices: remove from the index after deleting": func(c *ohmCase) {
			users, all := ohmMails(c)
			c.ok(users.Delete(c.ctx, all[1].ID))
			equal(c, found(c, users.Find(email("bar"))), []string{})
		},
		"indices: work with attributes that contain spaces": func(c *ohmCase) {
			users, _ := ohmMails(c)
			equal(c, found(c, users.Find(email("baz qux"))), []string{"3"})
		},
		"indices: allow indexing by an arbitrary attribute": func(c *ohmCase) {
			users, _ := ohmMails(c)
			equal(c, found(c, users.Find(model.Eq("provider", "gmail.com"))), []string{"4", "5"})
			equal(c, found(c, users.Find(model.Eq("provider", "yahoo.com"))), []string{"6"})
		},
		"indices: index bug": func(c *ohmCase) {
			users := ohmStore[ohmMail](c, "node")
			node := mustCreate(c, users, ohmMail{})
			c.ok(errOf(users.Patch(c.ctx, node.ID, map[string]any{"capacity": 91})))
			equal(c, found(c, users.Find(model.Eq("available", true))), []string{})
		},
		"indices: float to string": func(c *ohmCase) {
			users := ohmStore[ohmMail](c, "node")
			mustCreate(c, users, ohmMail{Float: 3.0})
			mustCreate(c, users, ohmMail{Float: 3})
			equal(c, found(c, users.Find(model.Eq("float", 3))), []string{"1", "2"}) // 3.0 and 3 are the same number
		},
	}
}
