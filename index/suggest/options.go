package suggest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"retwis/internal/redis/partition"
)

// Options configure an index. The zero value is a good default. All but Cleanup and
// CleanupRare are stored in the declaration of the index and cannot change.
type Options struct {
	// Partitions is the number of hash slots over which the terms are sharded, so that
	// the servers of a Cluster share the work. Default 1, at most 1024.
	Partitions int
	// Punctuation is the treatment of punctuation. Default: like a blank.
	Punctuation Punctuation
	// HalfLife is the time after which a search weighs half as much, so that recent
	// searches overtake old ones. It uses the clocks of the programs that add. At least
	// a second; 0: no decay.
	HalfLife time.Duration
	// Cleanup is the fraction of completions, up to 1, that decrement the count of a
	// random term of their result and remove it at 0. Terms that are searched once and
	// never again disappear without a Prune. Such a completion costs one more round
	// trip. Default 0: none.
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
		return errors.New("Options.Cleanup and HalfLife exclude each other")
	}
	return nil
}

// kind is the kind of index in the declaration.
const kind = "suggest"

// format begins the declaration of an index that tells terms apart by spelling. Older
// indexes had one term for each normalized form.
const format = "spelled"

// declaration returns the declaration of the options: "spelled, punctuation drop,
// half-life 24h0m0s".
func (o Options) declaration() string {
	words := []string{format}
	if o.Punctuation != PunctuationSpace {
		words = append(words, "punctuation "+string(o.Punctuation))
	}
	if o.HalfLife > 0 {
		words = append(words, "half-life "+o.HalfLife.String())
	}
	return strings.Join(words, ", ")
}

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

// ErrOutdated is returned for an index of an older version of this package, in which
// different spellings were one term. Adopt converts it.
var ErrOutdated = errors.New("the index is of an older version")

// Prefixes of the declaration during an adoption: while new entries are made, and while
// they replace the old ones.
const (
	filling  = "to be adopted: "
	swapping = "adopted: "
)

// outdated returns an error with the way to convert an index of an older version.
func outdated(key string, d partition.Declaration) error {
	command := fmt.Sprintf("%q", "retwis suggest adopt "+key)
	switch {
	case d.Kind != kind || d.Text == format || strings.HasPrefix(d.Text, format+", "):
		return nil
	case strings.HasPrefix(d.Text, filling), strings.HasPrefix(d.Text, swapping):
		return fmt.Errorf("%w: its adoption is not finished: wait, or run Adopt or %s again", ErrOutdated, command)
	}
	return fmt.Errorf("%w, in which different spellings were one term: run Adopt or %s once", ErrOutdated, command)
}
