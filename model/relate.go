package model

import (
	"context"
	"fmt"
	"reflect"

	"retwis/model/internal/record"
)

// Relate registers that the records of one Store refer to the records of another Store. Delete then
// applies the rules in the tags of the Ref fields (restrict, cascade or clear), and writes check
// fields with the option exists. Call Relate after New in every program that deletes records of to
// or writes records of from, unless the model refers to itself. The rules are part of the published
// schema: in a program that has not called Relate, Delete returns ErrNotRelated and names the
// referring model. The Stores may be in different databases; each database lists only its own
// models. Relate returns ErrDeclaration if from has no Ref, or list of Refs, to the other model
// with one of these options.
//
// Relate also publishes the model that a field refers to, which distinguishes two models with
// the same Go type. It takes one or two round trips.
//
//	type Post struct {
//		ID     string          `redis:",id"`
//		Author model.Ref[User] `redis:"author,index,cascade"`
//	}
//	…
//	err = model.Relate(ctx, posts, users)
func Relate[A, B any](ctx context.Context, from *Store[A], to *Store[B]) error {
	if !record.Relate(from.o, to.o) {
		return wrap(from.t, fmt.Errorf("%w: %s has no field of type model.Ref[%s] with an option: give its tag restrict, cascade, clear or exists",
			ErrDeclaration, reflect.TypeFor[A](), reflect.TypeFor[B]()))
	}
	return wrap(from.t, from.t.References.Publish(ctx, reflect.TypeFor[B]().Name(), to.t.Options.Name))
}
