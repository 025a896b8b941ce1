package serve

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/social/adopt"
)

// legacyFlags make "check" remove what is left of a converted database. They
// are never set by variables.
type legacyFlags struct{ remove, yes bool }

func (l *legacyFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&l.remove, "remove-legacy", false, "list the old keys of a converted database of 2009, and remove them with --yes")
	cmd.Flags().BoolVar(&l.yes, "yes", false, "with --remove-legacy: remove them")
}

// legacyLine is a kind of old keys as --json prints it.
type legacyLine struct {
	Kind    string `json:"kind"`
	Keys    int64  `json:"keys"`
	Kept    int64  `json:"kept"`
	Example string `json:"example,omitempty"`
}

// legacySummary is the last line that --json prints.
type legacySummary struct {
	Keys    int64 `json:"keys"`
	Kept    int64 `json:"kept"`
	Removed bool  `json:"removed"`
}

func (l *legacyFlags) given() bool { return l.remove || l.yes }

func (l *legacyFlags) run(cmd *cobra.Command, env shell.Env, flags checkFlags) (err error) {
	if !l.remove {
		return shell.Usage(errors.New("--yes goes with --remove-legacy"))
	}
	if flags.repair {
		return shell.Usage(errors.New("--remove-legacy and --repair are two things: give one of them"))
	}
	db, err := open(cmd, env, *flags.url, "", shell.Quiet(cmd))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	kinds, err := adopt.New(db.Client(), shell.Quiet(cmd)).RemoveLegacy(cmd.Context(), l.yes)
	if err != nil {
		return notConverted(err)
	}
	return l.report(cmd, kinds, flags.asJSON)
}

func (l *legacyFlags) report(cmd *cobra.Command, kinds []adopt.LegacyKeys, asJSON bool) error {
	out := cmd.OutOrStdout()
	summary := legacySummary{Removed: l.yes}
	for _, k := range kinds {
		summary.Keys += k.Removed
		summary.Kept += k.Kept
		var err error
		switch {
		case asJSON:
			err = json.NewEncoder(out).Encode(legacyLine{k.Kind, k.Removed, k.Kept, k.Example})
		case k.Kept > 0:
			_, err = fmt.Fprintf(out, "%s: %s; %d kept, as what they say was not converted, such as %s\n",
				k.Kind, shell.Plural(int(k.Removed), "key", "keys"), k.Kept, shell.ForTerminal(k.Example))
		default:
			_, err = fmt.Fprintf(out, "%s: %s\n", k.Kind, shell.Plural(int(k.Removed), "key", "keys"))
		}
		if err != nil {
			return err
		}
	}
	if asJSON {
		return json.NewEncoder(out).Encode(summary)
	}
	keys := shell.Plural(int(summary.Keys), "key", "keys")
	var err error
	switch {
	case summary.Keys == 0:
		_, err = fmt.Fprintln(out, "there are no old keys to remove")
	case l.yes:
		_, err = fmt.Fprintf(out, "%s removed\n", keys)
	default:
		_, err = fmt.Fprintf(out, "%s can be removed; nothing was changed: --yes removes them\n", keys)
	}
	return err
}

// refuseNotConverted refuses to check a database of 2009 that has not been
// converted, and to repair one beside another site: what a check takes for
// damage there is somebody's posts.
func refuseNotConverted(cmd *cobra.Command, db *database, repair bool) error {
	beside, err := adopt.New(db.Client(), shell.Quiet(cmd)).NotConverted(cmd.Context())
	if errors.Is(err, adopt.ErrNotConverted) && beside && !repair {
		return nil
	}
	return notConverted(err)
}

func notConverted(err error) error {
	if !errors.Is(err, adopt.ErrNotConverted) {
		return err
	}
	return shell.Hint(err, "Serve it once, which converts it: retwis serve. Beside another site, copy its keys to a database of their own first.")
}
