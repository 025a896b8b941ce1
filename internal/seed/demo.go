package seed

import (
	"context"
	"errors"

	"retwis/internal/app"
	"retwis/internal/social"
	"retwis/internal/social/accounts"
)

// Login is a name and a password for logging in.
type Login struct{ Name, Password string }

// demoLogin is the login of every demo. It is not secret.
var demoLogin = Login{Name: "demo", Password: "demo-demo"}

// Demo adds a small network to an empty database and returns the login of the demo user. It leaves
// an existing demo unchanged, and returns ErrNotEmpty for any other database.
func Demo(ctx context.Context, svc *app.App) (Login, error) {
	empty, err := svc.Users.Empty(ctx)
	if err != nil {
		return Login{}, err
	}
	if !empty {
		_, err := svc.Auth.Authenticate(ctx, demoLogin.Name, demoLogin.Password)
		if errors.Is(err, social.ErrBadLogin) {
			return Login{}, ErrNotEmpty
		}
		return demoLogin, err
	}
	_, err = Run(ctx, svc, Options{
		Users: 80, Follows: 1200, Posts: 900, Seed: 1,
		FirstName: demoLogin.Name, Password: demoLogin.Password,
	})
	if err != nil {
		return Login{}, err
	}
	return demoLogin, errors.Join(paint(ctx, svc), greet(ctx, svc))
}

// greet makes some users react to the demo user, who is notified.
func greet(ctx context.Context, svc *app.App) error {
	me, err := svc.Users.UserByName(ctx, demoLogin.Name)
	if err != nil {
		return err
	}
	post, err := svc.Posts.Post(ctx, me, "Hello from the #redis corner. What shall we talk about?")
	if err != nil {
		return err
	}
	all := []error{svc.Profiles.Edit(ctx, me, accounts.UserProfile{})}
	people, err := svc.Follows.Followers(ctx, &social.Viewer{}, me.ID, "", 12)
	for i, friend := range people.Users {
		all = append(all, svc.Reactions.Like(ctx, friend, post.ID))
		switch i {
		case 1:
			_, err := svc.Posts.Repost(ctx, friend, post.ID)
			all = append(all, err)
		case 2:
			_, err := svc.Posts.Reply(ctx, friend, post.ID, "Bread, as always. And sorted sets.")
			all = append(all, err)
		case 4:
			_, err := svc.Posts.Reply(ctx, friend, post.ID, "How you keep the ferries and the followers in order.")
			all = append(all, err)
		case 3:
			_, err := svc.Posts.Post(ctx, friend, "Good to have you here, @"+me.Name+"!")
			all = append(all, err)
		}
	}
	return errors.Join(append(all, err)...)
}
