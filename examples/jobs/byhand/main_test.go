package main

import (
	"context"
	"testing"

	"github.com/redis/rueidis"

	"retwis/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

const output = `Database developer Paris 55
Go developer Berlin 80
2 map[city:map[Berlin:1 Paris:1] level:map[junior:1 senior:1] tag:map[go:1 redis:2]]
`

func board(client rueidis.Client) (exampletest.Board, error) {
	b, err := open(client)
	if err != nil {
		return exampletest.Board{}, err
	}
	return exampletest.Board{
		Post:   func(ctx context.Context, job exampletest.Job) (int64, error) { return b.Post(ctx, Job(job)) },
		Change: func(ctx context.Context, job exampletest.Job) error { return b.Change(ctx, Job(job)) },
		Remove: b.Remove,
		Search: func(ctx context.Context, f exampletest.Filter, after string, n int) (ids []int64, next string, total int64, facets exampletest.Facets, err error) {
			page, err := b.Search(ctx, Filter(f), after, n)
			for _, job := range page.Jobs {
				ids = append(ids, job.ID)
			}
			return ids, page.Next, page.Total, page.Facets, err
		},
		Unknown: errUnknown,
	}, nil
}

func TestProgram(t *testing.T) {
	t.Parallel()
	exampletest.Output(t, output)
}

func TestBoard(t *testing.T) {
	t.Parallel()
	exampletest.CheckBoard(t, board)
}
