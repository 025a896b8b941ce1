package model

import (
	"context"
	"fmt"
	"reflect"
)

// Refer tells a Store that records of another refer to its own, so that Delete
// keeps the rules in the tags of their Ref fields: restrict, cascade or clear. Call
// it after New, in every program that deletes; a model that refers to itself needs
// none. The rules are part of the schema in the database: in a program that has not
// called Refer, Delete returns ErrRefer and names the model that refers. The Stores
// may be in different databases, of which each knows its own models only. It is
// ErrDeclaration where from has no Ref, or list of Refs, to the other model with a
// rule.
//
// Refer also writes down which model a field refers to, so that two models of one Go
// type can be told apart: a round trip or two.
//
//	type Post struct {
//		ID     string          `redis:",id"`
//		Author model.Ref[User] `redis:"author,index,cascade"`
//	}
//	…
//	err = model.Refer(posts, users)
func Refer[A, B any](from *Store[A], to *Store[B]) error {
	if !relate(from.o, to.o) {
		return from.t.wrap(fmt.Errorf("%w: %s has no field of type model.Ref[%s] with a rule: give its tag restrict, cascade or clear",
			ErrDeclaration, reflect.TypeFor[A](), reflect.TypeFor[B]()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), registerTimeout)
	defer cancel()
	return from.t.wrap(from.t.references.publish(ctx, reflect.TypeFor[B]().Name(), to.t.opt.Name))
}
