package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/store"
)

// aboutMachine looks at settings of the system, where the server runs on this machine.
func aboutMachine(ctx context.Context, node rueidis.Client, info string) ([]finding, error) {
	if !runsHere("/", info) {
		return nil, nil
	}
	disabled, _, err := config(ctx, node, "disable-thp")
	if err != nil {
		return nil, err
	}
	return system("/", disabled == "yes"), nil
}

// runsHere reports whether the server is a process of this machine, below root: one with
// its number and a name like its program, on the same system.
func runsHere(root, info string) bool {
	pid := store.InfoField(info, "process_id")
	name, err := os.ReadFile(filepath.Join(root, "proc", filepath.Base(pid), "comm"))
	if pid == "" || err != nil {
		return false
	}
	release, err := os.ReadFile(filepath.Join(root, "proc/sys/kernel/osrelease"))
	if err != nil || !strings.Contains(store.InfoField(info, "os"), strings.TrimSpace(string(release))) {
		return false
	}
	return strings.HasPrefix(string(name), "redis") || strings.HasPrefix(string(name), "valkey")
}

// system looks at what a server needs of Linux. noHugePages: the server has switched them
// off for itself.
func system(root string, noHugePages bool) []finding {
	var found []finding
	if text, err := os.ReadFile(filepath.Join(root, "proc/sys/vm/overcommit_memory")); err == nil {
		f := finding{Status: OK, What: "vm.overcommit_memory", Found: strings.TrimSpace(string(text))}
		if f.Found != "1" {
			f.Status, f.Why = Advice, "a server that uses more than half of the memory cannot start the process that writes its files, although that shares nearly all of it"
			f.Do = "sysctl vm.overcommit_memory=1; also in /etc/sysctl.d, for the next start"
		}
		found = append(found, f)
	}
	if text, err := os.ReadFile(filepath.Join(root, "sys/kernel/mm/transparent_hugepage/enabled")); err == nil {
		f := finding{Status: OK, What: "transparent huge pages", Found: selected(string(text))}
		switch {
		case noHugePages:
			f.Found += ", off for the server"
		case f.Found == "always":
			f.Status, f.Why = Advice, "while the server writes its files, each small change copies 2 MB: it stops for milliseconds and takes more memory"
			f.Do = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, at each start of the system; or disable-thp yes in the configuration file of the server"
		}
		found = append(found, f)
	}
	return found
}

// selected returns the word in brackets.
func selected(text string) string {
	_, rest, _ := strings.Cut(text, "[")
	word, _, _ := strings.Cut(rest, "]")
	return word
}
