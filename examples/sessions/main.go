// Command sessions is a session store for several tenants. Users log in on up to three devices, idle
// sessions expire, and tenants do not see each other's sessions.
//
//	go run ./examples/sessions redis://127.0.0.1:6379
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
	"os"
	"time"

	"github.com/redis/rueidis"

	"retwis/model"
)

// maxDevices is the maximum number of devices on which a user is logged in.
const maxDevices = 3

// Session is a device on which a user of a tenant is logged in.
type Session struct {
	ID      string    `redis:",id"` // the digest of the token, because the database must not hold the token itself
	Tenant  string    `redis:"tenant,index,required"`
	User    string    `redis:"user,index,required"`
	Device  string    `redis:"device"`
	Expires time.Time `redis:",expires"`
}

var errNoSession = errors.New("no such session")

// Sessions are the sessions of one tenant. They expire when idle.
type Sessions struct {
	store  *model.Store[Session]
	tenant string
	idle   time.Duration
}

func open(ctx context.Context, client rueidis.Client, tenant string, idle time.Duration) (*Sessions, error) {
	store, err := model.New[Session](ctx, client, model.Options{Name: "session", IDs: model.ClientAssigned})
	return &Sessions{store, tenant, idle}, err
}

// find returns a query for sessions of the tenant. All reads use find.
func (s *Sessions) find(conds ...model.Cond) *model.Query[Session] {
	return s.store.Find(append(conds, model.Eq("tenant", s.tenant))...)
}

// ofUser returns the query for the sessions of a user, newest first.
func (s *Sessions) ofUser(user string) *model.Query[Session] {
	return s.find(model.Eq("user", user)).Newest()
}

// Login starts a session and returns its token. If the user has too many sessions, Login ends the
// oldest.
func (s *Sessions) Login(ctx context.Context, user, device string) (string, error) {
	token := rand.Text()
	_, err := s.store.Create(ctx, Session{
		ID: digest(token), Tenant: s.tenant, User: user, Device: device, Expires: time.Now().Add(s.idle),
	})
	if err != nil {
		return "", err
	}
	latest, err := s.ofUser(user).Limit(maxDevices).Page(ctx)
	if err == nil && latest.Next != "" {
		_, err = s.ofUser(user).After(latest.Next).DeleteAll(ctx, nil)
	}
	return token, err
}

// Use returns the session of a token and extends its lifetime.
func (s *Sessions) Use(ctx context.Context, token string) (Session, error) {
	session, err := s.find().Get(ctx, digest(token))
	if err == nil {
		err = s.store.Touch(ctx, session.ID, s.idle)
	}
	if errors.Is(err, model.ErrNotFound) {
		return session, errNoSession
	}
	return session, err
}

// Logout ends a session.
func (s *Sessions) Logout(ctx context.Context, token string) error {
	session, err := s.find().Get(ctx, digest(token))
	if err == nil {
		err = s.store.Delete(ctx, session.ID)
	}
	if errors.Is(err, model.ErrNotFound) {
		return errNoSession
	}
	return err
}

// LogoutEverywhere ends all sessions of a user and returns their number.
func (s *Sessions) LogoutEverywhere(ctx context.Context, user string) (int64, error) {
	return s.ofUser(user).DeleteAll(ctx, nil)
}

// Devices returns the devices on which a user is logged in, latest login first.
func (s *Sessions) Devices(ctx context.Context, user string) ([]string, error) {
	var devices []string
	for device, err := range model.Pluck[string](ctx, s.ofUser(user), "device") {
		if err != nil {
			return nil, err
		}
		devices = append(devices, device)
	}
	return devices, nil
}

// Active returns the number of sessions of the tenant.
func (s *Sessions) Active(ctx context.Context) (int64, error) { return s.find().Count(ctx) }

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./examples/sessions redis://127.0.0.1:6379")
		os.Exit(2)
	}
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
	acme, err := open(ctx, client, "acme", 30*time.Minute)
	if err != nil {
		return err
	}
	flora, err := open(ctx, client, "flora", 30*time.Minute)
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
