package model

import (
	"context"
	"errors"

	"github.com/redis/rueidis"

	"retwis/internal/cli/shell"
	"retwis/internal/redis/store"
	"retwis/model"
)

// withModel runs do with the model of a name, which must exist.
func withModel(ctx context.Context, c *shell.Command, name string, do func(m *model.Model) error) error {
	return c.WithStore(ctx, func(db *store.Store) error {
		m, err := open(ctx, db.Client(), name)
		if err != nil {
			return err
		}
		return do(m)
	})
}

func open(ctx context.Context, client rueidis.Client, name string) (*model.Model, error) {
	m, err := model.Open(ctx, client, name)
	if errors.Is(err, model.ErrNotFound) {
		err = shell.Hint(err, `See which models there are with "retwis model list".`)
	}
	return m, err
}
