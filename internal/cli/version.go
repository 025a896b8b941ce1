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
			info := buildInfo(env.Version)
			if binary, err := redisserver.Find(env.Getenv); err == nil {
				info.Server = binary
				info.ServerVersion, _ = redisserver.Version(cmd.Context(), binary)
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
	line := "retwis " + v.Version
	if v.Commit != "" {
		line += " (" + v.Commit + ")"
	}
	server := "no server found on this machine"
	if v.Server != "" {
		server = fmt.Sprintf("server %s, version %s", v.Server, v.ServerVersion)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s, %s, %s\n", line, v.Go, server)
	return err
}

func buildInfo(version string) versionInfo {
	info := versionInfo{Version: version, Go: runtime.Version()}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	if info.Version == "" {
		info.Version = build.Main.Version
	}
	for _, setting := range build.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			info.Commit = setting.Value[:12]
		}
	}
	return info
}
