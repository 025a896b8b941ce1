package suggest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"retwis/index"
	"retwis/internal/redis/partition"
)

// Options configures an index. The zero value is a good default. All options except Cleanup and
// CleanupRare are stored in the declaration of the index and cannot change.
type Options struct {
	// Partitions is the number of hash slots over which the terms are sharded, so that
	// the servers of a Cluster share the work. Default 1, at most 1024.
	Partitions int
	// Punctuation selects how punctuation is normalized. Default: like a blank.
	Punctuation Punctuation
	// HalfLife is the time after which a search counts half as much, by the clock of the
	// server, so that recent searches overtake old ones. At least a second; 0: no decay.
	HalfLife time.Duration
	// Cleanup is the fraction of completions, from 0 to 1, that decrement the count of a random
	// term of their result and remove the term at 0. This removes terms that are searched once
	// and never again, without a Prune. Such a completion costs one more round trip.
	// Default 0: none.
	Cleanup float64
	// CleanupRare makes rarer terms of a result more likely to be chosen.
	CleanupRare bool
}

// validate returns an error that names the invalid field.
func (o Options) validate() error {
	switch {
	case o.Punctuation != PunctuationSpace && o.Punctuation != PunctuationDrop && o.Punctuation != PunctuationKeep:
		return fmt.Errorf("Options.Punctuation is %q: use %q, %q or nothing", o.Punctuation, PunctuationDrop, PunctuationKeep)
	case o.HalfLife != 0 && o.HalfLife < time.Second:
		return fmt.Errorf("Options.HalfLife is %v: it must be at least a second, or 0", o.HalfLife)
	case !(o.Cleanup >= 0 && o.Cleanup <= 1): // also NaN
		return fmt.Errorf("Options.Cleanup is %v: it must be from 0 to 1", o.Cleanup)
	case o.Cleanup > 0 && o.HalfLife > 0:
		return errors.New("Options.Cleanup and Options.HalfLife cannot be combined")
	}
	return nil
}

// halfLife returns the half-life as an argument of scripts, in microseconds.
func (o Options) halfLife() string {
	if o.HalfLife == 0 {
		return ""
	}
	return strconv.FormatInt(o.HalfLife.Microseconds(), 10)
}

// kind is the kind of index in the declaration.
const kind = "suggest"

// declaration returns the declaration of the options: "punctuation drop, half-life 24h0m0s".
func (o Options) declaration() string {
	var words []string
	if o.Punctuation != PunctuationSpace {
		words = append(words, "punctuation "+string(o.Punctuation))
	}
	if o.HalfLife > 0 {
		words = append(words, "half-life "+o.HalfLife.String())
	}
	return strings.Join(words, ", ")
}

// parseDeclaration is the inverse of declaration.
func parseDeclaration(text string) (opt Options, err error) {
	if text == "" {
		return opt, nil
	}
	for _, part := range strings.Split(text, ", ") {
		switch word, value, _ := strings.Cut(part, " "); word {
		case "punctuation":
			opt.Punctuation = Punctuation(value)
		case "half-life":
			if opt.HalfLife, err = time.ParseDuration(value); err != nil {
				return opt, err
			}
		default:
			return opt, fmt.Errorf("unknown declaration %q", text)
		}
	}
	return opt, nil
}

// adopting prefixes the declaration while a sorted set is being adopted, so that readers and
// writers are refused.
const adopting = "adopting: "

// unadopted returns an error for an index whose adoption has not finished.
func unadopted(key string, d partition.Declaration) error {
	if d.Kind != kind || !strings.HasPrefix(d.Text, adopting) {
		return nil
	}
	return fmt.Errorf("%w: the adoption of %q is not finished: wait, or run Adopt or %q again", index.ErrForeign, key, "retwis suggest adopt "+key)
}
