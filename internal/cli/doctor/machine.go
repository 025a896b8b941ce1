package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/store"
)

// checkMachine checks system settings if the server runs on this machine.
func checkMachine(ctx context.Context, node rueidis.Client, info string) ([]finding, error) {
	if !isLocal("/", info) {
		return nil, nil
	}
	disabled, _, err := config(ctx, node, "disable-thp")
	if err != nil {
		return nil, err
	}
	return system("/", disabled == "yes"), nil
}

// isLocal reports whether the server runs on this machine, whose file system is at root: whether
// the process with the server's process ID has the name of a server program, and the kernel release
// is the same.
func isLocal(root, info string) bool {
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

// system checks the Linux settings that a server needs. noHugePages reports whether the server has
// disabled huge pages for itself.
func system(root string, noHugePages bool) []finding {
	var found []finding
	if text, err := os.ReadFile(filepath.Join(root, "proc/sys/vm/overcommit_memory")); err == nil {
		f := finding{Status: OK, What: "vm.overcommit_memory", Found: strings.TrimSpace(string(text))}
		if f.Found != "1" {
			f.Status, f.Why = Advice, "a server that uses more than half of the memory cannot fork the process that writes its files, although the two processes share nearly all of it"
			f.Do = "sysctl vm.overcommit_memory=1; also in /etc/sysctl.d, for the next boot"
		}
		found = append(found, f)
	}
	if text, err := os.ReadFile(filepath.Join(root, "sys/kernel/mm/transparent_hugepage/enabled")); err == nil {
		f := finding{Status: OK, What: "transparent huge pages", Found: selected(string(text))}
		switch {
		case noHugePages:
			f.Found += ", off for the server"
		case f.Found == "always":
			f.Status, f.Why = Advice, "while the server writes its files, each small change copies 2 MB: the server stops for milliseconds and takes more memory"
			f.Do = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, at each boot; or disable-thp yes in the configuration file of the server"
		}
		found = append(found, f)
	}
	return found
}

// selected returns the word in brackets, which is the current choice of a kernel setting.
func selected(text string) string {
	_, rest, _ := strings.Cut(text, "[")
	word, _, _ := strings.Cut(rest, "]")
	return word
}
