package model

import (
	"context"
	"fmt"
	"reflect"

	"retwis/model/internal/record"
)

// Relate tells a Store that records of another refer to its own, so that Delete
// keeps the rules in the tags of their Ref fields: restrict, cascade or clear. Call
// it after New, in every program that deletes; a model that refers to itself needs
// none. The rules are part of the schema in the database: in a program that has not
// called Relate, Delete returns ErrNotRelated and names the model that refers. The Stores
// may be in different databases, of which each knows its own models only. It is
// ErrDeclaration where from has no Ref, or list of Refs, to the other model with a
// rule.
//
// Relate also writes down which model a field refers to, so that two models of one Go
// type can be told apart: a round trip or two.
//
//	type Post struct {
//		ID     string          `redis:",id"`
//		Author model.Ref[User] `redis:"author,index,cascade"`
//	}
//	…
//	err = model.Relate(posts, users)
func Relate[A, B any](from *Store[A], to *Store[B]) error {
	if !record.Relate(from.o, to.o) {
		return wrap(from.t, fmt.Errorf("%w: %s has no field of type model.Ref[%s] with a rule: give its tag restrict, cascade or clear",
			ErrDeclaration, reflect.TypeFor[A](), reflect.TypeFor[B]()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), record.RegisterTimeout)
	defer cancel()
	return wrap(from.t, from.t.References.Publish(ctx, reflect.TypeFor[B]().Name(), to.t.Options.Name))
}
