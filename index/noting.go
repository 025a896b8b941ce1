package index

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"time"

	engine "retwis/internal/maintain"
	"retwis/internal/partition"
	"retwis/internal/script"
	"retwis/maintain"
)

var (
	//go:embed begin.lua
	beginLua string
	//go:embed beat.lua
	beatLua string
	//go:embed release.lua
	releaseLua string
	//go:embed leftover.lua
	leftoverLua string
)

// noting are the scripts by which writers note what they change while a Repair or
// a Rebuild goes on, and stop when it has ended, however that was.
type noting struct{ begin, beat, end, leftover script.Script }

func newNoting() noting {
	return noting{
		begin: partition.NewScript(beginLua), beat: partition.NewScript(beatLua),
		end: partition.NewScript(releaseLua), leftover: partition.NewScript(leftoverLua),
	}
}

// endTimeout is for how long the end of a run is tried to be written down that was
// cut short. Where it cannot be, the run ends when its lease is over.
const endTimeout = 5 * time.Second

// during runs a function while writers note what they change. However the function
// ends, they stop, and what it has made and not put in place goes. Of a process
// that is killed the same is done by whoever writes when the lease is over.
func (n noting) during(ctx context.Context, set *partition.Set, f func(ctx context.Context, name string) error) error {
	if len(set.Keys) > 1 { // so that nothing begins in the partitions of one that is spread otherwise
		if err := set.Declare(ctx); err != nil {
			return err
		}
	}
	name := newName()
	err := everywhere(ctx, set, n.begin, name)
	if err == nil {
		stop := n.keepAlive(ctx, set, name)
		err = f(ctx, name)
		stop()
	}
	// Also when ctx is done, and when it began in some partitions only.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	return cmp.Or(err, everywhere(ending, set, n.end, name))
}

// keepAlive says again and again that a run goes on, until it is stopped.
func (n noting) keepAlive(ctx context.Context, set *partition.Set, name string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(set.Lease / 4)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// Where it fails for too long, the steps of the run are refused.
				_ = everywhere(ctx, set, n.beat, name)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// leftovers looks for what a run has left that was killed, and takes it away where
// there is a Repair.
func (n noting) leftovers(ctx context.Context, set *partition.Set, r *engine.Run, repair bool) error {
	clear := ""
	if repair {
		clear = "1"
	}
	for i := range set.Keys {
		keys := &set.Keys[i]
		left, err := n.leftover.Run(ctx, set.Client, keys.All(), append(set.Args(), clear)).AsIntSlice()
		if err != nil {
			return err
		}
		if len(left) == 0 {
			continue
		}
		r.Found(maintain.Problem{Kind: maintain.Dangling, Found: fmt.Sprintf("%d entries in %s and %d ids in %s, of a repair or rebuild that was killed", left[0], keys.Next, left[1], keys.Changed)})
		if repair {
			r.Report.Repaired++
		}
	}
	return nil
}
