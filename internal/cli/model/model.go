// Package model has the commands of retwis model.
package model

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/store"
	"retwis/model"
)

// New returns retwis model.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "model",
		Short: "Maintain the records that programs keep with package model",
		Long: `Shows the models of a database, which are the records and indexes that programs keep
with the Go package retwis/model, checks that they agree, and repairs them.`,
		Example: `  retwis model list
  retwis model verify user
  retwis model repair user --rate 10000`,
	}, append([]*cobra.Command{newList(env), newMigrate(env), newDrop(env)}, maintenance.Commands(env)...)...)
}

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

func newList(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "list [flags]",
		Short: "Show the models of a database, and their indexes",
		Long: `Shows the models that programs have opened in a database, how many records each has,
and its indexes:
  built      all records are in it
  to build   a program declares it: "model migrate" adds the records
  to drop    no program declares it any more: "model migrate" deletes it`,
		Example: `  retwis model list
  retwis model list --json | jq 'select(.pending)'`,
		Args: shell.Arguments(0, 0, ""),
	})
	c.AddJSON("print each model as a line of JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, _ []string) error {
		return c.WithStore(ctx, func(db *store.Store) error {
			all, err := model.Models(ctx, db.Client())
			if err != nil {
				return err
			}
			if c.JSON {
				return printModelsJSON(c, all)
			}
			return printModels(c, all)
		})
	})
}

func printModels(c *shell.Command, all []model.Info) error {
	p := c.NewPrinter(false, true)
	if err := p.Row("model", "records", "index", "on", "state"); err != nil {
		return err
	}
	for _, info := range all {
		indexes := info.Indexes
		if len(indexes) == 0 {
			indexes = []model.IndexInfo{{Name: "-", On: "-", State: "-"}}
		}
		for _, x := range indexes {
			if err := p.Row(info.Name, fmt.Sprint(info.Records), x.Name, x.On, x.State); err != nil {
				return err
			}
		}
	}
	return p.End()
}

func printModelsJSON(c *shell.Command, all []model.Info) error {
	type jsonIndex struct {
		Name  string `json:"name"`
		On    string `json:"on"`
		State string `json:"state"`
	}
	e := shell.NewEncoder(c.Stdout)
	for _, info := range all {
		indexes := make([]jsonIndex, len(info.Indexes))
		for i, x := range info.Indexes {
			indexes[i] = jsonIndex(x)
		}
		err := e.Encode(struct {
			Name       string      `json:"name"`
			Records    int64       `json:"records"`
			Partitions int         `json:"partitions"`
			Indexes    []jsonIndex `json:"indexes"`
			Pending    []string    `json:"pending,omitempty"`
		}{info.Name, info.Records, info.Partitions, indexes, info.Pending})
		if err != nil {
			return err
		}
	}
	return nil
}

// toMigrate formats the steps of a migration.
func toMigrate(pending []string) string { return strings.Join(pending, ", ") }
