package redisserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// inUse returns which process of this user has a data file of the directory open, or is a
// server with that working directory; "" if none.
func inUse(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		pid := filepath.Base(process)
		name, _ := os.ReadFile(filepath.Join(process, "comm"))
		comm := strings.TrimSpace(string(name))
		isServer := strings.Contains(comm, "redis-ser") || strings.Contains(comm, "valkey-ser")
		if at, err := os.Readlink(filepath.Join(process, "cwd")); err == nil && isServer && at == dir {
			return fmt.Sprintf("process %s (%s) works in it", pid, comm)
		}
		open, _ := filepath.Glob(filepath.Join(process, "fd", "*"))
		for _, fd := range open {
			file, err := os.Readlink(fd)
			if err != nil {
				continue
			}
			name, err := filepath.Rel(dir, file)
			if err == nil && (name == aofName || name == dumpName || strings.HasPrefix(name, aofDir+"/")) {
				return fmt.Sprintf("process %s (%s) has %s open", pid, comm, name)
			}
		}
	}
	return ""
}
