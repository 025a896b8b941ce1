package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"retwis/internal/redisserver"
)

// versionInfo is what this program is, and which server it would start.
type versionInfo struct {
	Version       string `json:"version"`
	Commit        string `json:"commit,omitempty"`
	Go            string `json:"go"`
	Server        string `json:"server,omitempty"`
	ServerVersion string `json:"server_version,omitempty"`
}

func newVersion(env Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which version this is, and which server it would start",
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := buildInfo(env)
			if binary, err := redisserver.Find(env.Getenv); err == nil {
				info.Server, info.ServerVersion = binary, "unknown"
				if v, err := redisserver.Version(cmd.Context(), binary); err == nil {
					info.ServerVersion = v
				}
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(info)
			}
			return info.print(cmd)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}

func (v versionInfo) print(cmd *cobra.Command) error {
	server := "none on this machine"
	if v.Server != "" {
		server = v.Server + ", version " + v.ServerVersion
	}
	commit := v.Commit
	if commit == "" {
		commit = "unknown"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "retwis %s\ncommit: %s\ngo: %s\nserver: %s\n", v.Version, commit, v.Go, server)
	return err
}

// buildInfo is what the linker was told, else what the go command recorded.
func buildInfo(env Env) versionInfo {
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
