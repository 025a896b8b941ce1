package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var variable = regexp.MustCompile(`\bRETWIS_[A-Z_]+\b`)

// TestDeployNamesKnownVariables checks that the files in deploy name only variables of "retwis
// serve".
func TestDeployNamesKnownVariables(t *testing.T) {
	t.Parallel()
	help, err := exec.CommandContext(t.Context(), "retwis", "serve", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"RETWIS_REDIS_SERVER": true}
	for _, name := range variable.FindAllString(string(help), -1) {
		known[name] = true
	}
	found := 0
	err = filepath.WalkDir("../../deploy", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range variable.FindAllString(string(text), -1) {
			found++
			if !known[name] {
				t.Errorf("%s sets %s, which retwis serve --help does not list", path, name)
			}
		}
		return err
	})
	if err != nil || found < 10 {
		t.Fatalf("found %d variables in deploy, want at least 10: %v", found, err)
	}
}

// TestUnitSavesWhereSettingsSay checks that the units, the package scripts and the container files
// agree on paths and users.
func TestUnitSavesWhereSettingsSay(t *testing.T) {
	t.Parallel()
	for path, wants := range map[string][]string{
		"../../deploy/systemd/retwis.service":        {"RETWIS_REDIS=embedded:/var/lib/retwis\n", "StateDirectory=retwis\n", "EnvironmentFile=-/etc/retwis/retwis.env\n", "\nUser=retwis\n", "KillMode=mixed\n"},
		"../../deploy/deb/postinst":                  {"-o retwis -g retwis /var/lib/retwis"},
		"../../deploy/deb/postrm":                    {`if [ "$1" = purge ]`, "rm -rf /var/lib/retwis\n"},
		"../../deploy/systemd/retwis.socket":         {"ListenStream=127.0.0.1:8080\n", "FileDescriptorName=web\n"},
		"../../deploy/systemd/retwis-backup.service": {"RETWIS_REDIS=embedded:/var/lib/retwis\n", "EnvironmentFile=-/etc/retwis/retwis.env\n", "ExecStart=/usr/bin/retwis backup --keep 14 /var/backups/retwis\n", "\nUser=retwis\n"},
		"../../deploy/systemd/retwis-backup.timer":   {"WantedBy=retwis.service\n", "PartOf=retwis.service\n"},
		"../../deploy/deb/nfpm.yaml":                 {"dst: /etc/retwis/retwis.env", "type: config|noreplace"},
		"../../deploy/container/Containerfile":       {"-o retwis -g retwis -m 0700 /var/lib/retwis\n"},
		"../../deploy/container/compose.yaml":        {"RETWIS_MEDIA: /var/lib/retwis/media\n", "- files:/var/lib/retwis\n", "tmpfs: [/tmp]\n", "\n  files:\n"},
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %q", path, want)
			}
		}
	}
}

// TestDebianVersion checks that dpkg sorts a commit after the release it follows, and a release
// candidate before its release.
func TestDebianVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v1.2.0":                      "1.2.0-1",
		"v1.2.0-dirty":                "1.2.0+dirty-1",
		"v1.2.0-5-g1a2b3c4":           "1.2.0+5+g1a2b3c4-1",
		"v1.2.0-5-g1a2b3c4-dirty":     "1.2.0+5+g1a2b3c4+dirty-1",
		"v1.2.0-rc1":                  "1.2.0~rc1-1",
		"v1.2.0-rc1-5-g1a2b3c4-dirty": "1.2.0~rc1+5+g1a2b3c4+dirty-1",
		"1.2.0-rc1":                   "1.2.0~rc1-1",
	} {
		got, err := exec.CommandContext(t.Context(), "../../scripts/debian-version", version).Output()
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("debian-version %s = %s, %v; want %s", version, got, err, want)
		}
	}
}
