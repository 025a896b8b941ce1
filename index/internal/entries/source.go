package entries

import (
	"context"
	"iter"
)

// Source is the data that an index is built from and compared with.
type Source struct {
	All    func(ctx context.Context) iter.Seq2[Object, error]
	Lookup func(ctx context.Context, ids []string) ([]Object, error) // may be nil
}

// Object is an object of a Source, and the value that it should have in the index.
type Object struct {
	ID, Value string
	Err       error // set if the index cannot hold the value
}

// From converts a source of values of type V. all and lookup may be nil.
func From[V any, O ~struct {
	ID    string
	Value V
	Err   error
}](all func(context.Context) iter.Seq2[O, error], lookup func(context.Context, []string) ([]O, error), value func(id string, v V) (string, error),
) *Source {
	convert := func(object O) Object {
		from := struct {
			ID    string
			Value V
			Err   error
		}(object)
		o := Object{ID: from.ID, Err: from.Err}
		if o.Err == nil {
			o.Value, o.Err = value(from.ID, from.Value)
		}
		return o
	}
	src := &Source{}
	if all != nil {
		src.All = func(ctx context.Context) iter.Seq2[Object, error] {
			return func(yield func(Object, error) bool) {
				for object, err := range all(ctx) {
					var o Object
					if err == nil {
						o = convert(object)
					}
					if !yield(o, err) || err != nil {
						return
					}
				}
			}
		}
	}
	if lookup != nil {
		src.Lookup = func(ctx context.Context, ids []string) ([]Object, error) {
			found, err := lookup(ctx, ids)
			if err != nil {
				return nil, err
			}
			objects := make([]Object, len(found))
			for i, object := range found {
				objects[i] = convert(object)
			}
			return objects, nil
		}
	}
	return src
}
