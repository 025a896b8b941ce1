package redisserver

import (
	"fmt"
	"strings"
)

// damageSigns are what servers say of files that they cannot load, in the
// words of all versions since 6.2.
var damageSigns = []string{
	"Bad file format reading the append only file",
	"Unexpected end of file reading the append only file",
	"Unrecoverable error reading the append only file",
	"reading the append only file", // Unknown command '...' reading the append only file
	"Error reading the RDB preamble",
	"Invalid AOF manifest file format",
	"Error reading the AOF manifest",
	"Found an empty AOF manifest",
	"The AOF file ",
	"Wrong signature trying to load DB from file",
	"Can't handle RDB format version",
	"Wrong RDB checksum expected",
	"Short read or OOM loading DB",
	"Unexpected EOF reading RDB file",
	"Internal error in RDB reading",
	"Terminating server after rdb file reading failure",
	"Fatal error loading the DB",
}

func isDamage(line string) bool {
	for _, sign := range damageSigns {
		if strings.Contains(line, sign) {
			return true
		}
	}
	return false
}

// damaged is the error of a server that ended because it cannot load its data,
// of which line is the first that it said.
func damaged(dir, line string) error {
	line, _, _ = strings.Cut(line, ": make a backup") // its advice knows neither our files nor our commands
	line, _, _ = strings.Cut(line, ". You can: ")
	if strings.Contains(line, "Can't handle RDB format version") {
		return fmt.Errorf("redisserver: %w: %s: it was written by a newer server, which is the one to install, or to name in RETWIS_REDIS_SERVER (the server said: %s)",
			ErrUnreadable, dir, line)
	}
	return fmt.Errorf("redisserver: %w: %s; restore a backup, or see what retwis repair-data %s can save (the server said: %s)",
		ErrDamaged, dir, dir, strings.TrimSpace(line))
}
