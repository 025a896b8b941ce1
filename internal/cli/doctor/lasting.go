package doctor

import (
	"strings"

	"retwis/internal/redis/store"
)

// makeLasting extends each CONFIG SET that is advised so that the setting survives a restart of the
// server: a server that restarts without its append-only file loads an old snapshot.
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
			// Without quotes: Redis 6.2 does not start if one argument has several words.
			found[i].Do = "CONFIG SET " + setting + "\nand start the server with --" + name + " " + strings.Trim(value, `"`) + ": it has no configuration file, and loses the setting when it stops"
		default:
			found[i].Do = "CONFIG SET " + setting + "\nCONFIG REWRITE"
		}
	}
	return found
}

// adviceForEmbedded returns how to change a setting of an embedded server. Retwis starts an
// embedded server with the same settings each time.
func adviceForEmbedded(name, value string) string {
	switch name {
	case "appendonly":
		// A restart now would lose what was written since the append-only file was switched off.
		return "CONFIG SET appendonly yes\nnow, before the server stops; retwis starts it with an append-only file"
	case "maxmemory", "tracking-table-max-keys": // the latter is a share of maxmemory
		return "restart retwis with --max-memory SIZE, or RETWIS_MAX_MEMORY, above the current limit"
	case "activedefrag":
		return "restart retwis: its server then loads the data without fragmentation"
	}
	return "restart retwis: it starts its server with " + name + " " + value
}
