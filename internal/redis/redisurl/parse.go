package redisurl

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// schemes lists the accepted URLs for error messages.
const schemes = "embedded:[DIR], redis://[user:password@]host[:port][/db], unix://[user:password@]/path[?db=n], " +
	"redis+sentinel://[user:password@]host[:port],…/master[/db] or redis+cluster://[user:password@]host[:port],… " +
	"(rediss for redis means TLS; valkey and valkeys mean the same as redis and rediss)"

// Parse parses the URL of a database:
//
//	embedded:[DIR]
//	redis://[user:password@]host[:port][/db]
//	unix://[user:password@]/path/of/socket[?db=n]
//	redis+sentinel://[user:password@]host[:port],…/master[/db]
//	redis+cluster://[user:password@]host[:port],…
//
// valkey means the same as redis. rediss (or valkeys) means TLS, and accepts the parameters ca,
// cert and key (files in PEM), servername, and skip_verify=true. redis+sentinel also accepts
// sentinel_username and sentinel_password, for sentinels that require them. Special characters of
// URLs are percent-encoded, such as %3F for a ? in a password.
//
// Errors describe the mistake and never contain a password. Parse opens neither a file nor a
// connection.
func Parse(raw string) (Config, error) {
	config, err := parse(raw)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", redact(raw), err)
	}
	return config, nil
}

func parse(raw string) (Config, error) {
	scheme, rest, ok := strings.Cut(raw, ":")
	scheme = strings.ToLower(scheme)
	if !ok || !isScheme(scheme) {
		return Config{}, errors.New("not a URL of a database; use " + schemes)
	}
	if scheme == "embedded" {
		if strings.ContainsAny(rest, "\x00\n") {
			return Config{}, errors.New("the directory has characters that are invalid in a path")
		}
		return Config{Kind: Embedded, Dir: strings.TrimPrefix(rest, "//")}, nil
	}
	if !strings.HasPrefix(rest, "//") {
		return Config{}, fmt.Errorf("there is no // after %q; an address begins with a scheme, as in redis://localhost:6379", scheme+":")
	}
	var config Config
	base, kind, _ := strings.Cut(scheme, "+")
	switch {
	case base == "rediss", base == "valkeys":
		config.TLS = true
	case base != "redis" && base != "valkey" && scheme != "unix":
		return Config{}, unknownScheme(scheme)
	}
	var defaultPort string
	switch kind {
	case "":
		config.Kind, defaultPort = Single, redisPort
	case "sentinel":
		config.Kind, defaultPort = Sentinel, sentinelPort
	case "cluster":
		config.Kind, defaultPort = Cluster, redisPort
	default:
		return Config{}, unknownScheme(scheme)
	}
	authority, path, query, err := split(rest[2:])
	if err != nil {
		return Config{}, err
	}
	hosts, err := config.readUser(authority)
	if err != nil {
		return Config{}, err
	}
	if scheme == "unix" {
		if hosts != "" || strings.Trim(path, "/") == "" {
			return Config{}, errors.New("the path of the socket is missing; it begins with a /: unix:///path")
		}
		config.Socket, path = path, ""
	} else if config.Addresses, err = readHosts(hosts, defaultPort); err != nil {
		return Config{}, err
	}
	if config.Kind == Single && len(config.Addresses) > 1 {
		return Config{}, errors.New("several hosts; use redis+cluster:// or redis+sentinel://")
	}
	if err := config.readPath(path); err != nil {
		return Config{}, err
	}
	return config, config.readQuery(query)
}

func unknownScheme(scheme string) error {
	return fmt.Errorf("unknown scheme %q; use %s", scheme, schemes)
}

// split splits user@host,host/path?query. A password may contain any character percent-encoded; if
// it contains a plain @, the last @ ends the password.
func split(rest string) (authority, path string, query url.Values, err error) {
	if strings.ContainsRune(rest, '#') {
		return "", "", nil, errors.New("# is not allowed here; write it as %23")
	}
	rest, rawQuery, _ := strings.Cut(rest, "?")
	if strings.ContainsRune(rawQuery, '@') { // more likely a password that contains a ?
		return "", "", nil, errors.New("@ follows a ?; write a ? in the password as %3F, and an @ in a parameter as %40")
	}
	query, err = url.ParseQuery(rawQuery)
	if err != nil {
		return "", "", nil, errors.New("the parameters after the ? are malformed")
	}
	at := strings.LastIndexByte(rest, '@')
	slash := strings.IndexByte(rest[at+1:], '/')
	if slash < 0 {
		return rest, "", query, nil
	}
	slash += at + 1
	path, err = url.PathUnescape(rest[slash:])
	if err != nil {
		return "", "", nil, errors.New("the path has a % that is not followed by two hex digits")
	}
	if strings.ContainsAny(path, "\x00\n") {
		return "", "", nil, errors.New("the path has characters that are invalid in a path")
	}
	return rest[:slash], path, query, nil
}

// readUser removes the user and the password from the authority.
func (c *Config) readUser(authority string) (hosts string, err error) {
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return authority, nil
	}
	user, password, _ := strings.Cut(authority[:at], ":")
	if c.Username, err = url.PathUnescape(user); err != nil {
		return "", errors.New("the user has a % that is not followed by two hex digits")
	}
	if c.Password, err = url.PathUnescape(password); err != nil {
		return "", errors.New("the password has a % that is not followed by two hex digits")
	}
	return authority[at+1:], nil
}

// readPath parses the path: the name of the master, the database number.
func (c *Config) readPath(path string) error {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if c.Kind == Sentinel {
		if c.Master, parts = parts[0], parts[1:]; c.Master == "" {
			return errors.New("the name of the master is missing: redis+sentinel://host,host/master")
		}
	}
	if len(parts) == 0 || len(parts) == 1 && parts[0] == "" {
		return nil
	}
	if len(parts) > 1 || c.Kind == Cluster {
		return fmt.Errorf("unexpected path %q", path)
	}
	return c.readDB(parts[0])
}
