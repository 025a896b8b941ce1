package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/redis/redisserver"
)

// versionInfo holds the versions of the program and of the server that it would start.
type versionInfo struct {
	Version       string `json:"version"`
	Commit        string `json:"commit,omitempty"`
	Go            string `json:"go"`
	Server        string `json:"server,omitempty"`
	ServerVersion string `json:"server_version,omitempty"`
}

func newVersion(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "version",
		Short: "Show the version of retwis, and of the server that it would start",
		Args:  shell.NoArguments,
	})
	c.AddJSON("print the versions as JSON")
	return c.Build(func(ctx context.Context, _ []string) error {
		info := buildInfo(env)
		if binary, err := redisserver.Find(env.Getenv); err == nil {
			info.Server, info.ServerVersion = binary, "unknown"
			if v, err := redisserver.Version(ctx, binary); err == nil {
				info.ServerVersion = v
			}
		}
		if c.JSON {
			return json.NewEncoder(c.Stdout).Encode(info)
		}
		return info.print(c.Stdout)
	})
}

func (v versionInfo) print(out io.Writer) error {
	server := "none on this machine"
	if v.Server != "" {
		server = v.Server + ", version " + v.ServerVersion
	}
	commit := v.Commit
	if commit == "" {
		commit = "unknown"
	}
	_, err := fmt.Fprintf(out, "retwis %s\ncommit: %s\ngo: %s\nserver: %s\n", v.Version, commit, v.Go, server)
	return err
}

// buildInfo returns the version that the linker set, or else the version that the go command
// recorded.
func buildInfo(env shell.Env) versionInfo {
	info := versionInfo{Version: env.Version, Commit: env.Commit, Go: runtime.Version()}
	build, ok := debug.ReadBuildInfo()
	if ok && info.Version == "" {
		info.Version = build.Main.Version
	}
	if info.Version == "" {
		info.Version = "(devel)"
	}
	if !ok || info.Commit != "" {
		return info
	}
	for _, setting := range build.Settings {
		if setting.Key == "vcs.revision" {
			info.Commit = setting.Value
		}
	}
	return info
}
