package redisserver

import (
	"fmt"
	"strings"
)

// damageSigns lists the messages of all versions since 6.2 about files that they cannot
// load.
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

// damaged returns the error of a server that ended because it cannot load its data. line is
// its first message about that.
func damaged(dir, line string) error {
	line, _, _ = strings.Cut(line, ": make a backup") // its advice does not fit retwis
	line, _, _ = strings.Cut(line, ". You can: ")
	if strings.Contains(line, "Can't handle RDB format version") {
		return fmt.Errorf("redisserver: %w: %s: it was written by a newer server; install that one, or name it in RETWIS_REDIS_SERVER (the server logged: %s)",
			ErrUnreadable, dir, line)
	}
	return fmt.Errorf("redisserver: %w: %s; restore a backup, or check what retwis repair-data %s can save (the server logged: %s)",
		ErrDamaged, dir, dir, strings.TrimSpace(line))
}
