package serve

import (
	"context"
	"errors"
	"fmt"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social/adopt"
)

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

// removeLegacy lists the old keys of a converted database, and removes them with yes.
func removeLegacy(ctx context.Context, c *shell.Command, db *site.Database, yes bool) error {
	kinds, err := adopt.New(db.Client(), c.Log()).RemoveLegacy(ctx, yes)
	if err != nil {
		return hintConvert(err)
	}
	summary := legacySummary{Removed: yes}
	e := shell.NewEncoder(c.Stdout)
	for _, k := range kinds {
		summary.Keys += k.Removed
		summary.Kept += k.Kept
		if c.JSON {
			err = e.Encode(legacyLine{k.Kind, k.Removed, k.Kept, k.Example})
		} else {
			_, err = fmt.Fprintln(c.Stdout, legacyText(k))
		}
		if err != nil {
			return err
		}
	}
	if c.JSON {
		return e.Encode(summary)
	}
	_, err = fmt.Fprintln(c.Stdout, summary)
	return err
}

func legacyText(k adopt.LegacyKeys) string {
	text := fmt.Sprintf("%s: %s", k.Kind, shell.Plural(k.Removed, "key", "keys"))
	if k.Kept > 0 {
		text += fmt.Sprintf("; %d kept, because their content was not converted, such as %s", k.Kept, shell.ForTerminal(k.Example))
	}
	return text
}

func (s legacySummary) String() string {
	keys := shell.Plural(s.Keys, "key", "keys")
	switch {
	case s.Keys == 0:
		return "there are no old keys to remove"
	case s.Removed:
		return keys + " removed"
	}
	return keys + " can be removed; nothing was changed: --yes removes them"
}

// refuseNotConverted refuses to check a database of 2009 that has not been converted,
// and to repair one that another site shares: its posts would look like damage.
func refuseNotConverted(ctx context.Context, c *shell.Command, db *site.Database, repair bool) error {
	beside, err := adopt.New(db.Client(), c.Log()).NotConverted(ctx)
	if errors.Is(err, adopt.ErrNotConverted) && beside && !repair {
		return nil
	}
	return hintConvert(err)
}

func hintConvert(err error) error {
	if !errors.Is(err, adopt.ErrNotConverted) {
		return err
	}
	return shell.Hint(err, "Serve it once to convert it: retwis serve. If another site uses the database, copy the keys of 2009 to an empty one first.")
}
