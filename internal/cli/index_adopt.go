package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/index/space"
	"retwis/internal/store"
)

func newIndexAdopt(env Env) *cobra.Command {
	var flags indexFlags
	var declared newColumns
	var up upkeepFlags
	cmd := &cobra.Command{
		Use:   "adopt [flags] KEY",
		Short: "Make an index of a sorted set that was made by hand",
		Long: `Makes an index of a sorted set that was made by hand: of 0056:0028.44:90 with
--readable, or of ids and their numbers with --numeric. It adds KEY.meta and
KEY.content, in short steps, and can be repeated; nobody should change the sorted
set meanwhile. Entries that cannot be read stay as they are, as do those of which an
id has several; they are shown, and the exit code is 1.`,
		Example: `  retwis index adopt rooms --columns 'room:int(4),price:decimal(6,2)' --readable
  retwis index adopt ages --columns age:int --numeric`,
		Args: named(1, 1, "retwis index adopt KEY --columns COLUMNS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
				x, err := declared.make(ctx, db.Client(), args[0], cmd.Flags().Changed)
				if err != nil {
					return err
				}
				return up.adopt(cmd, flags.json, func(opt index.Upkeep) (index.Report, error) { return x.Adopt(ctx, opt) })
			})
		},
	}
	declared.add(cmd)
	up.add(cmd)
	flags.add(cmd, env, "print each entry that stays as it is, and the summary, as a line of JSON")
	return cmd
}

func newSpaceAdopt(env Env) *cobra.Command {
	var flags spaceFlags
	var declared newDims
	var up upkeepFlags
	cmd := &cobra.Command{
		Use:   "adopt [flags] KEY",
		Short: "Make an index of a sorted set that has the entries of one",
		Long: `Makes an index of a sorted set that has the entries of one, but lost the keys beside
it. It adds KEY.meta and KEY.content, in short steps, and can be repeated; nobody
should change the sorted set meanwhile. Entries that cannot be read stay as they
are; they are shown, and the exit code is 1.`,
		Example: `  retwis space adopt points --dims 'x:int(0..400),y:int(0..400)'`,
		Args:    named(1, 1, "retwis space adopt KEY --dims DIMENSIONS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
				var x *space.Index
				x, err := declared.make(ctx, db.Client(), args[0], cmd.Flags().Changed)
				if err != nil {
					return err
				}
				return up.adopt(cmd, flags.json, func(opt index.Upkeep) (index.Report, error) { return x.Adopt(ctx, opt) })
			})
		},
	}
	declared.add(cmd)
	up.add(cmd)
	flags.add(cmd, env, "print each entry that stays as it is, and the summary, as a line of JSON")
	return cmd
}

// adopt runs the adoption of a sorted set, with its progress on a terminal, and
// prints what it did. It fails if entries stay as they are.
func (u *upkeepFlags) adopt(cmd *cobra.Command, asJSON bool, do func(index.Upkeep) (index.Report, error)) error {
	opt, wipe := u.options(cmd)
	report, err := do(opt)
	wipe()
	if err != nil {
		if errors.Is(err, index.ErrValue) {
			printProblems(cmd.ErrOrStderr(), report)
		}
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON {
		if err := printProblemsJSON(out, report); err != nil {
			return err
		}
		err = newEncoder(out).Encode(struct {
			Adopted int64 `json:"adopted"`
			Left    int64 `json:"left"`
		}{report.Checked, report.Problems()})
	} else {
		printProblems(out, report)
		_, err = fmt.Fprintf(out, "adopted: %d, left as they are: %d\n", report.Checked, report.Problems())
	}
	if err == nil && report.Problems() > 0 {
		err = errTold
	}
	return err
}
