package space

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/index/space"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
	"retwis/maintain"
)

// newVerify makes space verify, and space repair.
func newVerify(env shell.Env, repair bool) *cobra.Command {
	var flags commonFlags
	var up shell.MaintainFlags
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
		Args: shell.Arguments(1, 1, "retwis space verify KEY"),
	}
	if repair {
		cmd.Use, cmd.Short = "repair [flags] KEY", "Mend what verify finds"
		cmd.Long = `Mends what "space verify" finds, in short steps while the index is in use: a point
becomes what its object says, or without --from what stands beside it in
KEY.content; where that is lost, it is made of the entries. Each is looked at again
in the step that changes it, so that what others write meanwhile stays. What a
repair or rebuild has left that was killed goes.`
		cmd.Example = `  retwis space repair points --from 'point:*'`
		cmd.Args = shell.Arguments(1, 1, "retwis space repair KEY")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return flags.open(cmd, env, args[0], func(ctx context.Context, x *space.Index, db *store.Store) error {
			var src *index.Source[[]any]
			if from != "" {
				hashes, err := x.Hashes(from)
				if err != nil {
					return shell.Usage(errors.New(shell.OneLine(err)))
				}
				src = &hashes
			}
			run := x.Verify
			if repair {
				run = x.Repair
			}
			return up.Run(cmd, flags.json, func(opt maintain.Options) (maintain.Report, error) { return run(ctx, src, opt) })
		})
	}
	shell.AddFrom(cmd, &from, "point:*")
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
		Long: `Makes an index anew of the hashes of a pattern (--from), or of CSV as "space put"
takes it. The present index serves until the new one takes its place in one step,
with all that others wrote meanwhile. One that is stopped or fails changes nothing.`,
		Example: `  retwis space rebuild points --from 'point:*'
  retwis space rebuild points points.csv`,
		Args: shell.Arguments(1, -1, "retwis space rebuild KEY [FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if from != "" && len(args) > 1 {
				return shell.Usage(errors.New("--from and files are two sources: use one"))
			}
			return flags.open(cmd, env, args[0], func(ctx context.Context, x *space.Index, db *store.Store) error {
				opt, wipe := up.Options(cmd)
				if from != "" {
					src, err := x.Hashes(from)
					if err != nil {
						return shell.Usage(errors.New(shell.OneLine(err)))
					}
					report, err := x.Rebuild(ctx, src, opt)
					wipe()
					if err != nil {
						return err
					}
					in := shell.Inputs{Cmd: cmd, What: "points", Accepted: report.Checked}
					return in.Report(flags.json)
				}
				in, err := shell.OpenInputs(cmd, env, args[1:], "points")
				if err != nil {
					return err
				}
				defer in.Close()
				opt.Progress = nil // in shows it
				if _, err := x.Rebuild(ctx, index.Objects(points(in, x)), opt); err != nil {
					return err
				}
				return in.Report(flags.json)
			})
		},
	}
	shell.AddFrom(cmd, &from, "point:*")
	up.AddRate(cmd)
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}
