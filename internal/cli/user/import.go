package user

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/storage"
	"retwis/internal/social/takeout"
	"retwis/redlock"
)

// NewImport returns the retwis import command.
func NewImport(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "import [flags] NAME ARCHIVE",
		Short: "Import the posts of a user from a Mastodon archive",
		Long: `Imports the public posts of a user, with their pictures and times, from the archive that
Mastodon offers under Preferences, Import and export: a zip file, a tar.gz file, or a
directory with the unpacked archive. Replies of the user to these posts are imported, too.
Boosts, replies to others, votes and non-public posts are left out, and counted.

The posts appear at the end of the user's profile, ordered by time, and can be searched.
They appear on no timeline and no tag page, and nobody is notified. A post that is too long
is split into several posts, each a reply to the previous post; a post that would need more
than 250 is left out. Pictures must follow the rules for uploads, and are left out if the
media store is unknown: see --media.

The command works while the site is served. If it is interrupted, run it again: nothing is
imported twice. A later archive adds only new posts. --dry-run changes nothing, and shows
what would be imported. A tar.gz file is unpacked to a temporary directory (see TMPDIR).`,
		Example: `  retwis import ada archive-20261010.zip --dry-run
  retwis import ada archive-20261010.zip
  retwis import ada archive.tar.gz --redis redis://db.example.com --media /srv/media`,
		Args: shell.Arguments(2, 2, ""),
	})
	var dry bool
	c.Flags().BoolVar(&dry, "dry-run", false, "change nothing, and show what would be imported")
	c.AddJSON("print the result as JSON")
	c.AddRedis()
	site.AddMedia(c)
	site.AddQuota(c)
	c.FromEnv("dry-run")
	return c.Build(func(ctx context.Context, args []string) error {
		return site.Operate(ctx, c, func(db *site.Database) error {
			u, err := find(ctx, db, args[0])
			if err != nil {
				return err
			}
			a, err := takeout.Open(ctx, args[1])
			if err != nil {
				return shell.Usage(fmt.Errorf("%s: %w", shell.ForTerminal(args[1]), err))
			}
			defer a.Close()
			if dry {
				return runImport(ctx, c, db, u, a, dry)
			}
			return importArchive(ctx, c, db, u, a)
		})
	})
}

// lockTTL is how long the lock of an import outlives its holder.
const lockTTL = 5 * time.Second

// importArchive imports an archive for a user, in one process at a time.
func importArchive(ctx context.Context, c *shell.Command, db *site.Database, u social.User, a *takeout.Archive) error {
	locks, err := redlock.New([]rueidis.Client{db.Client()}, redlock.Options{TTL: lockTTL, Owner: "retwis import"})
	if err != nil {
		return err
	}
	defer locks.Close()
	return locks.Do(ctx, storage.ArchiveLockKey(u.ID), func(ctx context.Context, _ *redlock.Lock) error {
		err := db.Social.Audit.Add(ctx, audit.Entry{Actor: social.Operator, Action: "import-archive", Target: audit.UserTarget(u.ID)})
		if err != nil {
			return err
		}
		return runImport(ctx, c, db, u, a, false)
	})
}

// runImport imports an archive, or, if dry is set, shows what would be imported.
func runImport(ctx context.Context, c *shell.Command, db *site.Database, u social.User, a *takeout.Archive, dry bool) error {
	draw, erase := shell.Bar(c.Stderr, "importing")
	if draw == nil {
		draw = func(int, int) {}
	}
	r, err := db.Social.Archives.Import(ctx, u.ID, a, dry, draw)
	erase()
	switch {
	case err != nil && r.Posts > 0 && !dry:
		return shell.Hint(err, "Some posts have been imported. Run the command again to import the others.")
	case err != nil:
		return err
	}
	return printImport(c, u, r, dry)
}

// reasons describes what is left out, and why.
var reasons = map[takeout.Reason]string{
	takeout.Boost:     "boosts",
	takeout.Reply:     "replies to others or to posts left out",
	takeout.NotPublic: "non-public posts",
	takeout.Empty:     "without text and pictures",
	takeout.TooLong:   "longer than 250 posts",
	takeout.Undated:   "without a time in the past",
	takeout.Repeated:  "duplicates",
	takeout.Blocked:   "with blocked words or links",
	takeout.Other:     "other activities",
	takeout.Lost:      "whose ids are in use, so run the command again",

	takeout.NoPlace:    "because the media store is unknown: see --media",
	takeout.NoPicture:  "no picture",
	takeout.NoFile:     "not in the archive",
	takeout.WrongType:  "of a type that is not supported",
	takeout.TooLarge:   "too large",
	takeout.Damaged:    "damaged",
	takeout.NoRoom:     "beyond the user's quota",
	takeout.FourAtMost: "after the fourth of a post",
}

func printImport(c *shell.Command, u social.User, r takeout.Report, dry bool) error {
	if c.JSON {
		return shell.NewEncoder(c.Stdout).Encode(r)
	}
	verb := "imported"
	if dry {
		verb = "would import"
	}
	_, err := fmt.Fprintf(c.Stdout, "%s %s and %s for %s; %s already present\n", verb, shell.Plural(r.Posts, "post", "posts"),
		shell.Plural(r.Pictures, "picture", "pictures"), u.Name, shell.Thousands(int64(r.Present)))
	for _, left := range []struct {
		what    string
		reasons map[takeout.Reason]int
	}{{"left out", r.LeftOut}, {"files left out", r.PicturesLeftOut}} {
		if len(left.reasons) == 0 || err != nil {
			continue
		}
		var parts []string
		for _, reason := range slices.Sorted(maps.Keys(left.reasons)) {
			parts = append(parts, fmt.Sprintf("%s (%s)", reasons[reason], shell.Thousands(int64(left.reasons[reason]))))
		}
		_, err = fmt.Fprintf(c.Stdout, "%s: %s\n", left.what, strings.Join(parts, ", "))
	}
	return err
}
