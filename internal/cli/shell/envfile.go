package shell

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

const (
	// EnvFile is where the installed package keeps the settings of its service. RETWIS_ENV_FILE
	// overrides it.
	EnvFile = "/etc/retwis/retwis.env"
	// packageRedis is the service's database if EnvFile does not set one, as in
	// deploy/systemd/retwis.service.
	packageRedis = "embedded:/var/lib/retwis"
)

// WithEnvFile returns a lookup function for the process's variables and for the settings of the
// installed service. Without the settings, root's cron would look for the site's database in root's
// home directory. Variables of the process take precedence. If EnvFile is unreadable it is ignored,
// because users without access to the file have databases of their own; a file named by
// RETWIS_ENV_FILE must be readable.
func WithEnvFile(lookup func(string) (string, bool)) (getenv func(string) string, err error) {
	path, defaults := EnvFile, map[string]string{"RETWIS_REDIS": packageRedis}
	customPath, _ := lookup("RETWIS_ENV_FILE")
	if customPath != "" {
		path, defaults = customPath, nil
	}
	text, err := os.ReadFile(path)
	settings := map[string]string{}
	switch {
	case err == nil:
		settings = parseEnvFile(string(text))
	case customPath != "":
		return nil, Usage(fmt.Errorf("the variable RETWIS_ENV_FILE: %w", err))
	default:
		defaults = nil
	}
	return func(name string) string {
		if value, ok := lookup(name); ok {
			return value
		}
		if value, ok := settings[name]; ok {
			return value
		}
		return defaults[name]
	}, nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parseEnvFile parses a file of variables as systemd does (EnvironmentFile= in systemd.exec(5)):
// quotes and backslashes work as in a shell, lines that begin with # or ; are comments, and lines
// that are not assignments are ignored.
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

// envValue parses a value up to the end of its line and returns the rest of the text. A value may
// continue after a backslash at the end of a line, or within quotes.
func envValue(text string) (value, rest string) {
	var b strings.Builder
	kept := 0 // length of the prefix that trimming must keep: it may end with quoted blanks
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

// trimEnv trims blanks around a value, except in its first kept bytes.
func trimEnv(value string, kept int) string {
	value = value[:kept] + strings.TrimRight(value[kept:], " \t")
	if kept == 0 {
		value = strings.TrimLeft(value, " \t")
	}
	return value
}
