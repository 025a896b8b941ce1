package doctor

import (
	"strings"

	"retwis/internal/redis/store"
)

// makeLasting makes advice to change a setting survive a restart of the server, which forgets CONFIG
// SET: a server whose append-only file is off again starts from an old snapshot.
func makeLasting(found []finding, info string, embedded bool) []finding {
	for i, f := range found {
		setting, ok := strings.CutPrefix(f.Do, "CONFIG SET ")
		if !ok {
			continue
		}
		name, value, _ := strings.Cut(setting, " ")
		switch file := store.InfoField(info, "config_file"); {
		case embedded:
			found[i].Do = adviceForEmbedded(name, value)
		case info != "" && file == "":
			// Without quotes: Redis 6.2 does not start if several words are one argument.
			found[i].Do = "CONFIG SET " + setting + "\nand start the server with --" + name + " " + strings.Trim(value, `"`) + ": it has no configuration file, and forgets the setting when it ends"
		default:
			found[i].Do = "CONFIG SET " + setting + "\nCONFIG REWRITE"
		}
	}
	return found
}

// adviceForEmbedded returns how to change a setting of an embedded server, which retwis starts with its
// own settings each time.
func adviceForEmbedded(name, value string) string {
	switch name {
	case "appendonly":
		// A restart without it would lose what was written since it was switched off.
		return "CONFIG SET appendonly yes\nnow, before the server ends; retwis starts it with an append-only file"
	case "maxmemory", "tracking-table-max-keys": // the latter is a share of maxmemory
		return "restart retwis with --max-memory SIZE, or RETWIS_MAX_MEMORY, above the limit it has"
	case "activedefrag":
		return "restart retwis: its server loads the data without gaps"
	}
	return "restart retwis: it starts its server with " + name + " " + value
}
