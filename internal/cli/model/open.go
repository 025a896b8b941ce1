package model

import (
	"context"
	"errors"

	"github.com/redis/rueidis"

	"retwis/internal/cli/shell"
	"retwis/model"
)

// existing opens a model by its name.
var existing = shell.Noun[*model.Model]{Open: open}

func open(ctx context.Context, client rueidis.Client, name string) (*model.Model, error) {
	m, err := model.Open(ctx, client, name)
	if errors.Is(err, model.ErrNotFound) {
		err = shell.Hint(err, `List the models with "retwis model list".`)
	}
	return m, err
}
