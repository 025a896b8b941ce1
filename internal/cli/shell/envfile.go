package shell

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

const (
	// EnvFile is where the package keeps the settings of its service. RETWIS_ENV_FILE
	// names another file.
	EnvFile = "/etc/retwis/retwis.env"
	// packageRedis is the database of the service where EnvFile does not name one, as in
	// deploy/systemd/retwis.service.
	packageRedis = "embedded:/var/lib/retwis"
)

// WithEnvFile returns the variables of a process, and those that the settings of the
// installed service add: without them root's cron would look for the database of the site
// in root's home directory. A variable of the process wins. Users who may not read the
// settings have databases of their own; but a file that RETWIS_ENV_FILE names must be readable.
func WithEnvFile(lookup func(string) (string, bool)) (getenv func(string) string, err error) {
	path, implied := EnvFile, map[string]string{"RETWIS_REDIS": packageRedis}
	named, _ := lookup("RETWIS_ENV_FILE")
	if named != "" {
		path, implied = named, nil
	}
	text, err := os.ReadFile(path)
	settings := map[string]string{}
	switch {
	case err == nil:
		settings = parseEnvFile(string(text))
	case named != "":
		return nil, Usage(fmt.Errorf("the variable RETWIS_ENV_FILE: %w", err))
	default:
		implied = nil
	}
	return func(name string) string {
		if value, ok := lookup(name); ok {
			return value
		}
		if value, ok := settings[name]; ok {
			return value
		}
		return implied[name]
	}, nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parseEnvFile reads a file of variables as systemd does (EnvironmentFile= in
// systemd.exec(5)): quotes and backslashes as in a shell, comments that begin a line with #
// or ;, and lines that are no assignments are ignored.
func parseEnvFile(text string) map[string]string {
	settings := map[string]string{}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for text != "" {
		text = strings.TrimLeft(text, " \t\n")
		if strings.HasPrefix(text, "#") || strings.HasPrefix(text, ";") {
			_, text, _ = strings.Cut(text, "\n")
			continue
		}
		end := strings.IndexAny(text, "=\n")
		if end < 0 {
			break
		}
		name, assigned := strings.TrimSpace(text[:end]), text[end] == '='
		text = text[end+1:]
		if !assigned {
			continue
		}
		var value string
		value, text = envValue(text)
		if variableName.MatchString(name) {
			settings[name] = value
		}
	}
	return settings
}

// envValue reads a value up to the end of its line, and returns the rest. A value may go on
// after a line that ends in a backslash, or within quotes.
func envValue(text string) (value, rest string) {
	var b strings.Builder
	kept := 0 // what trimming must not cut: quoted blanks
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(text):
			i++
			if text[i] == '\n' {
				continue
			}
			if quote == '"' && !strings.ContainsRune("\"\\`$", rune(text[i])) {
				b.WriteByte('\\')
			}
			b.WriteByte(text[i])
			kept = b.Len()
		case quote != 0 && c == quote:
			quote, kept = 0, b.Len()
		case quote == 0 && (c == '"' || c == '\'') && strings.TrimSpace(b.String()[kept:]) == "":
			quote = c
		case quote == 0 && c == '\n':
			return trimEnv(b.String(), kept), text[i+1:]
		default:
			b.WriteByte(c)
			if quote != 0 {
				kept = b.Len()
			}
		}
	}
	return trimEnv(b.String(), kept), ""
}

// trimEnv cuts the blanks around a value, but not the first kept bytes of it.
func trimEnv(value string, kept int) string {
	value = value[:kept] + strings.TrimRight(value[kept:], " \t")
	if kept == 0 {
		value = strings.TrimLeft(value, " \t")
	}
	return value
}
