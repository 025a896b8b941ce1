package redisurl

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]Config{
		"embedded:":                       {Kind: Embedded},
		"embedded:/var/lib/retwis":        {Kind: Embedded, Dir: "/var/lib/retwis"},
		"embedded:///var/lib/retwis":      {Kind: Embedded, Dir: "/var/lib/retwis"},
		"embedded:data":                   {Kind: Embedded, Dir: "data"},
		"redis://localhost":               {Kind: Single, Addresses: []string{"localhost:6379"}},
		"REDIS://localhost:7000/3":        {Kind: Single, Addresses: []string{"localhost:7000"}, DB: 3},
		"redis://[::1]":                   {Kind: Single, Addresses: []string{"[::1]:6379"}},
		"redis://[::1]:7000?db=2":         {Kind: Single, Addresses: []string{"[::1]:7000"}, DB: 2},
		"redis://:p%40ss@host":            {Kind: Single, Addresses: []string{"host:6379"}, Password: "p@ss"},
		"rediss://u:p@ss/w@host:1/":       {Kind: Single, Addresses: []string{"host:1"}, Username: "u", Password: "p@ss/w", TLS: true},
		"unix:///run/redis.sock":          {Kind: Single, Socket: "/run/redis.sock"},
		"unix://u:p@/run/redis.sock?db=4": {Kind: Single, Socket: "/run/redis.sock", Username: "u", Password: "p", DB: 4},
		"redis+sentinel://a,b:1/main":     {Kind: Sentinel, Addresses: []string{"a:26379", "b:1"}, Master: "main"},
		"rediss+sentinel://a/main/5":      {Kind: Sentinel, Addresses: []string{"a:26379"}, Master: "main", DB: 5, TLS: true},
		"unix:///run/a%3Fb%40c%25":        {Kind: Single, Socket: "/run/a?b@c%"},
		"rediss://h?ca=/ca.pem&cert=c&key=k&servername=s&skip_verify=true": {
			Kind: Single, Addresses: []string{"h:6379"}, TLS: true, CA: "/ca.pem", Cert: "c", Key: "k", ServerName: "s", SkipVerify: true,
		},
		"redis+sentinel://:p@a/main?sentinel_username=u&sentinel_password=%40": {
			Kind: Sentinel, Addresses: []string{"a:26379"}, Master: "main", Password: "p", SentinelUsername: "u", SentinelPassword: "@",
		},
		"valkey://u:p@h/1":         {Kind: Single, Addresses: []string{"h:6379"}, Username: "u", Password: "p", DB: 1},
		"valkeys://h?servername=s": {Kind: Single, Addresses: []string{"h:6379"}, TLS: true, ServerName: "s"},
		"valkey+sentinel://a/main": {Kind: Sentinel, Addresses: []string{"a:26379"}, Master: "main"},
		"valkeys+cluster://a:1,b":  {Kind: Cluster, Addresses: []string{"a:1", "b:6379"}, TLS: true},
		"redis+cluster://a,b:7,c":  {Kind: Cluster, Addresses: []string{"a:6379", "b:7", "c:6379"}},
	} {
		got, err := Parse(raw)
		if err != nil {
			t.Errorf("Parse(%q): %v", raw, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("Parse(%q) = %+v, want %+v", raw, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                               `"": not a URL`,
		"localhost":                      "not a URL",
		"localhost:6379":                 `no // after "localhost:"`,
		":hunter2@h":                     "not a URL",
		"hunter2@h:6379":                 "not a URL",
		"http://x":                       `unknown scheme "http"`,
		"redis+bus://x":                  `unknown scheme "redis+bus"`,
		"unix+cluster://x":               `unknown scheme "unix+cluster"`,
		"redis:x":                        "no //",
		"redis://":                       "host is missing",
		"redis://:6379":                  "host is missing",
		"redis://h:0":                    "port is not a number",
		"redis://h:x":                    "port is not a number",
		"redis://::1":                    "not host:port",
		"redis://h o":                    "invalid in a host",
		"redis://ada:hunter2":            "port is not a number",
		"redis://:hunt?er2@h":            "%3F",
		"redis://:hunt#er2@h":            "%23",
		"redis://h?ca=x":                 `parameter "ca" is only valid with TLS`,
		"rediss://h?ca=":                 `parameter "ca" is empty`,
		"rediss://h?cert=x":              "cert and key must be given together",
		"rediss://h?skip_verify=maybe":   `"skip_verify" is neither true nor false`,
		"rediss://h?sentinel_password=x": `"sentinel_password" is only valid with redis+sentinel://`,
		"redis://a,b":                    "several hosts",
		"redis://h/x":                    "not a database number",
		"redis://h/-1":                   "not a database number",
		"redis://h/1/2":                  "unexpected path",
		"redis://h?timeout=1":            `unknown parameter "timeout"`,
		"redis://h?max_retries=1":        `unknown parameter "max_retries"`,
		"redis://h?addr=h2:1":            `unknown parameter "addr"`,
		"valkey://h?ca=x":                `parameter "ca" is only valid with TLS`,
		"redis://h?db=1&db=2":            "given twice",
		"redis://h/1#x":                  "%23",
		"redis://u:%zz@h":                "the password has a %",
		"redis://%zz:p@h":                "the user has a %",
		"unix://":                        "path of the socket is missing",
		"redis+sentinel://h":             "name of the master",
		"redis+cluster://h/1":            "unexpected path",
		"redis+cluster://h?db=1":         "one database only",
		"embedded:a\nb":                  "invalid in a path",
		"redis://user:hunter2@h?secret":  `unknown parameter "secret"`,
	} {
		_, err := Parse(raw)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want %q", raw, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "hunt") || strings.Contains(err.Error(), "er2")) {
			t.Errorf("Parse(%q): the error contains the password: %v", raw, err)
		}
	}
}

// FuzzParse looks for URLs that are silently misread, and for errors that contain the password.
func FuzzParse(f *testing.F) {
	for _, raw := range []string{
		"embedded:x", "redis://u:p@h:1/2", "unix:///a?db=1", "redis+sentinel://a,b/m/1", "unix:///a%3Fb", "rediss://h?ca=x&skip_verify=1", "rediss+cluster://[::1]:7,b", "redis://a@b@c:9",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		config, err := Parse(raw)
		if err != nil {
			return
		}
		reparsed, err := Parse(config.String())
		if config.Kind == Embedded {
			return
		}
		if err != nil {
			t.Fatalf("Parse(%q) = %+v, but Parse cannot read its String() %q: %v", raw, config, config, err)
		}
		// String omits secrets and TLS parameters.
		config = Config{
			Kind: config.Kind, Socket: config.Socket, Addresses: config.Addresses,
			Master: config.Master, DB: config.DB, TLS: config.TLS,
		}
		if !reflect.DeepEqual(reparsed, config) {
			t.Errorf("Parse(%q) = %+v, but its String() %q is parsed as %+v", raw, config, config, reparsed)
		}
	})
}

// FuzzParseSecret looks for errors that contain the password of an invalid URL.
func FuzzParseSecret(f *testing.F) {
	f.Add("redis://user:", "@host:x")
	f.Add("redis://user:", "?x@host")
	f.Add("nonsense://", "@")
	f.Add("u:", "@host")
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "hunter2hunter2"
		if !strings.Contains(after, "@") || !strings.Contains(before, ":") || strings.HasPrefix(strings.ToLower(before), "embedded:") {
			return // no password, but an unknown scheme or a directory
		}
		if _, err := Parse(before + secret + after); err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("Parse(%q): the error contains the password: %v", before+secret+after, err)
		}
	})
}
