// Package model has the commands of retwis model.
package model

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/store"
	"retwis/model"
)

func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "model",
		Short: "Look after the records that programs keep with package model",
		Long: `Shows the models of a database, the records and indexes that programs keep there
with the Go package retwis/model, checks that they agree, and mends what does not.`,
		Example: `  retwis model list
  retwis model verify user
  retwis model repair user --rate 10000`,
	}, newList(env), newVerify(env, false), newVerify(env, true), newMigrate(env), newDrop(env))
}

// commonFlags are those that every command of models has.
type commonFlags struct {
	redis *string
	json  bool
}

func (flags *commonFlags) add(cmd *cobra.Command, env shell.Env, json string) {
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&flags.json, "json", false, json)
	flags.redis = shell.RedisFlag(cmd)
	shell.FromEnv(cmd, env.Getenv, "json", "rate", "examples", "adopt", "yes")
}

// open runs do with the model of a name, which has to be there.
func (flags *commonFlags) open(cmd *cobra.Command, env shell.Env, name string, do func(context.Context, *model.Model) error) error {
	return shell.WithStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
		m, err := model.Open(ctx, db.Client(), name)
		if errors.Is(err, model.ErrNotFound) {
			return shell.Hint(err, `See which there are with "retwis model list".`)
		}
		if err != nil {
			return err
		}
		return do(ctx, m)
	})
}

func newList(env shell.Env) *cobra.Command {
	var flags commonFlags
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "Show the models of a database, and their indexes",
		Long: `Shows the models that programs have opened in a database, how many records each has,
and its indexes:
  built      all records are in it
  to build   a program declares it: "model migrate" brings the records in
  to drop    no program declares it any more: "model migrate" deletes it`,
		Example: `  retwis model list
  retwis model list --json | jq 'select(.pending)'`,
		Args: shell.Arguments(0, 0, "retwis model list"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return shell.WithStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
				all, err := model.Models(ctx, db.Client())
				if err != nil {
					return err
				}
				if flags.json {
					return printModelsJSON(cmd, all)
				}
				return printModels(cmd, all)
			})
		},
	}
	flags.add(cmd, env, "print each model as a line of JSON")
	return cmd
}

func printModels(cmd *cobra.Command, all []model.Info) error {
	t := shell.Table{Out: cmd.OutOrStdout(), Right: []bool{false, true}}
	if err := t.Add("model", "records", "index", "on", "state"); err != nil {
		return err
	}
	for _, info := range all {
		indexes := info.Indexes
		if len(indexes) == 0 {
			indexes = []model.IndexInfo{{Name: "-", On: "-", State: "-"}}
		}
		for _, x := range indexes {
			if err := t.Add(info.Name, fmt.Sprint(info.Records), x.Name, x.On, x.State); err != nil {
				return err
			}
		}
	}
	return t.Flush()
}

func printModelsJSON(cmd *cobra.Command, all []model.Info) error {
	type jsonIndex struct {
		Name  string `json:"name"`
		On    string `json:"on"`
		State string `json:"state"`
	}
	e := shell.NewEncoder(cmd.OutOrStdout())
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

// toMigrate words what a migration would do.
func toMigrate(pending []string) string { return strings.Join(pending, ", ") }
