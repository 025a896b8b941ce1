package maintain

import (
	"context"

	"retwis/internal/redis/script"
)

// rename gives fields of records their names of now, in one pipeline. Queries and writes
// find either.
func (a *aligner) rename(ctx context.Context, all []*target) error {
	t := a.run.t
	if a.run.mode != migrate {
		return nil
	}
	var calls []script.Call
	for _, w := range all {
		var pairs []string
		for _, i := range t.Schema.Renamed {
			if f := &t.Schema.Fields[i]; w.stored != nil && w.stored[i].Was {
				pairs = append(pairs, f.Was, f.Name)
			}
		}
		if len(pairs) > 0 {
			calls = append(calls, script.Call{Keys: []string{t.Layout.Of(w.id).Record(w.id)}, Args: pairs})
			t.Rows.Writes.Add(w.id)
		}
	}
	for _, reply := range renameScript.RunMany(ctx, t.Client, calls) {
		if err := reply.Error(); err != nil {
			return err
		}
	}
	return nil
}
