package redisurl

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
)

// readQuery parses the parameters.
func (c *Config) readQuery(query url.Values) error {
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if len(query[name]) > 1 {
			return fmt.Errorf("parameter %q is given twice", name)
		}
		if err := c.readParameter(name, query.Get(name)); err != nil {
			return err
		}
	}
	if (c.Cert == "") != (c.Key == "") {
		return errors.New("cert and key must be given together")
	}
	return nil
}

func (c *Config) readParameter(name, value string) error {
	switch name {
	case "db":
		if c.Kind == Cluster {
			return fmt.Errorf("parameter %q: a Cluster has one database only", name)
		}
		return c.readDB(value)
	case "ca", "cert", "key", "servername", "skip_verify":
		if !c.TLS {
			return fmt.Errorf("parameter %q is only valid with TLS (rediss://)", name)
		}
		return c.readTLS(name, value)
	case "sentinel_username", "sentinel_password":
		if c.Kind != Sentinel {
			return fmt.Errorf("parameter %q is only valid with redis+sentinel://", name)
		}
		if name == "sentinel_username" {
			c.SentinelUsername = value
		} else {
			c.SentinelPassword = value
		}
		return nil
	}
	return fmt.Errorf("unknown parameter %q", name)
}

func (c *Config) readTLS(name, value string) (err error) {
	if value == "" {
		return fmt.Errorf("parameter %q is empty", name)
	}
	switch name {
	case "ca":
		c.CA = value
	case "cert":
		c.Cert = value
	case "key":
		c.Key = value
	case "servername":
		c.ServerName = value
	case "skip_verify":
		if c.SkipVerify, err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("parameter %q is neither true nor false", name)
		}
	}
	return nil
}
