package suggest

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/index"
)

// Get returns a term in this spelling, or index.ErrNotFound. One round trip.
func (x *Index) Get(ctx context.Context, text string) (s Suggestion, err error) {
	defer x.wrap(&err)
	found, err := x.getMany(ctx, []string{text})
	switch {
	case err != nil:
		return Suggestion{}, err
	case len(found) == 0:
		return Suggestion{}, fmt.Errorf("%w: the term %q", index.ErrNotFound, text)
	}
	return found[0], nil
}

// GetMany returns terms in these spellings, in their order, without those that do not
// exist. One round trip.
func (x *Index) GetMany(ctx context.Context, terms ...string) (all []Suggestion, err error) {
	defer x.wrap(&err)
	return x.getMany(ctx, terms)
}

func (x *Index) getMany(ctx context.Context, terms []string) ([]Suggestion, error) {
	if err := x.set.Check(ctx); err != nil {
		return nil, err
	}
	keys := make([]string, len(terms))
	commands := make(rueidis.Commands, len(terms))
	for i, text := range terms {
		key, err := x.normalizer.key(text)
		if err != nil {
			return nil, err
		}
		keys[i] = key
		commands[i] = x.set.Client.B().Hget().Key(x.completer.keys[x.set.Index(nameOf(key))].Content).Field(key).Build()
	}
	all := make([]Suggestion, 0, len(terms))
	for i, r := range x.set.Client.DoMulti(ctx, commands...) {
		value, err := r.ToString()
		switch t, ok := parseValue(keys[i], value); {
		case rueidis.IsRedisNil(err):
		case err != nil:
			return nil, err
		case !ok:
			return nil, fmt.Errorf("%w: %s.content has the value %q for %q", index.ErrCorrupt, x.set.Key, value, keys[i])
		default:
			all = append(all, x.decay.suggestion(t))
		}
	}
	return all, nil
}
