package redisserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// damageSigns lists the log messages of all versions since 6.2 about files that cannot be loaded.
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

// damaged returns the error of a server that exited because it cannot load its data. line is the
// first log message about the data.
func damaged(dir, server, line string) error {
	line, _, _ = strings.Cut(line, ": make a backup") // the advice below has the whole command
	line, _, _ = strings.Cut(line, ". You can: ")
	line = strings.TrimSpace(line)
	if strings.Contains(line, "Can't handle RDB format version") {
		return fmt.Errorf("redisserver: %w: %s: it was written by a newer server; install that version, or name it in RETWIS_REDIS_SERVER (the server logged: %s)",
			ErrUnreadable, dir, line)
	}
	advice := "restore a backup"
	if strings.HasPrefix(line, "Bad file format reading") || strings.HasPrefix(line, "Unexpected end of file reading") {
		advice += ", or " + truncateAdvice(dir, server)
	}
	return fmt.Errorf("redisserver: %w: %s (the server logged: %s); %s", ErrDamaged, dir, line, advice)
}

// truncateAdvice returns advice to copy an append-only file and to truncate the copy at its first
// damage, with the server's checking tool. Only a tool of the same version can read everything that
// the server reads; the tool is the server binary under another name.
func truncateAdvice(dir, server string) string {
	files := filepath.Join(dir, aofDir)
	file := filepath.Join(files, manifestName)
	if _, err := os.Stat(file); err != nil {
		files = filepath.Join(dir, aofName)
		file = files
	}
	tool := filepath.Join(filepath.Dir(server), "redis-check-aof")
	if strings.Contains(filepath.Base(server), "valkey") {
		tool = filepath.Join(filepath.Dir(server), "valkey-check-aof")
	}
	makeTool := ""
	if _, err := exec.LookPath(tool); err != nil {
		makeTool = fmt.Sprintf("make the tool that checks it, which is the server under another name (ln -s %s %s), and ", shellQuote(server), shellQuote(tool))
	}
	return fmt.Sprintf("%scopy the data and drop everything after the damage: cp -a %s %s && echo y | %s --fix %s",
		makeTool, shellQuote(files), shellQuote(files+".damaged"), shellQuote(tool), shellQuote(file))
}

// shellQuote quotes a word for a shell.
func shellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
