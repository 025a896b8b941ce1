// Command byhand is the session store of examples/sessions without package model: each key,
// index and script is written by hand, for one server.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

const maxDevices = 3

// Session is a device on which a user of a tenant is logged in.
type Session struct{ User, Device string }

var errNoSession = errors.New("no such session")

// Sessions are those of one tenant. They end when they are not used for a while. It keeps
// them in Redis:
//
//	session:<tenant>:<digest of the token>  hash: user, device; expires
//	sessions:<tenant>:<user>                sorted set: digests by the time of the login
//	sessions:<tenant>                       sorted set: digests by when they expire
type Sessions struct {
	client rueidis.Client
	tenant string
	idle   time.Duration
}

func open(client rueidis.Client, tenant string, idle time.Duration) (*Sessions, error) {
	return &Sessions{client, url.QueryEscape(tenant), idle}, nil // a colon must not end the name
}

func (s *Sessions) key(digest string) string { return "session:" + s.tenant + ":" + digest }

func (s *Sessions) ofUser(user string) string { return "sessions:" + s.tenant + ":" + user }

func (s *Sessions) all() string { return "sessions:" + s.tenant }

// login: KEYS are the session, those of the user and those of the tenant, ARGV the prefix of
// sessions, the digest, user, device, how long it lives and how many there may be.
var login = rueidis.NewLuaScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], 'user', ARGV[3], 'device', ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
for _, digest in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
	if redis.call('EXISTS', ARGV[1] .. digest) == 0 then
		redis.call('ZREM', KEYS[2], digest)
	end
end
redis.call('ZADD', KEYS[2], time[1] * 1000000 + time[2], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
redis.call('ZADD', KEYS[3], now + ARGV[5], ARGV[2])
for _, digest in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1 - ARGV[6])) do
	redis.call('DEL', ARGV[1] .. digest)
	redis.call('ZREM', KEYS[2], digest)
	redis.call('ZREM', KEYS[3], digest)
end`)

// Login starts a session and returns its token. The oldest sessions of the user end if
// there are too many.
func (s *Sessions) Login(ctx context.Context, user, device string) (string, error) {
	token := rand.Text()
	digest := digestOf(token)
	return token, ignoreNil(login.Exec(ctx, s.client, []string{s.key(digest), s.ofUser(user), s.all()},
		[]string{s.key(""), digest, user, device, milliseconds(s.idle), strconv.Itoa(maxDevices)}).Error())
}

// touch: KEYS are the session and those of the tenant, ARGV the prefix of the sessions of
// users, the digest and how long it lives.
var touch = rueidis.NewLuaScript(`
local session = redis.call('HMGET', KEYS[1], 'user', 'device')
if not session[1] then
	return false
end
local time = redis.call('TIME')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', ARGV[1] .. session[1], ARGV[3])
redis.call('ZADD', KEYS[2], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3], ARGV[2])
return session`)

// Use returns the session of a token, which lives for longer now.
func (s *Sessions) Use(ctx context.Context, token string) (Session, error) {
	digest := digestOf(token)
	reply, err := touch.Exec(ctx, s.client, []string{s.key(digest), s.all()},
		[]string{s.ofUser(""), digest, milliseconds(s.idle)}).AsStrSlice()
	if rueidis.IsRedisNil(err) {
		return Session{}, errNoSession
	}
	if err != nil {
		return Session{}, err
	}
	return Session{reply[0], reply[1]}, nil
}

// logout: KEYS are the session and those of the tenant, ARGV the prefix of the sessions of
// users and the digest.
var logout = rueidis.NewLuaScript(`
local user = redis.call('HGET', KEYS[1], 'user')
if user then
	redis.call('ZREM', ARGV[1] .. user, ARGV[2])
end
redis.call('ZREM', KEYS[2], ARGV[2])
return redis.call('DEL', KEYS[1])`)

// Logout ends a session.
func (s *Sessions) Logout(ctx context.Context, token string) error {
	digest := digestOf(token)
	n, err := logout.Exec(ctx, s.client, []string{s.key(digest), s.all()}, []string{s.ofUser(""), digest}).AsInt64()
	if err == nil && n == 0 {
		return errNoSession
	}
	return err
}

// logoutAll: KEYS are the sessions of the user and those of the tenant, ARGV the prefix of
// sessions.
var logoutAll = rueidis.NewLuaScript(`
local ended = 0
for _, digest in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
	ended = ended + redis.call('DEL', ARGV[1] .. digest)
	redis.call('ZREM', KEYS[2], digest)
end
redis.call('DEL', KEYS[1])
return ended`)

// LogoutEverywhere ends all sessions of a user and returns how many there were.
func (s *Sessions) LogoutEverywhere(ctx context.Context, user string) (int64, error) {
	return logoutAll.Exec(ctx, s.client, []string{s.ofUser(user), s.all()}, []string{s.key("")}).AsInt64()
}

// Devices returns the devices on which a user is logged in, the latest login first.
func (s *Sessions) Devices(ctx context.Context, user string) ([]string, error) {
	digests, err := s.client.Do(ctx, s.client.B().Zrevrange().Key(s.ofUser(user)).Start(0).Stop(-1).Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	var commands rueidis.Commands
	for _, digest := range digests {
		commands = append(commands, s.client.B().Hget().Key(s.key(digest)).Field("device").Build())
	}
	var devices []string
	for _, reply := range s.client.DoMulti(ctx, commands...) {
		device, err := reply.ToString()
		if rueidis.IsRedisNil(err) {
			continue // it has expired
		}
		if err != nil {
			return nil, err
		}
		devices = append(devices, device)
	}
	return devices, nil
}

// count: KEYS are the sessions of the tenant.
var count = rueidis.NewLuaScript(`
local time = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. time[1] * 1000 + math.floor(time[2] / 1000))
return redis.call('ZCARD', KEYS[1])`)

// Active returns how many sessions the tenant has.
func (s *Sessions) Active(ctx context.Context) (int64, error) {
	return count.Exec(ctx, s.client, []string{s.all()}, nil).AsInt64()
}

// digestOf is what is stored of a token, so that the database does not hold what opens a
// session.
func digestOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// ignoreNil ignores that a script returns nothing.
func ignoreNil(err error) error {
	if rueidis.IsRedisNil(err) {
		return nil
	}
	return err
}

func main() {
	option, err := rueidis.ParseURL(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	client, err := rueidis.NewClient(option)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := run(context.Background(), client, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, client rueidis.Client, out io.Writer) error {
	acme, err := open(client, "acme", 30*time.Minute)
	if err != nil {
		return err
	}
	flora, err := open(client, "flora", 30*time.Minute)
	if err != nil {
		return err
	}
	var token string
	for _, device := range []string{"phone", "laptop", "tablet", "watch"} {
		if token, err = acme.Login(ctx, "ada", device); err != nil {
			return err
		}
	}
	session, err := acme.Use(ctx, token)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, session.User, "uses the", session.Device)
	if _, err = flora.Use(ctx, token); errors.Is(err, errNoSession) {
		fmt.Fprintln(out, "another tenant does not know the token")
	}
	devices, err := acme.Devices(ctx, "ada")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "logged in on", devices)
	n, err := acme.LogoutEverywhere(ctx, "ada")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "logged out of", n)
	return nil
}
