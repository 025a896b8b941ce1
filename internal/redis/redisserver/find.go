package redisserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"retwis/internal/owner"
)

// ErrNotInstalled means that no server is installed on this machine.
var ErrNotInstalled = errors.New("redisserver: neither valkey-server nor redis-server is on PATH; " +
	"install one (on Debian: apt-get install redis-server), or name it in RETWIS_REDIS_SERVER")

// Find returns the path of the server to run: RETWIS_REDIS_SERVER if set, otherwise
// valkey-server, otherwise redis-server. It returns ErrNotInstalled if there is none.
func Find(getenv func(string) string) (string, error) {
	if named := getenv("RETWIS_REDIS_SERVER"); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("redisserver: RETWIS_REDIS_SERVER: %w", err)
		}
		return path, nil
	}
	for _, name := range []string{"valkey-server", "redis-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNotInstalled
}

// oldest is the first version with all required features.
const oldest = "6.2"

var versionPattern = regexp.MustCompile(`\bv=([0-9]+)\.([0-9]+)[^ ]*`)

// Version returns the version of a server, such as "7.0.15".
func Version(ctx context.Context, binary string) (string, error) {
	p, err := identify(ctx, binary)
	if err != nil {
		return "", fmt.Errorf("redisserver: %w", err)
	}
	return p.version, nil
}

// TooOld reports whether a version is before 6.2.
func TooOld(version string) bool { return program{version: version}.before(6, 2) }

// maxSocket is the maximum length of a socket path on all systems.
const maxSocket = 100

// SocketPath returns the path of the socket for a data directory: inside the directory or, if
// that path is too long, in a runtime directory.
func SocketPath(dir string) (string, error) {
	if path := filepath.Join(dir, "redis.sock"); len(path) < maxSocket {
		return path, nil
	}
	sum := sha256.Sum256([]byte(dir))
	name := "retwis-" + hex.EncodeToString(sum[:8]) + ".sock"
	dirOwner, err := owner.Of(dir)
	if err != nil {
		return "", err
	}
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); !dirOwner.Another() && runtime != "" && len(filepath.Join(runtime, name)) < maxSocket {
		return filepath.Join(runtime, name), nil
	}
	shared := filepath.Join(os.TempDir(), fmt.Sprintf("retwis-%d", dirOwner.UID()))
	if err = os.Mkdir(shared, 0o700); err == nil {
		err = dirOwner.Give(shared)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("redisserver: create a directory for the socket: %w", err)
	}
	// Another user may have created a directory of this name.
	info, err := os.Lstat(shared)
	if err != nil {
		return "", fmt.Errorf("redisserver: create a directory for the socket: %w", err)
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || ownerOf(info) != dirOwner.UID() {
		return "", fmt.Errorf("redisserver: %s must be a directory of this user with mode 0700; remove it, or set XDG_RUNTIME_DIR", shared)
	}
	if path := filepath.Join(shared, name); len(path) < maxSocket {
		return path, nil
	}
	return "", fmt.Errorf("redisserver: the path of %s is too long for a socket; set XDG_RUNTIME_DIR to a shorter path", dir)
}
