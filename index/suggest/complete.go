package suggest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"retwis/index"
)

// maxComplete is the maximum number of completions.
const maxComplete = 1000

// Complete returns the k most frequent terms with a prefix, the most frequent first, terms
// of the same count by their normalized form. The prefix is normalized like a term, so
// that case and accents do not matter. A blank at its end, or punctuation that becomes
// one, ends a word: "new " is a prefix of "new york" and of "new", but not of "newton".
// The empty prefix matches every term.
//
// The result is exact. It takes one round trip that reads about 64 terms, whatever the
// number of matches. It reads more if k is above 32, at most 1,000, or if the best terms
// of the prefix have been removed: it then rebuilds the cached list of the prefix, which
// is a write. If it cannot, since counts are not those of the entries, it returns
// index.ErrCorrupt.
func (x *Index) Complete(ctx context.Context, prefix string, k int) (best []Suggestion, err error) {
	defer x.wrap(&err)
	name, err := x.normalizer.normal(prefix)
	if err != nil {
		return nil, err
	}
	if err := x.completion().ready(ctx, k); err != nil {
		return nil, err
	}
	found, err := x.completer.exact(ctx, name, k)
	if err != nil {
		return nil, err
	}
	return x.completion().respond(ctx, found)
}

// completion is what Complete and CompleteFuzzy share.
type completion struct{ x *Index }

func (x *Index) completion() completion { return completion{x} }

// ready checks k and the declaration.
func (cm completion) ready(ctx context.Context, k int) error {
	if k < 1 || k > maxComplete {
		return fmt.Errorf("%w: %d completions: use 1 to %d", index.ErrValue, k, maxComplete)
	}
	return cm.x.set.Check(ctx)
}

// respond returns terms as suggestions, and runs the cleanup.
func (cm completion) respond(ctx context.Context, found []term) ([]Suggestion, error) {
	out := make([]Suggestion, len(found))
	for i, t := range found {
		out[i] = cm.x.decay.suggestion(t)
	}
	if len(found) > 0 && cm.x.opt.Cleanup > 0 && rand.Float64() < cm.x.opt.Cleanup {
		if _, err := cm.x.updates().remove(ctx, "lose", 1, []string{cm.choose(found).key}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// choose returns the term whose count Cleanup decrements.
func (cm completion) choose(found []term) term {
	if !cm.x.opt.CleanupRare {
		return found[rand.IntN(len(found))]
	}
	sum := 0.0
	for _, t := range found {
		sum += 1 / t.count
	}
	at := rand.Float64() * sum
	for _, t := range found {
		if at -= 1 / t.count; at <= 0 {
			return t
		}
	}
	return found[len(found)-1]
}
