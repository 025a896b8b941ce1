package model

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/redis/store"
	"retwis/model"
)

func newList(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "list [flags]",
		Short: "Show the models of a database, and their indexes",
		Long: `Shows the models that programs have opened in a database, how many records each has,
and its indexes:
  built      the index has all records
  to build   a program declares the index: "model migrate" adds the records
  to drop    no program declares the index any more: "model migrate" deletes it`,
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
