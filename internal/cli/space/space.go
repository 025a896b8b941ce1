// Package space has the commands of retwis space.
package space

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/index/space"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
)

func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "space",
		Short: "Find points of many dimensions: in a box, or the nearest",
		Long: `Keeps points of 1 to 16 dimensions, and finds those in a box, those that are nearest
to a place, and how many there are. Points are put from CSV; an index remembers its
dimensions. What is put again moves.`,
		Example: `  printf 'id,x,y\n90,75,200\n' | retwis space put points --dims 'x:int(0..400),y:int(0..400)'
  retwis space query points x=50..100 y=100..300
  retwis space nearest points x=75 y=200 -n 5
  retwis space explain points x=50..100 y=100..300 --svg box.svg
  retwis space put cities cities.csv --dims geo
  retwis space nearest cities lat=38.1 lon=13.4 --within 200000`,
	}, newPut(env), newAdopt(env), newQuery(env), newNearest(env), newCount(env), newExplain(env),
		newGet(env), newRemove(env), newVerify(env, false), newVerify(env, true), newRebuild(env))
}

// commonFlags are those that every command of an index of points has.
type commonFlags struct {
	redis *string
	json  bool
}

func (flags *commonFlags) add(cmd *cobra.Command, env shell.Env, json string) {
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&flags.json, "json", false, json)
	flags.redis = shell.RedisFlag(cmd)
	shell.FromEnv(cmd, env.Getenv, "json", "dims", "partitions", "limit", "offset", "reverse", "after", "cursor",
		"estimate", "within", "weights", "svg", "from", "rate", "examples")
}

// open runs do with the index at a key, which has to be there.
func (flags *commonFlags) open(cmd *cobra.Command, env shell.Env, key string, do func(context.Context, *space.Index, *store.Store) error) error {
	return shell.WithStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
		x, err := space.Open(ctx, db.Client(), key)
		if errors.Is(err, index.ErrNotFound) {
			return shell.Hint(err, fmt.Sprintf("Make it with %q.", "retwis space put "+key+" --dims …"))
		}
		if err != nil {
			return err
		}
		return do(ctx, x, db)
	})
}

// newDims are the flags that declare an index which is not there yet.
type newDims struct {
	dims       string
	partitions int
}

func (n *newDims) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&n.dims, "dims", "", "the `DIMENSIONS` of a new index, as in 'x:int(0..400),y:int(0..400)'")
	cmd.Flags().IntVar(&n.partitions, "partitions", 1, "of a new index: over how many slots of a Cluster it is spread")
}

// make returns the index at a key: as it is declared, or as the flags declare it.
func (n *newDims) make(ctx context.Context, client rueidis.Client, key string, changed func(string) bool) (*space.Index, error) {
	if n.dims == "" {
		x, err := space.Open(ctx, client, key)
		if errors.Is(err, index.ErrNotFound) {
			return nil, shell.Usage(fmt.Errorf("there is no index %q yet: declare it with --dims, as in --dims 'x:int(0..400),y:int(0..400)'", key))
		}
		if changed("partitions") {
			return nil, shell.Usage(errors.New("--partitions belongs to --dims"))
		}
		return x, err
	}
	dims, err := space.ParseDims(n.dims)
	if err != nil {
		return nil, shell.Usage(fmt.Errorf("--dims: %s", shell.OneLine(err)))
	}
	x, err := space.New(client, key, space.Options{Dims: dims, Partitions: n.partitions})
	return shell.AsDeclared(ctx, x, err)
}

// dimNames are the names of the dimensions.
func dimNames(x *space.Index) []string {
	var names []string
	for _, d := range x.Dims() {
		names = append(names, d.Name)
	}
	return names
}

// dimWords sorts words such as x=50..100 by the dimensions of an index. One that
// is not named has an empty word.
func dimWords(x *space.Index, words []string) ([]string, error) {
	names := dimNames(x)
	found := make([]string, len(names))
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		i := slices.Index(names, name)
		switch {
		case !ok || value == "":
			return nil, shell.Usage(fmt.Errorf("%q is not a condition: write %s=VALUE, or %s=LOW..HIGH for a box", word, names[0], names[0]))
		case i < 0:
			return nil, shell.Usage(fmt.Errorf("%q: there is no dimension %q: the index has %s", word, name, strings.Join(names, ", ")))
		case found[i] != "":
			return nil, shell.Usage(fmt.Errorf("there are two conditions on %s: a box has one side in each dimension", name))
		}
		found[i] = value
	}
	return found, nil
}

// boxOf reads a box from words such as x=50..100; a dimension that is not named is
// open.
func boxOf(x *space.Index, words []string) (space.Box, error) {
	sides, err := dimWords(x, words)
	if err != nil {
		return nil, err
	}
	box := make(space.Box, len(sides))
	for i, text := range sides {
		low, high, two := strings.Cut(text, "..")
		if !two {
			high = low
		}
		if low != "" {
			box[i].Min = low
		}
		if high != "" {
			box[i].Max = high
		}
	}
	return box, nil
}

// pointOf reads a point from words such as x=75, one for each dimension.
func pointOf(x *space.Index, words []string) ([]any, error) {
	texts, err := dimWords(x, words)
	if err != nil {
		return nil, err
	}
	point := make([]any, len(texts))
	for i, text := range texts {
		if text == "" {
			return nil, shell.Usage(fmt.Errorf("there is no %s: a place has a value in each dimension", dimNames(x)[i]))
		}
		point[i] = text
	}
	return point, nil
}
