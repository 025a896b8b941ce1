package shell

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The expected values are what systemd 252 reads from this file.
func TestParseEnvFile(t *testing.T) {
	t.Parallel()
	const text = "# A comment\n; another\n\nA=1\nB = two words \nC=\"quoted  \"\nD='it is $HOME'\nE=a\\\n b\n" +
		"no assignment\nF=redis://u:p#w@h/0\nG=\n1BAD=x\nH=\"a \\\"b\\\" \\n\"\nI=\"two\nlines\"\nA=2\nJ=it's\r\nK=end"
	want := map[string]string{
		"A": "2", "B": "two words", "C": "quoted  ", "D": "it is $HOME", "E": "a b", "F": "redis://u:p#w@h/0",
		"G": "", "H": `a "b" \n`, "I": "two\nlines", "J": "it's", "K": "end",
	}
	if got := parseEnvFile(text); !maps.Equal(got, want) {
		t.Errorf("parseEnvFile = %q\nwant %q", got, want)
	}
}

func TestWithEnvFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(path, []byte("RETWIS_REDIS=redis://file\nRETWIS_ADDR=:1\nRETWIS_LIMIT=off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	process := map[string]string{"RETWIS_ENV_FILE": path, "RETWIS_ADDR": ":2", "RETWIS_LIMIT": ""}
	lookup := func(name string) (string, bool) { v, ok := process[name]; return v, ok }
	get, err := WithEnvFile(lookup)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"RETWIS_REDIS": "redis://file", "RETWIS_ADDR": ":2", "RETWIS_LIMIT": "", "RETWIS_FSYNC": ""} {
		if got := get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	process["RETWIS_ENV_FILE"] = path + ".missing"
	if _, err := WithEnvFile(lookup); err == nil || !strings.Contains(err.Error(), path+".missing") {
		t.Errorf("WithEnvFile of a missing file: %v", err)
	}
}
