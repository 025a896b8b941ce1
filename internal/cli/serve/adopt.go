package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/social/adopt"
)

func shareFlag(cmd *cobra.Command, share *bool) {
	cmd.Flags().BoolVar(share, "share-database", false, "use a database in which other programs keep keys")
}

// adoptDatabase opens a database that another Retwis wrote, which may take its time,
// and refuses one that belongs to other programs.
func adoptDatabase(ctx context.Context, db *database, share bool, log *slog.Logger) error {
	site := adopt.New(db.Client(), log)
	if share {
		if err := site.Share(ctx); err != nil {
			return err
		}
	}
	var reported time.Time
	err := site.Adopt(ctx, func(done, total int64) {
		if now := time.Now(); now.Sub(reported) > time.Second {
			reported = now
			log.Info("opening a database of the original Retwis", "keys", done, "of about", total)
		}
	})
	if errors.Is(err, adopt.ErrForeign) {
		return shell.Hint(
			fmt.Errorf("%s: %w", db, err),
			"Name a database of its own, such as redis://HOST/1, or let Retwis keep its keys beside those with --share-database.",
		)
	}
	return err
}
