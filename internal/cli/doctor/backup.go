package doctor

import (
	"time"

	"retwis/internal/cli/shell"

	"retwis/internal/app"
)

// lastBackup reports the time of the last backup. A site may be backed up by other means, so an old
// backup is not a problem.
func lastBackup(at time.Time, err error) finding {
	f := finding{
		Status: Advice, What: "last backup", Found: "never",
		Why: "without a backup, lost data cannot be recovered", Do: "run retwis backup --keep 14 DIRECTORY once a day, as the package's retwis-backup.timer does",
	}
	age := time.Since(at)
	switch {
	case err != nil:
		return finding{Status: Hidden, What: f.What, Found: shell.OneLine(err)}
	case at.IsZero():
		return f
	case age < app.BackupDue:
		f = finding{Status: OK, What: f.What}
	}
	f.Found = at.UTC().Format(time.RFC3339)
	switch hours := int64(age / time.Hour); {
	case hours >= 48:
		f.Found += ", " + shell.Plural(hours/24, "day", "days") + " ago"
	default:
		f.Found += ", " + shell.Plural(hours, "hour", "hours") + " ago"
	}
	return f
}
