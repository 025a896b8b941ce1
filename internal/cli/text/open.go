package text

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/text"
	"retwis/internal/cli/shell"
)

// existing opens an index that must exist.
var existing = shell.Noun[*text.Index]{Open: open}

func open(ctx context.Context, client rueidis.Client, key string) (*text.Index, error) {
	x, err := text.Open(ctx, client, key)
	if errors.Is(err, index.ErrNotFound) {
		err = shell.Hint(err, fmt.Sprintf("Create it with %q.", "retwis text put "+key))
	}
	return x, err
}

// declaration holds the flags that declare an index.
type declaration struct {
	partitions int
	language   *shell.Choice
}

func (d *declaration) add(c *shell.Command) {
	c.AddPartitions(&d.partitions)
	d.language = c.AddChoice("language", "on creation: find other forms of a word, too, in texts of this language", append([]string{"none"}, text.Languages()...)...)
}

// open returns the index at a key, which need not exist. If an existing index was declared
// differently, open returns an error.
func (d *declaration) open(ctx context.Context, client rueidis.Client, key string, changed func(flag string) bool) (*text.Index, error) {
	x, err := text.Open(ctx, client, key)
	if !errors.Is(err, index.ErrNotFound) && (err != nil || !changed("partitions") && !changed("language")) {
		return x, err
	}
	x, err = text.New(client, key, d.options())
	if err != nil {
		return nil, shell.Usage(errors.New(shell.OneLine(err)))
	}
	// A search checks the declaration before any input is read.
	_, err = x.Search(ctx, text.Query{With: []string{"declared"}, Limit: 1})
	return x, err
}

func (d *declaration) options() text.Options {
	opt := text.Options{Partitions: d.partitions}
	if d.language.Value != "none" {
		opt.Language = d.language.Value
	}
	return opt
}
