package index

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/store"
	"retwis/maintain"
)

// newVerify makes index verify, and index repair.
func newVerify(env shell.Env, repair bool) *cobra.Command {
	var flags commonFlags
	var up shell.MaintainFlags
	var from string
	cmd := &cobra.Command{
		Use:   "verify [flags] KEY",
		Short: "Check an index against itself and against its objects",
		Long: `Looks whether the entries of an index agree with what stands beside them, and with
--from also whether they agree with their objects: the hashes of a pattern, whose
fields are called as the columns are. It goes in short steps while the index is in
use, and changes nothing. It tells
  missing    objects, or entries, that the index does not lead to
  stale      entries that say something else than their object
  dangling   entries of objects that are not there, or of nothing at all
  invalid    objects with a value that the index cannot hold
The exit code is 1 if there is a problem.`,
		Example: `  retwis index verify rooms
  retwis index verify rooms --from 'room:*' --rate 10000`,
		Args: shell.Arguments(1, 1, "retwis index verify KEY"),
	}
	if repair {
		cmd.Use, cmd.Short = "repair [flags] KEY", "Mend what verify finds"
		cmd.Long = `Mends what "index verify" finds, in short steps while the index is in use: an entry
becomes what its object says, or without --from what stands beside it in
KEY.content; where that is lost, it is made of the entries. Each is looked at again
in the step that changes it, so that what others write meanwhile stays. Without
--from, entries of which an id has several stay, if KEY.content does not say which
one is right. What a repair or rebuild has left that was killed goes.`
		cmd.Example = `  retwis index repair rooms --from 'room:*'`
		cmd.Args = shell.Arguments(1, 1, "retwis index repair KEY")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return flags.open(cmd, env, args[0], func(ctx context.Context, x ordered, _ *store.Store) error {
			return up.Run(cmd, flags.json, func(opt maintain.Options) (maintain.Report, error) {
				return x.upkeep(ctx, from, opt, repair)
			})
		})
	}
	shell.AddFrom(cmd, &from, "room:*")
	up.Add(cmd)
	flags.add(cmd, env, "print each problem and the summary as a line of JSON")
	return cmd
}

func newRebuild(env shell.Env) *cobra.Command {
	var flags commonFlags
	var up shell.MaintainFlags
	var from string
	cmd := &cobra.Command{
		Use:   "rebuild [flags] KEY [FILE...]",
		Short: "Make an index anew from its objects, while it is in use",
		Long: `Makes an index anew of the hashes of a pattern (--from), or of CSV as "index put"
takes it. The present index serves until the new one takes its place in one step,
with all that others wrote meanwhile. One that is stopped or fails changes nothing.`,
		Example: `  retwis index rebuild rooms --from 'room:*'
  retwis index rebuild rooms rooms.csv`,
		Args: shell.Arguments(1, -1, "retwis index rebuild KEY [FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if from != "" && len(args) > 1 {
				return shell.Usage(errors.New("--from and files are two sources: use one"))
			}
			return flags.open(cmd, env, args[0], func(ctx context.Context, x ordered, _ *store.Store) error {
				opt, wipe := up.Options(cmd)
				if from != "" {
					report, err := x.rebuildFrom(ctx, from, opt)
					wipe()
					if err != nil {
						return err
					}
					in := shell.Inputs{Cmd: cmd, What: "entries", Accepted: report.Checked}
					return in.Report(flags.json)
				}
				in, err := shell.OpenInputs(cmd, env, args[1:], "entries")
				if err != nil {
					return err
				}
				defer in.Close()
				opt.Progress = nil // in shows it
				if err := x.rebuild(ctx, entries(in, x), opt); err != nil {
					return err
				}
				return in.Report(flags.json)
			})
		},
	}
	shell.AddFrom(cmd, &from, "room:*")
	up.AddRate(cmd)
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}
