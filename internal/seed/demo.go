package seed

import (
	"context"
	"errors"

	"retwis/internal/social"
)

// Login is a name and a password for logging in.
type Login struct{ Name, Password string }

// demoLogin is the login of every demo. It is not secret.
var demoLogin = Login{Name: "demo", Password: "demo-demo"}

// Demo puts a small network into an empty database and returns its login. It leaves a
// database that it has filled before unchanged, and returns ErrNotEmpty for any other.
func Demo(ctx context.Context, svc *social.Service) (Login, error) {
	empty, err := svc.Empty(ctx)
	if err != nil {
		return Login{}, err
	}
	if !empty {
		_, err := svc.Authenticate(ctx, demoLogin.Name, demoLogin.Password)
		if errors.Is(err, social.ErrBadLogin) {
			return Login{}, ErrNotEmpty
		}
		return demoLogin, err
	}
	_, err = Run(ctx, svc, Options{
		Users: 80, Follows: 1200, Posts: 900, Seed: 1,
		FirstName: demoLogin.Name, Password: demoLogin.Password,
	})
	return demoLogin, err
}
