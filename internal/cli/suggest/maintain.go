package suggest

import (
	"context"

	"github.com/spf13/cobra"

	"retwis/index/suggest"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
	"retwis/maintain"
)

func newAdopt(env shell.Env) *cobra.Command {
	var flags commonFlags
	var made newTerms
	var up shell.MaintainFlags
	cmd := &cobra.Command{
		Use:   "adopt [flags] KEY",
		Short: "Make an index of one by hand, or by an older version",
		Long: `Makes an index of a sorted set that was made by hand, of entries such as
banana:273:Banana, or of an index that an older version made, in which different
spellings were one term. Each spelling that is there becomes a term with its count,
and what was blocked stays so. It goes in short steps; until it has come to its end
the index answers nobody, and it can be repeated. The flags that say how a new index
is made are for a sorted set that was made by hand; an older index keeps its own.`,
		Example: `  retwis suggest adopt words`,
		Args:    shell.Arguments(1, 1, "retwis suggest adopt KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return shell.WithStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
				return up.Adopt(cmd, flags.json, func(opt maintain.Options) (maintain.Report, error) {
					return suggest.Adopt(ctx, db.Client(), args[0], made.options(), opt)
				})
			})
		},
	}
	made.add(cmd)
	up.Add(cmd)
	flags.add(cmd, env, "print each entry that cannot be read, and the summary, as a line of JSON")
	return cmd
}

// newVerify makes suggest verify, and suggest repair.
func newVerify(env shell.Env, repair bool) *cobra.Command {
	var flags commonFlags
	var up shell.MaintainFlags
	cmd := &cobra.Command{
		Use:   "verify [flags] KEY",
		Short: "Check that the keys of an index agree with each other",
		Long: `Looks whether the entries of an index, what is kept beside them and the best terms
of each prefix agree, in short steps, while the index is in use, and shows what
does not. It changes nothing: "suggest repair" mends. The exit code is 1 if there
is a problem.`,
		Example: `  retwis suggest verify words`,
		Args:    shell.Arguments(1, 1, "retwis suggest verify KEY"),
	}
	if repair {
		cmd.Use, cmd.Short = "repair [flags] KEY", "Mend what verify finds"
		cmd.Long = `Mends what "suggest verify" finds, in short steps, while the index is in use. The
counts in KEY.content are right; where they are lost, the entries are.`
		cmd.Example = `  retwis suggest repair words --rate 10000`
		cmd.Args = shell.Arguments(1, 1, "retwis suggest repair KEY")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return flags.open(cmd, env, args[0], func(ctx context.Context, x *suggest.Index) error {
			run := x.Verify
			if repair {
				run = x.Repair
			}
			return up.Run(cmd, flags.json, func(opt maintain.Options) (maintain.Report, error) { return run(ctx, opt) })
		})
	}
	up.Add(cmd)
	flags.add(cmd, env, "print each problem and the summary as a line of JSON")
	return cmd
}

func newRebuild(env shell.Env) *cobra.Command {
	var flags commonFlags
	var made newTerms
	var up shell.MaintainFlags
	cmd := &cobra.Command{
		Use:   "rebuild [flags] KEY [FILE...]",
		Short: "Make an index anew from its source, while it is in use",
		Long: `Makes an index anew of the terms of some files, or of standard input, which look as
those of "suggest add". The present index serves until the new one takes its place
in one step. What others write meanwhile is in the new one, and blocked terms are
not. A bad line is told by its file and number, and the rest goes in; the exit
code is then 1.`,
		Example: `  retwis suggest rebuild words searches-of-this-year.tsv`,
		Args:    shell.Arguments(1, -1, "retwis suggest rebuild KEY [FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := shell.OpenInputs(cmd, env, args[1:], "terms")
			if err != nil {
				return err
			}
			defer in.Close()
			return shell.WithStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
				x, err := made.make(ctx, db.Client(), args[0], cmd.Flags().Changed)
				if err != nil {
					return err
				}
				opt, _ := up.Options(cmd)
				opt.Progress = nil // in shows it
				if _, err := x.Rebuild(ctx, terms(in, x), opt); err != nil {
					return err
				}
				return in.Report(flags.json)
			})
		},
	}
	made.add(cmd)
	cmd.Flags().Uint32Var(&up.Rate, "rate", 0, "how many `TERMS` a second to count, at most; 0: as fast as it goes")
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}
