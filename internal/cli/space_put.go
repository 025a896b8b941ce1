package cli

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/index/space"
	"retwis/internal/store"
)

func newSpacePut(env Env) *cobra.Command {
	var flags spaceFlags
	var declared newDims
	cmd := &cobra.Command{
		Use:   "put [flags] KEY [FILE...]",
		Short: "Put points from CSV; those that are there move",
		Long: `Puts the records of some CSV files, or of standard input, into an index. The header
names id and every dimension, in any order; other columns are passed over. An index
that is not there is made of --dims, each a name, a type and a range:
  x:int(0..400)                     integers of up to 64 bits, negative ones too
  price:decimal(2)(0..1000)         two digits behind the point
  f:float(-1..1)
  at:time(2020-01-01..2030-01-01)   2026-11-21T10:00:00Z, or 2026-11-21
  geo                               lat and lon in degrees; distances are metres
A value outside of its range is refused.

A bad record is told by its file and line, and the rest goes in; the exit code is
then 1. Putting a file twice does no harm.`,
		Example: `  retwis space put points points.csv --dims 'x:int(0..400),y:int(0..400)'
  retwis space put points more.csv
  retwis space put cities cities.csv --dims geo`,
		Args: named(1, -1, "retwis space put KEY [FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := openInputs(cmd, env, args[1:], "points")
			if err != nil {
				return err
			}
			defer in.close()
			return withStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
				x, err := declared.make(ctx, db.Client(), args[0], cmd.Flags().Changed)
				if err != nil {
					return err
				}
				var wrong error
				_, err = x.PutMany(ctx, func(yield func(space.Entry) bool) {
					for o, err := range in.points(x) {
						if wrong = err; err != nil || !yield(space.Entry{ID: o.ID, Values: o.Value}) {
							return
						}
					}
				})
				if err = cmp.Or(err, wrong); err != nil {
					return err
				}
				return in.tell(flags.json)
			})
		},
	}
	declared.add(cmd)
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}

// points yields the good records of all files, and tells the bad ones.
func (in *inputs) points(x *space.Index) iter.Seq2[index.Object[[]any], error] {
	return func(yield func(index.Object[[]any], error) bool) {
		err := in.records(dimNames(x), func(r record) bool {
			values := make([]any, len(r.texts))
			for i, text := range r.texts {
				values[i] = strings.TrimSpace(text)
			}
			if err := x.Check(r.id, values...); err != nil {
				in.wrong(r.file, r.line, errors.New(strings.TrimPrefix(oneLine(err), x.Key()+": ")))
				return true
			}
			in.right()
			return yield(index.Object[[]any]{ID: r.id, Value: values}, nil)
		})
		if err != nil {
			yield(index.Object[[]any]{}, err)
		}
	}
}

// newSpaceVerify makes space verify, and space repair.
func newSpaceVerify(env Env, repair bool) *cobra.Command {
	var flags spaceFlags
	var up upkeepFlags
	var from string
	cmd := &cobra.Command{
		Use:   "verify [flags] KEY",
		Short: "Check an index against itself and against its objects",
		Long: `Looks whether the points of an index agree with what stands beside them, and with
--from also whether they agree with their objects: the hashes of a pattern, whose
fields are called as the dimensions are. It goes in short steps while the index is
in use, and changes nothing. The exit code is 1 if there is a problem.`,
		Example: `  retwis space verify points
  retwis space verify points --from 'point:*' --rate 10000`,
		Args: named(1, 1, "retwis space verify KEY"),
	}
	if repair {
		cmd.Use, cmd.Short = "repair [flags] KEY", "Mend what verify finds"
		cmd.Long = `Mends what "space verify" finds, in short steps while the index is in use: a point
becomes what its object says, or without --from what stands beside it in
KEY.content; where that is lost, it is made of the entries. Each is looked at again
in the step that changes it, so that what others write meanwhile stays. What a
repair or rebuild has left that was killed goes.`
		cmd.Example = `  retwis space repair points --from 'point:*'`
		cmd.Args = named(1, 1, "retwis space repair KEY")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return flags.open(cmd, env, args[0], func(ctx context.Context, x *space.Index, db *store.Store) error {
			var src *index.Source[[]any]
			if from != "" {
				hashes, err := index.Hashes(db.Client(), from, x.Values)
				if err != nil {
					return &usageError{errors.New(oneLine(err))}
				}
				src = &hashes
			}
			run := x.Verify
			if repair {
				run = x.Repair
			}
			return up.run(cmd, flags.json, func(opt index.Upkeep) (index.Report, error) { return run(ctx, src, opt) })
		})
	}
	addFrom(cmd, &from, "point:*")
	up.add(cmd)
	flags.add(cmd, env, "print each problem and the summary as a line of JSON")
	return cmd
}

func newSpaceRebuild(env Env) *cobra.Command {
	var flags spaceFlags
	var up upkeepFlags
	var from string
	cmd := &cobra.Command{
		Use:   "rebuild [flags] KEY [FILE...]",
		Short: "Make an index anew from its objects, while it is in use",
		Long: `Makes an index anew of the hashes of a pattern (--from), or of CSV as "space put"
takes it. The present index serves until the new one takes its place in one step,
with all that others wrote meanwhile. One that is stopped or fails changes nothing.`,
		Example: `  retwis space rebuild points --from 'point:*'
  retwis space rebuild points points.csv`,
		Args: named(1, -1, "retwis space rebuild KEY [FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if from != "" && len(args) > 1 {
				return &usageError{errors.New("--from and files are two sources: use one")}
			}
			return flags.open(cmd, env, args[0], func(ctx context.Context, x *space.Index, db *store.Store) error {
				opt, wipe := up.options(cmd)
				if from != "" {
					src, err := index.Hashes(db.Client(), from, x.Values)
					if err != nil {
						return &usageError{errors.New(oneLine(err))}
					}
					report, err := x.Rebuild(ctx, src, opt)
					wipe()
					if err != nil {
						return err
					}
					in := inputs{cmd: cmd, what: "points", good: report.Checked}
					return in.tell(flags.json)
				}
				in, err := openInputs(cmd, env, args[1:], "points")
				if err != nil {
					return err
				}
				defer in.close()
				opt.Progress = nil // in shows it
				if _, err := x.Rebuild(ctx, index.Objects(in.points(x)), opt); err != nil {
					return err
				}
				return in.tell(flags.json)
			})
		},
	}
	addFrom(cmd, &from, "point:*")
	up.addRate(cmd)
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}
